"""What TestDFSIO's files hold, and the sum that TeraChecksum must find in them.

TestDFSIO fills a buffer with the bytes ``'0' + i % 50`` and writes it over and over; the last
piece is cut to what is left. TeraChecksum takes rows of 100 bytes and adds up the CRC-32 of
each: a byte that differs anywhere changes the sum.
"""

from __future__ import annotations

import math
import zlib

ROW_BYTES = 100
_PATTERN = bytes(ord("0") + place for place in range(50))


def content(length: int, buffer: int) -> bytes:
    """The first ``length`` bytes that are written with a buffer of that many bytes."""
    once = (_PATTERN * (min(buffer, length) // len(_PATTERN) + 1))[: min(buffer, length)]
    return (once * (length // max(1, len(once)) + 1))[:length]


def row_sum(length: int, buffer: int) -> int:
    """Sum of the CRC-32 of all rows of such content; ``length`` is a multiple of 100.

    The rows repeat when both the buffer and the row end, so only those until then are computed.
    """
    if buffer % len(_PATTERN) == 0 or buffer >= length:
        buffer = len(_PATTERN)  # the ends of the buffers do not show
    period = math.lcm(buffer, ROW_BYTES)
    times, rest = divmod(length, period)
    total = _sum(content(rest, buffer))
    return total + times * _sum(content(period, buffer)) if times else total


def _sum(data: bytes) -> int:
    view = memoryview(data)
    return sum(zlib.crc32(view[at : at + ROW_BYTES]) for at in range(0, len(data), ROW_BYTES))
