"""The speed of NICs, as Linux reports it."""

from __future__ import annotations

MBIT_BYTES = 125_000
"""Bytes/s of one Mbit/s."""
_NO_SPEED = 65535  # SPEED_UNKNOWN as a driver with 16 bits reports it
_ABOVE_ALL = 2**31  # old kernels print SPEED_UNKNOWN (-1) as 4294967295


def known_mbit_s(speed: object) -> float | None:
    """A speed in Mbit/s of ``/sys/class/net/NIC/speed``; None if it means that none is known.

    The same values are unknown to ethtool: 0, 65535 and -1, also as a number without sign.
    """
    if isinstance(speed, bool) or not isinstance(speed, int | float):
        return None
    return float(speed) if 0 < speed < _ABOVE_ALL and speed != _NO_SPEED else None
