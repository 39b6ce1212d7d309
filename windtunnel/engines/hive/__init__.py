"""Hive: SQL over files in HDFS, answered by MapReduce jobs."""
