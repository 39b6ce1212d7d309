"""Trino: a coordinator and workers that execute SQL over files in HDFS."""
