"""Studies: the question as a file, the plan, the protocol, the runner, the journal."""
