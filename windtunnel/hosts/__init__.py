"""Hosts: where processes run and files lie. Engines know nothing else of the machine.

Three kinds serve the same contract (``base.Host``): this machine, a virtual host of
the scale model, a remote machine. Here is this machine's.
"""
