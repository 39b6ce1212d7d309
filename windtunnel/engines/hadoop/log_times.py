"""Times in the logs of Hadoop, which are local times without the time zone."""

from __future__ import annotations

from datetime import datetime


def epoch_s(stamp: str, near_s: float) -> float:
    """Epoch seconds of a local time of a log, such as ``2026-10-25 02:30:00,123``.

    At the end of daylight saving time, an hour repeats: the time is the one closer to ``near_s``,
    which is a known time of the same event or of one near to it, in epoch seconds.
    """
    local = datetime.fromisoformat(stamp.replace(",", "."))
    both = (local.replace(fold=fold).timestamp() for fold in (0, 1))
    return min(both, key=lambda moment: abs(moment - near_s))
