"""All differences between two folders except the measured values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from windtunnel.analysis.compare.cell_pairs import Matched, Side
from windtunnel.analysis.formatting import flat
from windtunnel.cluster.quantity import QuantityError, parse_bytes
from windtunnel.results.record import Trial

Group = Literal["study", "cluster", "settings", "software", "workload", "protocol", "machine"]
UNKNOWN = "not stated"
LABELS = frozenset({"name", "note", "parent"})
"""Parts of a cluster description that are only names."""
OWN_VERSIONS = ("windtunnel", "windtunnel_commit", "python")
WORKED_OUT = ("daemon_jvm", "class_archive")
"""Parts of the provenance's software that are settings of Windtunnel and not versions."""
NO_SETTING = "default"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. ``at`` is the id of the treatment that has it, if not all do, ``at_name``
    its name.

    A ``derived`` difference is not in the description: the program computed it from there.
    """

    group: Group
    what: str
    reference: str
    other: str
    at: str = ""
    derived: bool = False
    at_name: str = ""

    @property
    def label_only(self) -> bool:
        """Whether only a name differs."""
        return self.group == "cluster" and self.what in LABELS


def differences(a: Side, b: Side, matched: Sequence[Matched]) -> list[Difference]:
    """The differences by group; those that all matched treatments have are listed once."""
    rows = [*_study(a, b)]
    everywhere: dict[Difference, list[str]] = {}
    for m in matched:
        for row in _at(a, b, m):
            everywhere.setdefault(row, []).append(m.treatment)
    count = len({m.treatment for m in matched})
    for row, places in everywhere.items():
        named = list(dict.fromkeys(places))
        if len(named) == count:
            named = []
        names = "; ".join(a.names[key] for key in named)
        rows.append(replace(row, at=", ".join(named), at_name=names))
    rules = [flat(side.results.study.protocol.model_dump()) for side in (a, b)]
    rows += _diff("protocol", rules[0], rules[1])
    rows += _diff("machine", machine(a), machine(b))
    order = ("study", "cluster", "settings", "software", "workload", "protocol", "machine")
    return sorted(rows, key=lambda row: order.index(row.group))


def machine(side: Side) -> dict[str, str]:
    """Facts about the machine from the provenance; several values are joined."""
    found: dict[str, dict[str, None]] = {}
    for facts in provenances(side):
        for key, value in flat(facts.get("machine")).items():
            if key != "clock":
                found.setdefault(key, {})[value] = None
        for key, value in flat({"windtunnel": facts.get("windtunnel")}).items():
            found.setdefault(key, {})[value] = None
    return {key: " / ".join(values) for key, values in found.items()}


def provenances(side: Side) -> list[dict[str, Any]]:
    """The provenances of the counted trials, each once."""
    trials = {t.provenance: t for t in side.trials if t.provenance}
    return [side.results.provenance(trial) for trial in trials.values()]


def described(side: Side, treatment: str) -> dict[str, str]:
    """The cluster description with the treatment's overrides, by path, without null values."""
    paths = flat(side.results.study.cluster)
    for path, value in side.treatments[treatment].overrides.items():
        if not path.startswith("workloads."):
            paths = {k: v for k, v in paths.items() if k != path and not k.startswith(f"{path}.")}
            paths |= flat({path: value})
    return paths


def parameters(side: Side, m: Matched, treatment: str) -> dict[str, str]:
    """The parameters with which the workload ran; all sizes are in bytes."""
    trials = [t for t in side.trials if (t.workload, t.treatment.id) == (m.workload, treatment)]
    found: dict[str, dict[str, None]] = {}
    for trial in trials:
        for key, value in flat(trial.parameters).items():
            found.setdefault(key, {})[_size(value)] = None
    return {key: " / ".join(values) for key, values in found.items()}


def effective(side: Side, m: Matched, treatment: str) -> tuple[dict[str, str], dict[str, str]]:
    """(software, settings other than defaults) of a cell, from its first provenance."""
    trial = _first(side, m.workload, treatment)
    facts = side.results.provenance(trial) if trial is not None else {}
    inner = facts.get("software", facts)
    software = dict(inner) if isinstance(inner, dict) else {}
    settings = _named(software.pop("settings", {}))
    jars = _named(software.pop("jars", {}))
    software["plug-in"] = facts.get("plugins")
    for key in ("machine", "hosts", *OWN_VERSIONS):
        software.pop(key, None)
    for key in WORKED_OUT:
        settings |= flat({key: software.pop(key, None)})
    return flat(software) | {f"jar {k}": v for k, v in jars.items()}, settings


def _study(a: Side, b: Side) -> list[Difference]:
    def facts(side: Side) -> dict[str, str]:
        study = side.results.study
        return {
            "testbed": study.testbed,
            "kind": study.kind,
            "design": study.design.kind,
            "ran": _when(side.trials),
            "valid trials": str(len(side.trials)),
        }

    return _diff("study", facts(a), facts(b))


def _at(a: Side, b: Side, m: Matched) -> list[Difference]:
    """Differences at one matched treatment: description, software, settings, parameters."""
    rows = []
    ours, theirs = described(a, m.treatment), described(b, m.other)
    for row in _diff("cluster", ours, theirs):
        head, _, rest = row.what.partition(".")
        group: Group = "settings" if head == "settings" else "cluster"
        group = "software" if head == "software" else group
        what = rest if group == "settings" else row.what
        rows.append(Difference(group, what, row.reference, row.other))
    reported = {row.what for row in rows}
    (software_a, settings_a), (software_b, settings_b) = (
        effective(s, m, t) for s, t in ((a, m.treatment), (b, m.other))
    )
    if software_a and software_b:
        rows += _jars_as_one(_diff("software", software_a, software_b))
    if settings_a and settings_b:
        found = _diff("settings", settings_a, settings_b, missing=NO_SETTING)
        rows += [replace(row, derived=True) for row in found if row.what not in reported]
    ours, theirs = parameters(a, m, m.treatment), parameters(b, m, m.other)
    for row in _diff("workload", ours, theirs):
        what = f"{m.workload}.{row.what}"
        rows.append(Difference(row.group, what, row.reference, row.other))
    return rows


def _diff(
    group: Group, a: Mapping[str, str], b: Mapping[str, str], missing: str = UNKNOWN
) -> list[Difference]:
    keys = dict.fromkeys([*a, *b])
    return [
        Difference(group, key, a.get(key, missing), b.get(key, missing))
        for key in keys
        if a.get(key) != b.get(key)
    ]


def _jars_as_one(rows: Sequence[Difference]) -> list[Difference]:
    """All different jars in one row, unless they are few."""
    jars = [row for row in rows if row.what.startswith("jar ")]
    if len(jars) <= 3:
        return list(rows)
    rest = [row for row in rows if not row.what.startswith("jar ")]
    return [*rest, Difference("software", "jars", "", f"{len(jars)} differ")]


def _named(data: object) -> dict[str, str]:
    """A list of {name, value or version, sha256} or a mapping, as name -> text."""
    if isinstance(data, Mapping):
        return flat(data)
    found = {}
    for entry in data if isinstance(data, list) else []:
        if isinstance(entry, Mapping) and "name" in entry:
            value = entry.get("value", entry.get("version"))
            digest = str(entry.get("sha256", ""))[:8]
            found[str(entry["name"])] = f"{value} {digest}".strip()
    return found


def _first(side: Side, workload: str, treatment: str) -> Trial | None:
    for trial in side.trials:
        if trial.provenance and (trial.workload, trial.treatment.id) == (workload, treatment):
            return trial
    return None


def _size(value: str) -> str:
    """``256 MB`` and ``256000000.0`` as one text; anything else as it is."""
    try:
        return str(parse_bytes(value))
    except QuantityError:
        pass
    try:
        number = float(value)
    except ValueError:
        return value
    return str(int(number)) if number.is_integer() else value


def _when(trials: Sequence[Trial]) -> str:
    if not trials or max(t.finished_at for t in trials) <= 0:
        return UNKNOWN
    first = datetime.fromtimestamp(min(t.started_at for t in trials), UTC)
    last = datetime.fromtimestamp(max(t.finished_at for t in trials), UTC)
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"
