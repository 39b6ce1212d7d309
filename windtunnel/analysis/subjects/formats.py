"""Row formats against column formats: records per second, and their ratios.

Treatments that differ only in the format of the data are compared with each other, phase by
phase. The base of the ratios is the row format without compression or, without that, the first
row format.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.effects.cells import Cell, Sample
from windtunnel.analysis.effects.common_rounds import compared
from windtunnel.analysis.effects.effects import are_printed, effect
from windtunnel.analysis.formatting import digits
from windtunnel.analysis.observations import TOTAL
from windtunnel.results.record import Trial

RATE = "rows_per_s"
_SIZE = "size_share"
BY_ROW = frozenset({"csv"})
PLAIN = "none"
_LAYOUT = ("format", "codec", "row_group")
# Titles of engines that differ from their capitalised name.
_TITLES = {"spark": "Spark on YARN", "spark-local": "Spark, local", "duckdb": "DuckDB"}


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ratio of records per second, with its 95 % interval; None: unknown."""

    value: float
    low: float | None
    high: float | None

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 1."""
        return self.low is not None and self.high is not None and (self.low > 1 or self.high < 1)


@dataclass(frozen=True, slots=True)
class Entry:
    """A format in one phase: its rate in rows/s, and the ratio to the base (None for the base).

    ``shares`` are ratios of the measured metrics, by metric.
    """

    treatment: str
    name: str
    by_row: bool
    rate: Cell
    ratio: Ratio | None
    shares: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Formats:
    """The formats of one workload and phase at equal levels ``others`` of the other factors."""

    workload: str
    phase: str
    engine: str
    others: Mapping[str, str]
    base: str | None
    entries: tuple[Entry, ...]

    def entry(self, treatment: str) -> Entry | None:
        """The entry of a treatment."""
        return next((e for e in self.entries if e.treatment == treatment), None)


SHARES = (_SIZE, "read_share", "partitions_pruned", "rows_skipped")


def formats(analysis: Analysis) -> list[Formats]:
    """One per workload, phase and levels of other factors; none without rates of records."""
    found = []
    for group in _groups(analysis):
        first = next(iter(group.values()))
        for phase in analysis.phases[first.workload]:
            if phase != TOTAL:
                made = _formats(analysis, group, phase)
                found += [made] if made.entries else []
    return found


def beside(found: Sequence[Formats], one: Formats) -> Formats | None:
    """The reference phase of a phase: DuckDB queries the same data."""
    same = (f for f in found if (f.workload, f.others) == (one.workload, one.others))
    return next((f for f in same if f.engine == "DuckDB" and f is not one), None)


def ratio_of(ours: Sample, base: Sample, workload: str, phase: str) -> Ratio | None:
    """The ratio of a rate to the base's rate."""
    about = ("format", "", "", workload, phase, RATE, ours.unit)
    values, paired = compared([(ours, base)])
    e = effect(about, values, paired=paired, printed=are_printed([(ours, base)]))
    if e.relative is None:
        return None
    low, high = (None if bound is None else 1 + bound for bound in (e.ci_low, e.ci_high))
    return Ratio(1 + e.relative, low, high)


def times(ratio: Ratio | None) -> str:
    """``5.20 [4.10, 6.50]``, or ``5.20 (interval unknown)``."""
    if ratio is None:
        return ""
    if ratio.low is None or ratio.high is None:
        return f"{digits(ratio.value)} (interval unknown)"
    return f"{digits(ratio.value)} [{digits(ratio.low)}, {digits(ratio.high)}]"


def rows_per_s(value: float) -> str:
    """``1.24 M``, ``310 k``: records per second with three digits."""
    for factor, prefix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= factor:
            return f"{digits(value / factor)}{prefix}"
    return digits(value)


def _groups(analysis: Analysis) -> list[dict[str, Trial]]:
    """Treatments of a workload that differ only in the format, each with one of its trials."""
    groups: dict[str, dict[str, Trial]] = {}
    order = {name: place for place, name in enumerate(analysis.treatments())}
    for trial in sorted(analysis.results.trials, key=lambda trial: order[trial.treatment.id]):
        if not any({RATE, _SIZE} <= phase.metrics.keys() for phase in trial.phases):
            continue
        rest = {k: v for k, v in trial.parameters.items() if k not in _LAYOUT}
        cluster = trial.treatment.cluster_overrides
        key = json.dumps([trial.workload, rest, cluster], sort_keys=True, default=str)
        groups.setdefault(key, {}).setdefault(trial.treatment.id, trial)
    return list(groups.values())


def _formats(analysis: Analysis, group: Mapping[str, Trial], phase: str) -> Formats:
    first = next(iter(group.values()))
    workload = first.workload
    known = {
        name: cell
        for name in group
        if (cell := analysis.cell(name, workload, phase, RATE)) is not None
    }
    names = _names(analysis, {name: group[name] for name in known})
    base = _base([group[name] for name in known])
    entries = tuple(
        Entry(
            name,
            names[name],
            _layout(group[name])[0] in BY_ROW,
            cell,
            _against(analysis, workload, phase, name, base),
            _shares(analysis, name, workload, phase),
        )
        for name, cell in known.items()
    )
    engine = str(first.parameters.get("engine", "spark"))
    is_beside = (workload, phase) in analysis.beside
    return Formats(
        workload,
        phase,
        _title("duckdb" if is_beside else engine),
        _others(analysis, group),
        None if base is None else names[base],
        entries,
    )


def _title(engine: str) -> str:
    return _TITLES.get(engine, engine.capitalize())


def _against(
    analysis: Analysis, workload: str, phase: str, name: str, base: str | None
) -> Ratio | None:
    if base is None or name == base:
        return None
    ours, theirs = (analysis.table[(t, workload, phase, RATE)] for t in (name, base))
    return ratio_of(ours, theirs, workload, phase)


def _base(trials: Sequence[Trial]) -> str | None:
    by_row = [t for t in trials if _layout(t)[0] in BY_ROW]
    plain = [t for t in by_row if _layout(t)[1] == PLAIN]
    return next((t.treatment.id for t in [*plain, *by_row]), None)


def _layout(trial: Trial) -> tuple[str, str]:
    """Format and codec; parameters that a trial does not contain have their defaults."""
    kind, codec = (trial.parameters.get(name) for name in ("format", "codec"))
    return str(kind or "csv"), str(codec or PLAIN)


def _names(analysis: Analysis, trials: Mapping[str, Trial]) -> dict[str, str]:
    """Format and codec; the treatment's name if two treatments have the same."""
    names = {}
    for key, trial in trials.items():
        kind, codec = _layout(trial)
        names[key] = kind if codec == PLAIN else f"{kind} {codec}"
    twice = {name for name in names.values() if list(names.values()).count(name) > 1}
    return {key: analysis.name(key) if name in twice else name for key, name in names.items()}


def _others(analysis: Analysis, group: Mapping[str, Trial]) -> dict[str, str]:
    """Levels that all treatments of a group share, of factors that vary in the study."""
    levels = [trial.treatment.levels for trial in group.values()]
    shared = {f: level for f, level in levels[0].items() if all(o.get(f) == level for o in levels)}
    return {f: level for f, level in shared.items() if len(analysis.study.factors.get(f, [])) > 1}


def _shares(analysis: Analysis, treatment: str, workload: str, phase: str) -> dict[str, float]:
    cells = {name: analysis.cell(treatment, workload, phase, name) for name in SHARES}
    return {name: cell.mean for name, cell in cells.items() if cell is not None}
