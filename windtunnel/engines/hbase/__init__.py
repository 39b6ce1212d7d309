"""HBase on HDFS with ZooKeeper, and YCSB's core with a binding of our own."""
