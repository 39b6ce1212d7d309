"""Ceph: monitors, managers, storage daemons (OSDs), metadata servers; Hadoop on CephFS."""
