"""Tests of the behaviour of files: the same list of behaviours on every kind of storage."""
