"""Trino: a coordinator and workers that answer SQL over files in HDFS."""
