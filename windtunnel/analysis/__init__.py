"""Analysis: cells, effects, warnings and findings of a results folder."""
