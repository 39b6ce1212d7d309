"""Apache Hadoop: artifacts, settings, daemons, clients, job history. The real project."""
