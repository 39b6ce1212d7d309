"""Kudu on the hosts' own disks, and YCSB's core with a binding of our own."""
