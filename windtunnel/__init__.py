"""Windtunnel measures which hardware and settings change the performance of a Hadoop cluster."""

__version__ = "0.1.0"
