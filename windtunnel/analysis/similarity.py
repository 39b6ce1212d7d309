"""The similarity of a scale model in words, for plan and report alike."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.cluster import format_rate
from windtunnel.results.record import ScaleRecord, SimilarityGroup

MODEL_TIMES = (
    "absolute times are the model's, never those of the full size; bottlenecks, directions and "
    "ratios are what a model can tell, as far as the groups match"
)


def value_words(value: float | None, unit: str) -> str:
    """A group's value: ``2.4 GB/s per core``, ``38 %``, ``1.25``."""
    if value is None:
        return "unknown"
    if unit == "share":
        return f"{value * 100:.3g} %"
    if unit.startswith("bytes/s"):
        return format_rate(value, 3) + unit.removeprefix("bytes/s")
    return f"{value:.3g}"


def place(group: SimilarityGroup) -> str:
    """What a group is of: the hardware or a workload, and the treatment where it is not all."""
    words = group.workload or "hardware"
    return f"{words}, {group.treatment}" if group.treatment else words


def counts(scale: ScaleRecord) -> str:
    """``14 groups match, 1 is near, 3 are broken`` at the baseline."""
    states = [group.state for group in scale.groups if group.treatment is None]
    words = {"match": "match", "near": "near", "broken": "broken", "unknown": "unknown"}
    found = [f"{states.count(state)} {word}" for state, word in words.items() if state in states]
    return f"of {len(states)} groups " + ", ".join(found)


def consequences(scale: ScaleRecord) -> Iterator[str]:
    """What does not match, and what that does to results; each consequence once."""
    for group in scale.groups:
        if group.says and group.treatment is None:
            lead = f"{group.workload}: " if group.workload else ""
            yield f"{lead}{group.name} is {group.state}: {group.says}"
