"""Report: terminal, one HTML page, CSV, Parquet, JSON.

Each is a module that is imported where it is needed: they load a second's worth of libraries.
"""
