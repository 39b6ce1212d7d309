"""Section "Task waves and stragglers": also the tail, locality, spills and speculation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.bottleneck.tails import MAP, REDUCE, STRAGGLER, Tail, mean_of, tails
from windtunnel.analysis.formatting import digits, listed, percent, plural
from windtunnel.report.sections.base import Section, Table, column

Key = tuple[str, str, str, str]
"""(workload, phase, kind, treatment)"""
TAIL_SAID = 0.15
"""A sentence reports a tail of at least this fraction of the phase."""
DATA_READ = 1e6
"""Locality matters for phases that read at least this number of bytes from HDFS."""
KINDS = {MAP: "maps", REDUCE: "reduces"}


def section(analysis: Analysis) -> Section | None:
    """None if no task attempts were recorded."""
    found = analysis.once(tails)
    if not found:
        return None
    order = {name: place for place, name in enumerate(analysis.treatments())}
    ranks = analysis.ranks
    groups: dict[Key, list[Tail]] = {}
    for tail in found:
        key = (tail.workload, tail.phase, tail.kind, tail.treatment)
        groups.setdefault(key, []).append(tail)
    keys = sorted(groups, key=lambda k: (k[0], ranks[k[0], k[1]], k[2], order[k[3]]))
    chosen = {key: groups[key] for key in keys}
    several = len(analysis.phases) > 1
    return Section(
        id="tails",
        title="Task waves and stragglers",
        lead="Means over the trials. The tail is the part of the phase in which only the last "
        "5 % of its tasks (at least one task) run; a straggler takes more than "
        f"{STRAGGLER} times the median.",
        said=[*_said(analysis, chosen, several), *_far(analysis, chosen, several)],
        tables=[
            t
            for t in (_waves(analysis, chosen, several), _work(analysis, chosen, several))
            if t.rows
        ],
        group="why",
        data=[_data(key, rows) for key, rows in chosen.items()],
    )


def _said(analysis: Analysis, groups: dict[Key, list[Tail]], several: bool) -> list[str]:
    said = []
    for (workload, phase, kind, treatment), rows in groups.items():
        where = f"{analysis.name(treatment)}, {_phase(workload, phase, several)}"
        share, skew = mean_of(rows, "tail_share"), mean_of(rows, "skew")
        if share is not None and share >= TAIL_SAID:
            longer = f"; the longest took {digits(skew)} times the median" if skew else ""
            said.append(
                f"{where}: the last {KINDS[kind]} took {percent(share, signed=False)} of "
                f"the phase{longer}"
            )
        wasted, second = mean_of(rows, "wasted_s") or 0.0, mean_of(rows, "speculated")
        if wasted > 0 or second:
            won = mean_of(rows, "speculation_won")
            count = "an unknown number of" if second is None else digits(second)
            how = f"{count} speculative {KINDS[kind]}"
            wins = f", of which {digits(won)} finished first" if won is not None else ""
            said.append(
                f"{where}: {how} per trial{wins}; {digits(wasted)} s of task time were wasted"
            )
    return said


def _far(analysis: Analysis, groups: dict[Key, list[Tail]], several: bool) -> list[str]:
    """Phases that read data and in which fewer than half of the maps read from their own host."""
    far = []
    for (workload, phase, kind, treatment), rows in groups.items():
        read = analysis.cell(treatment, workload, phase, "hdfs_bytes_read")
        places = _places(rows)
        own = places["NODE_LOCAL"] / places.total() if kind == MAP and places else 1.0
        if read is not None and read.mean >= DATA_READ and own < 0.5:
            share = percent(own, signed=False)
            far.append(f"{analysis.name(treatment)}, {_phase(workload, phase, several)} ({share})")
    return [f"fewer than half of the maps read from their own host: {listed(far)}"] if far else []


def _phase(workload: str, phase: str, several: bool) -> str:
    """The phase, with its workload if the study has several workloads."""
    return f"{workload} {phase}" if several else phase


def _places(rows: Sequence[Tail]) -> Counter[str]:
    return sum((Counter(row.localities) for row in rows), Counter())


def _waves(analysis: Analysis, groups: dict[Key, list[Tail]], several: bool) -> Table:
    names = ("tasks", "concurrent", "waves", "median", "skew", "stragglers", "tail")
    rows = [
        (
            *_name(analysis, key, several),
            _number(mean_of(tail, "tasks")),
            _number(mean_of(tail, "concurrency")),
            _number(mean_of(tail, "waves")),
            f"{digits(mean_of(tail, 'median_s') or 0.0)} s",
            _number(mean_of(tail, "skew")),
            _number(mean_of(tail, "stragglers")),
            _share(mean_of(tail, "tail_share")),
        )
        for key, tail in groups.items()
    ]
    return Table(
        "Waves and stragglers of "
        f"{plural(len({t.trial for g in groups.values() for t in g}), 'trial')}",
        column("phase", "treatment", *names, text=2),
        rows,
        hint="skew: longest divided by median working time (a reduce works from the end of the "
        "last map of its job); stragglers: number per trial",
    )


def _work(analysis: Analysis, groups: dict[Key, list[Tail]], several: bool) -> Table:
    names = ("on own host", "spills", "merging", "speculative", "finished first", "wasted")
    rows = []
    for key, tail in groups.items():
        maps, places = key[2] == MAP, _places(tail)
        local = places["NODE_LOCAL"] / places.total() if places else None
        names_known = ("spills", "merge_share", "speculated", "wasted_s")
        if not any(mean_of(tail, name) for name in names_known):
            continue
        rows.append(
            (
                *_name(analysis, key, several),
                _share(local) if maps else "",
                _number(mean_of(tail, "spills")) if maps else "",
                _share(mean_of(tail, "merge_share")) if maps else "",
                _number(mean_of(tail, "speculated")),
                _number(mean_of(tail, "speculation_won")),
                f"{digits(mean_of(tail, 'wasted_s') or 0.0)} s",
            )
        )
    return Table(
        "Locality, spills and speculation",
        column("phase", "treatment", *names, text=2),
        rows,
        hint="spills: number of times that a map's record was written to disk, at least 1; "
        "merging: fraction of the map time after the map function; wasted: task time of killed "
        "attempts whose task another attempt completed",
    )


def _name(analysis: Analysis, key: Key, several: bool) -> tuple[str, str]:
    workload, phase, kind, treatment = key
    return f"{_phase(workload, phase, several)}, {KINDS[kind]}", analysis.name(treatment)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"


def _share(value: float | None) -> str:
    return percent(value, signed=False)


def _data(key: Key, rows: Sequence[Tail]) -> dict[str, Any]:
    workload, phase, kind, treatment = key
    names = [name for name in asdict(rows[0]) if name not in _NO_MEANS]
    means = {name: mean_of(rows, name) for name in names}
    return {
        "workload": workload,
        "phase": phase,
        "kind": kind,
        "treatment": treatment,
        "n": len(rows),
        **means,
        "localities": dict(_places(rows)),
    }


_NO_MEANS = {"trial", "workload", "treatment", "phase", "kind", "localities"}
