"""Hosts: the machines on which processes run and files are stored. Engines see only hosts.

Three kinds implement the same contract (``base.Host``): this machine, a virtual host of
the scale model, a remote machine.
"""
