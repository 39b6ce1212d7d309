"""The fabric of the scale model: virtual hosts with shaped NICs, disks, CPUs and memory.

Linux only, root only. Everything it changes on the machine is named after the deployment
and stands in a ledger before it is made, so that it can be undone after any death.
Nothing is imported here: the undoing of a fabric must stay light.
"""
