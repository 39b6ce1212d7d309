"""Common code of the key-value stores: YCSB's core, the ledger, their part of the workload."""
