"""Tests of what storage promises: the same behaviours of files on every kind of storage."""
