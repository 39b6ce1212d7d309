"""Rules of trust as code: each is a function from evidence to the warnings that it raises."""
