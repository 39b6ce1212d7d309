"""TestDFSIO."""
