"""Estimates from earlier trials: how long a plan takes and how many trials it needs.

Earlier trials are used if testbed and workload are the same. Nothing is extrapolated: the estimate
states if their data had another size.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from windtunnel.analysis.formatting import plural
from windtunnel.errors import ResultsError
from windtunnel.results.folder import read_results, read_study
from windtunnel.results.record import Trial
from windtunnel.study.plan import Plan
from windtunnel.study.sample_size import (
    Noise,
    about,
    comparisons_of,
    noise_of,
    sentence,
    trials_needed,
)


@dataclass(frozen=True)
class Past:
    """Earlier valid trials of a workload, of one results folder.

    ``same_size`` states whether their data had the size of the plan; None if that is not recorded.
    """

    workload: str
    folder: Path
    created_at: float
    trials: list[Trial]
    same_size: bool | None

    @property
    def rank(self) -> tuple[int, float]:
        """The order of preference, higher first: data of the same size, then the newest."""
        return {True: 2, None: 1, False: 0}[self.same_size], self.created_at

    @property
    def wall_s(self) -> float:
        """Median seconds of a trial, from its start to its end."""
        return statistics.median(trial.finished_at - trial.started_at for trial in self.trials)


@dataclass(frozen=True)
class Forecast:
    """Expected time of a plan; ``seconds`` is None without earlier trials.

    ``seconds`` is the time of ``rounds`` rounds; ``lines`` state the estimate and its basis.
    """

    rounds: int
    seconds: float | None
    lines: list[str]


def results_folders(given: Sequence[Path], default: Path) -> Iterator[Path]:
    """Results folders among ``given`` and right below them; else those below ``default``.

    Raises
    ------
    ResultsError
        If one of ``given`` is no results folder and holds none.
    """
    for folder in given or [default]:
        if (folder / "study.json").is_file():
            yield folder
            continue
        below = sorted(file.parent for file in folder.glob("*/study.json"))
        if given and not below:
            read_study(folder)  # raises the error
        yield from below


def past_of(plan: Plan, given: Sequence[Path], default: Path) -> dict[str, Past]:
    """Workload -> its best earlier trials: of data of the same size, then the newest.

    Folders that were named must be readable; other folders are skipped if they are damaged.
    """
    sizes = _sizes(plan)
    best: dict[str, Past] = {}
    for folder in results_folders(given, default):
        with suppress(*(() if given else (ResultsError,))):
            for past in _pasts(plan, folder, sizes):
                known = best.setdefault(past.workload, past)
                best[past.workload] = max(known, past, key=lambda one: one.rank)
    return best


def _sizes(plan: Plan) -> dict[str, set[float]]:
    """Bytes of data of each workload over the treatments."""
    return {
        name: {float(plan.workload_of(name, t).data_bytes()) for t in plan.looked_at}
        for name in plan.workloads
    }


def _pasts(plan: Plan, folder: Path, sizes: dict[str, set[float]]) -> Iterator[Past]:
    study = read_study(folder)
    if study.testbed != plan.testbed or study.kind != "measured":
        return
    trials = read_results(folder).trials
    for name in plan.workloads:
        own = [t for t in trials if t.workload == name and t.verdict.valid and not t.warmup]
        if own:
            had = {t.metrics["data_bytes"].value for t in own if "data_bytes" in t.metrics}
            same = had == sizes[name] if had else None
            yield Past(name, folder, study.created_at, own, same)


def forecast(plan: Plan, past: dict[str, Past]) -> Forecast:
    """Expected time, and with ``detect`` the number of rounds that earlier noise requires."""
    if plan.predicts:
        return Forecast(1, None, ["expected time: seconds; the times are predicted"])
    protocol = plan.protocol
    rounds, lines = protocol.rounds, []
    if protocol.detect is not None and protocol.max_rounds:
        found = [noise for one in past.values() for noise in noise_of(one.trials)]
        if found:
            noise = max(found, key=lambda one: one.sd_log)
            count = comparisons_of(plan.factors)
            needed = trials_needed(noise.sd_log, protocol.detect, protocol.power, count)
            rounds = min(max(needed or protocol.max_rounds, rounds), protocol.max_rounds)
            lines.append(_size_line(plan, noise, past, needed))
        lines.append(
            f"the pilot of {plural(protocol.pilot_rounds or 0, 'round')} determines the number of "
            f"rounds, at most {protocol.max_rounds}"
        )
    missing = [name for name in plan.workloads if name not in past]
    if missing:
        lines.append(
            f"expected time: unknown without earlier trials of {', '.join(missing)} on the testbed "
            f"{plan.testbed}; 'windtunnel run STUDY --pilot' measures it"
        )
        return Forecast(rounds, None, lines)
    passes = rounds + protocol.warmup
    trials = passes * len(plan.treatments) * len(plan.workloads)
    seconds = passes * _pass_s(plan, past)
    rests = "; ".join(_rests_on(one) for one in past.values())
    lines.append(
        f"expected time: {about(seconds)} for {trials} trials ({rests}), without cluster starts"
    )
    return Forecast(rounds, seconds, lines)


def _size_line(plan: Plan, noise: Noise, past: dict[str, Past], needed: int | None) -> str:
    protocol = plan.protocol
    assert protocol.detect is not None and protocol.max_rounds is not None
    comparisons = comparisons_of(plan.factors)
    text = sentence(noise, protocol.detect, protocol.power, needed, comparisons)
    if needed is not None and len(past) == len(plan.workloads):
        text += f", {about(needed * _pass_s(plan, past))}"
    if needed is None or needed > protocol.max_rounds:
        text += f"; the protocol allows {protocol.max_rounds}"
    return text


def _pass_s(plan: Plan, past: dict[str, Past]) -> float:
    """Seconds of one pass over all treatments, pauses included."""
    each = sum(past[name].wall_s + plan.protocol.pause for name in plan.workloads)
    return each * len(plan.treatments)


def _rests_on(past: Past) -> str:
    count = len(past.trials)
    other = {
        True: "",
        False: ", whose data had another size (not adjusted)",
        None: ", whose data size is unknown",
    }[past.same_size]
    return (
        f"{past.workload}: {about(past.wall_s)}, the median of {count} "
        f"trial{'s' if count > 1 else ''} in {past.folder}{other}"
    )
