"""The testbed ``attached``: studies on a cluster that Windtunnel did not start."""
