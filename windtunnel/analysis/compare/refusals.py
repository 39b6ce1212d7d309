"""Reasons why the numbers of two folders must not be compared. A new one is an entry in REFUSALS.

What is not known on one side is no reason to refuse; it becomes a caveat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from windtunnel.analysis.compare.differences import (
    Difference,
    described,
    effective,
    machine,
)
from windtunnel.analysis.compare.matching import Matched, Side
from windtunnel.analysis.words import listed, plural
from windtunnel.cluster.quantity import QuantityError, parse_bytes
from windtunnel.results.record import Trial

MEMORY_TOLERANCE = 0.02
"""Share by which the memory of one machine may seem to differ: kernels reserve varying parts."""
SUBJECTS = ("cluster", "settings", "software")
"""What may be the thing compared, if it is the only one of these that differs."""
MACHINE_FACTS = {
    "CPU model": ("cpu_model", "cpu"),
    "threads": ("cpu_threads", "cores"),
    "memory": ("memory_bytes",),
    "architecture": ("machine",),
}
HDFS_DEFAULT = "3"
"""Hadoop's default of dfs.replication (hdfs-default.xml)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason not to compare. ``overridable`` ones can be allowed; ``allowed`` ones were."""

    id: str
    text: str
    overridable: bool = True
    allowed: bool = False


@dataclass(frozen=True)
class Pairing:
    """Two folders, what was matched in them, and what differs."""

    a: Side
    b: Side
    matched: Sequence[Matched]
    differences: Sequence[Difference]

    def trials(self, m: Matched) -> tuple[list[Trial], list[Trial]]:
        """The trials of a matched workload and treatment in either folder."""
        ours = [t for t in self.a.trials if (t.workload, t.treatment.id) == _key(m, m.treatment)]
        theirs = [t for t in self.b.trials if (t.workload, t.treatment.id) == _key(m, m.other)]
        return ours, theirs


def refusals(pairing: Pairing, allowed: Sequence[str] = ()) -> list[Refusal]:
    """All reasons that hold; those in ``allowed`` are marked, unless they cannot be allowed."""
    found = [refusal for rule in REFUSALS for refusal in rule(pairing)]
    return [replace(r, allowed=r.overridable and r.id in allowed) for r in found]


def no_match(p: Pairing) -> Iterator[Refusal]:
    """Nothing in common: other workloads or other treatments."""
    if not p.matched:
        hint = "no workload ran in both at the same levels"
        ran = {t.workload for t in p.a.trials} & {t.workload for t in p.b.trials}
        hint += "; --match workload pairs single treatments whatever their levels" if ran else ""
        yield Refusal("no-match", hint, overridable=False)


def same_trials(p: Pairing) -> Iterator[Refusal]:
    """A copy of a folder is no second measurement."""
    ids = [{(t.study_id, t.id, t.started_at) for t in s.trials} for s in (p.a, p.b)]
    both = len(ids[0] & ids[1])
    if both and p.a.timed:
        text = f"{plural(both, 'trial')} of one are trials of the other: a copy is no new run"
        yield Refusal("same-trials", text, overridable=False)


def kind(p: Pairing) -> Iterator[Refusal]:
    """Measured, predicted and published numbers have errors of different kinds."""
    a, b = ({t.kind for t in s.trials} or {s.results.study.kind} for s in (p.a, p.b))
    if a != b:
        said = f"{' and '.join(sorted(a))} against {' and '.join(sorted(b))} numbers"
        yield Refusal("kind", f"{said}: their errors are not of one kind")


def scale(p: Pairing) -> Iterator[Refusal]:
    """Seconds of a scale model are never those of a full-size cluster."""
    scaled = ["scaled" in {t.testbed for t in s.trials} for s in (p.a, p.b)]
    if scaled[0] != scaled[1]:
        text = "one is a scale model: its seconds are not those of a full-size cluster"
        yield Refusal("scale", text, overridable=False)


def testbed(p: Pairing) -> Iterator[Refusal]:
    """The testbed decides what a second means."""
    a, b = (p.a.results.study.testbed, p.b.results.study.testbed)
    if a != b:
        yield Refusal("testbed", f"testbed {a} against {b}")


def workload_parameters(p: Pairing) -> Iterator[Refusal]:
    """Other data sizes or other parameters are other work."""
    rows = [row for row in p.differences if row.group == "workload"]
    if rows:
        said = [f"{row.what} {row.reference} against {row.other}" for row in rows]
        yield Refusal("workload-parameters", f"not the same work: {listed(said)}")


def replication(p: Pairing) -> Iterator[Refusal]:
    """Each further copy is written and sent once more."""
    said: dict[str, None] = {}
    for m in p.matched:
        a, b = _replication(p.a, m, m.treatment), _replication(p.b, m, m.other)
        if a is not None and b is not None and a != b:
            said[f"{a} against {b}"] = None
    if said:
        yield Refusal("replication", f"copies of each block: {listed(list(said))}")


def machines(p: Pairing) -> Iterator[Refusal]:
    """Seconds of another machine differ for reasons that are not the study's."""
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


def cache(p: Pairing) -> Iterator[Refusal]:
    """Warm against dropped caches: memory against disks."""
    a, b = (s.results.study.protocol.cache for s in (p.a, p.b))
    states = [
        {t.before.cache_state for t in s.trials if t.before is not None} - {"unknown"}
        for s in (p.a, p.b)
    ]
    if a != b:
        yield Refusal("cache", f"protocol with caches {a} against {b}")
    elif all(states) and states[0] != states[1]:
        said = " against ".join(" and ".join(sorted(s)) for s in states)
        yield Refusal("cache", f"caches before the trials: {said}")


def verdict_rules(p: Pairing) -> Iterator[Refusal]:
    """What counts as valid decides which trials are averaged."""
    said = []
    a, b = (s.results.study.protocol.invalidate for s in (p.a, p.b))
    if a != b:
        said.append(f"trials are invalidated by {_rules(a)} against {_rules(b)}")
    for m in p.matched:
        names = [{c.name for t in side for c in t.verdict.checks} for side in p.trials(m)]
        if names[0] != names[1]:
            odd = sorted(names[0] ^ names[1])
            said.append(f"{m.workload}: checked in only one of them: {listed(odd)}")
    if said:
        yield Refusal("verdict-rules", listed(list(dict.fromkeys(said))))


def several_changes(p: Pairing) -> Iterator[Refusal]:
    """With two things changed at once, neither is what was compared.

    Settings that were worked out from the description follow from what differs there.
    """
    rows = [row for row in p.differences if row.group in SUBJECTS and not row.label_only]
    rows = [row for row in rows if not row.derived]
    groups = {group: [r for r in rows if r.group == group] for group in SUBJECTS}
    changed = [f"{group} ({listed([r.what for r in rs], 3)})" for group, rs in groups.items() if rs]
    if len(changed) > 1:
        text = f"{' and '.join(changed)} differ at once: no difference could be put down to one"
        yield Refusal("several-changes", text)


Rule = Callable[[Pairing], Iterator[Refusal]]
REFUSALS: tuple[Rule, ...] = (
    no_match,
    same_trials,
    kind,
    scale,
    testbed,
    workload_parameters,
    replication,
    machines,
    cache,
    verdict_rules,
    several_changes,
)
IDS = (
    "no-match",
    "same-trials",
    "kind",
    "scale",
    "testbed",
    "workload-parameters",
    "replication",
    "machine",
    "cache",
    "verdict-rules",
    "several-changes",
)
"""Their ids, in the same order."""


def _key(m: Matched, treatment: str) -> tuple[str, str]:
    return m.workload, treatment


def _replication(side: Side, m: Matched, treatment: str) -> str | None:
    """Copies of a block: as described, else as set, else Hadoop's default; None if not HDFS's."""
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
    return ", ".join(f"{name} {value:g}" for name, value in rules.items()) or "nothing"
