"""The bottleneck of each phase: utilisation, task attempts, physical limits, and the verdict."""
