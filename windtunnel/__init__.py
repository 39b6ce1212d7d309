"""Windtunnel finds out what matters in a Hadoop cluster."""

__version__ = "0.1.0"
