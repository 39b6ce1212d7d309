"""Statistics on plain numbers: summaries, intervals, corrections and variance components."""
