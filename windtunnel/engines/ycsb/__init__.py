"""What the key-value stores have in common: YCSB's core, the ledger, their part of the workload."""
