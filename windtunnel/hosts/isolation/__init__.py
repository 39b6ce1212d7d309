"""Isolation: what keeps other accounts of this machine out of a deployment.

A deployment has a network namespace of its own, so no process outside can reach its ports.
Where root starts it, its processes run as an account of their own (``account``) and see only the
folders that they need (``view``). ``policy`` finds out what this machine can provide; ``inside``
holds what a process does to itself before it becomes a daemon; ``enter`` is the way in for
``windtunnel exec``.

Nothing is imported here: the supervisor must stay light.
"""
