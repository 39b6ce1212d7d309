"""HBase on HDFS with ZooKeeper, and YCSB's core with Windtunnel's own binding."""
