"""Spark SQL on YARN or in one JVM: an application for each piece of work, no daemons."""
