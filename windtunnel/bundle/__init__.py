"""Bundles: results folders with all that is needed to check their report, in one zip file."""
