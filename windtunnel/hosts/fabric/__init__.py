"""The fabric of the scale model: virtual hosts with shaped NICs, disks, CPUs and memory.

It needs Linux and root. Every change of the machine is named after the deployment and recorded in
a ledger before it is made, so that it can be undone after any crash. Nothing is imported here:
the undo of a fabric must start quickly.
"""
