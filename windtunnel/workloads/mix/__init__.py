"""Several workloads at the same time."""
