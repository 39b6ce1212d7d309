"""Elapsed time against a count or against the size of the data."""
