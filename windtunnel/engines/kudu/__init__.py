"""Kudu on the hosts' own disks, and YCSB's core with Windtunnel's own binding."""
