"""Programs that run on the client's host; they are started by their path."""
