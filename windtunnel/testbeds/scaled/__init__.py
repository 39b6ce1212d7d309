"""The testbed ``scaled``: real daemons on shaped virtual hosts of one machine."""
