"""Reasons why two folders must not be compared. To add a reason, add an entry to REFUSALS.

A fact that is unknown on one side is not a reason to refuse; it becomes a caveat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from windtunnel.analysis.compare.cell_pairs import Matched, Side
from windtunnel.analysis.compare.differences import (
    Difference,
    described,
    effective,
    machine,
)
from windtunnel.analysis.formatting import listed, percent, plural
from windtunnel.cluster.quantity import QuantityError, parse_bytes
from windtunnel.results.record import Trial

MEMORY_TOLERANCE = 0.02
"""Fraction by which the reported memory of one machine may vary: kernels reserve a part."""
SUBJECTS = ("cluster", "settings", "software")
"""Groups that may be the subject of the comparison, if only one of them differs."""
MACHINE_FACTS = {
    "CPU model": ("cpu_model", "cpu"),
    "threads": ("cpu_threads", "cores"),
    "memory": ("memory_bytes",),
    "architecture": ("machine",),
}
SCALE_FACTS = (
    "rate",
    "data",
    "work of a core with several threads",
    "combined parts",
    "work of a core of the machine",
    "core probe that the CPU quotas follow",
)
STOCK_TOLERANCE = 0.05
"""Difference of the fractions of stock starts, in trials with warm starts, that may be compared."""
HDFS_DEFAULT = "3"
"""Hadoop's default of dfs.replication (hdfs-default.xml)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason not to compare. ``overridable``: the user can allow it; ``allowed``: has done so."""

    id: str
    text: str
    overridable: bool = True
    allowed: bool = False


@dataclass(frozen=True)
class Pairing:
    """Two folders, their matched treatments, and their differences."""

    a: Side
    b: Side
    matched: Sequence[Matched]
    differences: Sequence[Difference]

    @property
    def predicted(self) -> bool:
        """Whether at least one of the folders has predicted times."""
        return self.a.predicted or self.b.predicted

    def trials(self, m: Matched) -> tuple[list[Trial], list[Trial]]:
        """The trials of a matched workload and treatment in either folder."""
        ours = [t for t in self.a.trials if (t.workload, t.treatment.id) == _key(m, m.treatment)]
        theirs = [t for t in self.b.trials if (t.workload, t.treatment.id) == _key(m, m.other)]
        return ours, theirs


def refusals(pairing: Pairing, allowed: Sequence[str] = ()) -> list[Refusal]:
    """All reasons that apply; those in ``allowed`` are marked if they are overridable."""
    found = [refusal for rule in REFUSALS for refusal in rule(pairing)]
    return [replace(r, allowed=r.overridable and r.id in allowed) for r in found]


def no_match(p: Pairing) -> Iterator[Refusal]:
    """The folders have no workload and treatment in common."""
    if not p.matched:
        hint = "no workload ran in both at the same levels"
        ran = {t.workload for t in p.a.trials} & {t.workload for t in p.b.trials}
        hint += "; --match workload compares single treatments with different levels" if ran else ""
        yield Refusal("no-match", hint, overridable=False)


def same_trials(p: Pairing) -> Iterator[Refusal]:
    """The copy of a folder is not a second measurement."""
    ids = [{(t.study_id, t.id, t.started_at) for t in s.trials} for s in (p.a, p.b)]
    both = len(ids[0] & ids[1])
    if both and p.a.timed:
        text = f"both folders contain the same {plural(both, 'trial')}: one is a copy"
        yield Refusal("same-trials", text, overridable=False)


def kind(p: Pairing) -> Iterator[Refusal]:
    """Measured and published numbers have errors of different kinds."""
    a, b = ({t.kind for t in s.trials} or {s.results.study.kind} for s in (p.a, p.b))
    if a != b and not p.predicted:  # the error of a prediction is that of a measured time
        said = f"{' and '.join(sorted(a))} against {' and '.join(sorted(b))} numbers"
        yield Refusal("kind", f"{said}: their errors are of different kinds")


def scale(p: Pairing) -> Iterator[Refusal]:
    """Times of a scale model are never those of a full-size cluster."""
    a, b = (side.results.study.scale is not None for side in (p.a, p.b))
    if a != b:
        text = "one is a scale model: its times are not those of a full-size cluster"
        yield Refusal("scale", text, overridable=False)


def model_scale(p: Pairing) -> Iterator[Refusal]:
    """Times of scale models depend on their scale."""
    if any(side.results.study.scale is None for side in (p.a, p.b)):
        return
    said = [
        f"{name} {ours} against {theirs}"
        for name, ours, theirs in zip(
            SCALE_FACTS, _scale_facts(p.a), _scale_facts(p.b), strict=True
        )
        if ours != theirs
    ]
    if said:
        yield Refusal("model-scale", f"scale models of different scales: {listed(said)}")


def testbed(p: Pairing) -> Iterator[Refusal]:
    """Times on different testbeds are not comparable."""
    a, b = (p.a.results.study.testbed, p.b.results.study.testbed)
    if a != b and not p.predicted:
        yield Refusal("testbed", f"different testbeds: {a} and {b}")


def workload_parameters(p: Pairing) -> Iterator[Refusal]:
    """Different data sizes or parameters are different work."""
    rows = [row for row in p.differences if row.group == "workload"]
    if rows:
        said = [f"{row.what} {row.reference} against {row.other}" for row in rows]
        yield Refusal("workload-parameters", f"different work: {listed(said)}")


def replication(p: Pairing) -> Iterator[Refusal]:
    """Each additional replica is written and sent over the network."""
    said: dict[str, None] = {}
    for m in p.matched:
        a, b = _replication(p.a, m, m.treatment), _replication(p.b, m, m.other)
        if a is not None and b is not None and a != b:
            said[f"{a} against {b}"] = None
    if said:
        yield Refusal("replication", f"replicas of each block: {listed(list(said))}")


def machines(p: Pairing) -> Iterator[Refusal]:
    """Times on another machine differ for reasons outside the study."""
    a, b = machine(p.a), machine(p.b)
    said = []
    for name, keys in MACHINE_FACTS.items():
        ours, theirs = (next((s[k] for k in keys if k in s), None) for s in (a, b))
        if ours is None or theirs is None or ours == theirs:
            continue
        if name == "memory" and _near(ours, theirs):
            continue
        said.append(f"{name} {ours} against {theirs}")
    if said:
        yield Refusal("machine", f"measured on different machines: {listed(said)}")


def task_start(p: Pairing) -> Iterator[Refusal]:
    """A stock start includes the start-up of JVMs, a warm start does not."""
    said: dict[str, None] = {}
    for m in p.matched:
        a, b = (
            described(side, treatment).get("software.task_start", "stock")
            for side, treatment in ((p.a, m.treatment), (p.b, m.other))
        )
        if a != b:
            said[f"{a} against {b}"] = None
            continue
        ours, theirs = map(_stock_fraction, p.trials(m))
        if ours is not None and theirs is not None and abs(ours - theirs) > STOCK_TOLERANCE:
            shares = (percent(share, signed=False) for share in (ours, theirs))
            said[f"{' against '.join(shares)} stock starts"] = None
    if said:
        text = f"start of tasks: {listed(list(said))}; a stock start includes the start-up of JVMs"
        yield Refusal("task-start", text)


def _stock_fraction(trials: Sequence[Trial]) -> float | None:
    """The fraction of stock starts in trials with warm starts; None for other trials."""
    warm, stock = (
        sum(
            phase.metrics[name].value
            for trial in trials
            for phase in trial.phases
            if name in phase.metrics
        )
        for name in ("warm_starts", "stock_starts")
    )
    return stock / (warm + stock) if warm + stock else None


def cache(p: Pairing) -> Iterator[Refusal]:
    """Warm caches measure memory, dropped caches measure disks."""
    a, b = (s.results.study.protocol.cache for s in (p.a, p.b))
    states = [
        {t.before.cache_state for t in s.trials if t.before is not None} - {"unknown"}
        for s in (p.a, p.b)
    ]
    if a != b:
        yield Refusal("cache", f"cache state of the protocol: {a} against {b}")
    elif all(states) and states[0] != states[1]:
        said = " against ".join(" and ".join(sorted(s)) for s in states)
        yield Refusal("cache", f"cache state before the trials: {said}")


def verdict_rules(p: Pairing) -> Iterator[Refusal]:
    """The rules of validity determine which trials are averaged."""
    if p.predicted:
        return
    said = []
    a, b = (s.results.study.protocol.invalidate for s in (p.a, p.b))
    if a != b:
        said.append(f"different rules make trials invalid: {_rules(a)} and {_rules(b)}")
    for m in p.matched:
        names = [{c.name for t in side for c in t.verdict.checks} for side in p.trials(m)]
        if names[0] != names[1]:
            odd = sorted(names[0] ^ names[1])
            said.append(f"{m.workload}: checked in only one folder: {listed(odd)}")
    if said:
        yield Refusal("verdict-rules", listed(list(dict.fromkeys(said))))


def several_changes(p: Pairing) -> Iterator[Refusal]:
    """If two groups differ at once, a difference cannot be attributed to one of them.

    Settings that were computed from the description are excluded: they follow from it.
    """
    rows = [row for row in p.differences if row.group in SUBJECTS and not row.label_only]
    rows = [row for row in rows if not row.derived]
    groups = {group: [r for r in rows if r.group == group] for group in SUBJECTS}
    changed = [f"{group} ({listed([r.what for r in rs], 3)})" for group, rs in groups.items() if rs]
    if len(changed) > 1:
        text = f"{' and '.join(changed)} differ: no difference could be attributed to one of them"
        yield Refusal("several-changes", text)


Rule = Callable[[Pairing], Iterator[Refusal]]
REFUSALS: tuple[Rule, ...] = (
    no_match,
    same_trials,
    kind,
    scale,
    model_scale,
    testbed,
    workload_parameters,
    replication,
    machines,
    task_start,
    cache,
    verdict_rules,
    several_changes,
)
IDS = (
    "no-match",
    "same-trials",
    "kind",
    "scale",
    "model-scale",
    "testbed",
    "workload-parameters",
    "replication",
    "machine",
    "task-start",
    "cache",
    "verdict-rules",
    "several-changes",
)
"""The ids of the reasons, in the same order."""


def _scale_facts(side: Side) -> tuple[str, ...]:
    """What determines the times of a scale model, as text, in the order of SCALE_FACTS."""
    study = side.results.study
    assert study.scale is not None
    gain = study.scale.smt_gain
    combined = study.testbed_options.get("combine") or {}
    parts = ", ".join(f"{name} {count}" for name, count in sorted(combined.items()))
    return (
        f"{study.scale.rate:.4g}",
        f"{study.scale.data:.4g}",
        "number of its threads" if gain is None else f"{gain:g}",  # see ScaleRecord
        parts or "none",
        f"{study.scale.core_speed or 1.0:g}",
        "none" if (probe := study.scale.core_probe_ms) is None else f"{probe:g} ms",
    )


def _key(m: Matched, treatment: str) -> tuple[str, str]:
    return m.workload, treatment


def _replication(side: Side, m: Matched, treatment: str) -> str | None:
    """Replicas of a block: as described, else as set, else Hadoop's default; None without HDFS."""
    paths = described(side, treatment)
    _, settings = effective(side, m, treatment)
    if "storage.erasure_code" in paths:
        return paths["storage.erasure_code"]
    for key in ("storage.replication", "settings.dfs.replication"):
        if key in paths:
            return paths[key]
    if "dfs.replication" in settings:
        return settings["dfs.replication"]
    return HDFS_DEFAULT if settings and paths.get("storage.kind") == "hdfs" else None


def _near(a: str, b: str) -> bool:
    try:
        x, y = (float(v) if v.replace(".", "", 1).isdigit() else parse_bytes(v) for v in (a, b))
    except (QuantityError, ValueError):
        return False
    return abs(x - y) <= MEMORY_TOLERANCE * max(x, y)


def _rules(rules: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in rules.items()) or "no rules"
