"""TeraGen, TeraSort and TeraValidate."""
