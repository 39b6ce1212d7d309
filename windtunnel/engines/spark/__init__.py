"""Spark SQL on YARN or in one JVM: one application per run, no daemons."""
