"""The physics model: predicted times of workloads on described clusters, with intervals."""
