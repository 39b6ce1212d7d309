"""Apache Hadoop itself: artifacts, settings, daemons, clients, job history."""
