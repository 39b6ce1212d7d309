"""Cells, effects, interactions, rankings, and the findings that result from them."""
