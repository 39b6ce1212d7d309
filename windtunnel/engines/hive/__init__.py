"""Hive: SQL over files in HDFS, executed by MapReduce jobs."""
