"""Isolation: other accounts of this machine cannot access a deployment.

A deployment has a network namespace of its own, so no process outside can reach its ports.
If root starts it, its processes run as an account of their own (``account``) and see only the
folders that they need (``view``). ``policy`` determines what this machine can provide;
``confine`` prepares a process before it becomes a daemon; ``enter`` runs the commands of
``windtunnel exec`` inside a deployment.

Nothing is imported here: the supervisor must start quickly.
"""
