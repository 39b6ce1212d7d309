"""WordCount."""
