"""Probes: what is recorded around and during a trial, besides the job history."""
