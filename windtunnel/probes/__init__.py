"""Probes: the records around and during a trial, in addition to the job history."""
