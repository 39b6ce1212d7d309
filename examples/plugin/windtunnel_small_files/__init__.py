"""An example of a plug-in for Windtunnel: a workload, a probe and a report section."""
