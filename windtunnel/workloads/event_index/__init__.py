"""Queries over the event index: scan and report."""
