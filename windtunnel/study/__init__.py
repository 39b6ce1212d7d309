"""Studies: the study file, the plan, the protocol, the runner, the journal."""
