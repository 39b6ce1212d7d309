"""Key-value stores under the load of YCSB."""
