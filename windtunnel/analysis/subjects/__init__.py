"""Analyses of one subject each, such as a kind of workload, faults, the scale model."""
