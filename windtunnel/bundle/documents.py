"""The artifact appendix and the full-disclosure sheet of a bundle, as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from windtunnel.analysis.cost.energy import ENERGY
from windtunnel.analysis.subjects.similarity import (
    consequences,
    counts,
    with_measured_start_up,
)
from windtunnel.bundle.described import Described
from windtunnel.cluster import load_text, validate
from windtunnel.errors import WindtunnelError
from windtunnel.report.sections import headline
from windtunnel.study.file import StudyFile
from windtunnel.study.plan import make_plan

_UNKNOWN = "not recorded"
Claims = Mapping[str, Sequence[Mapping[str, Any]]]


def appendix(described: Sequence[Described], claims: Claims) -> str:
    """What is required to repeat the results, how long it takes, and the command per claim."""
    return "\n".join(_appendix(described, claims)) + "\n"


def _appendix(described: Sequence[Described], claims: Claims) -> Iterator[str]:
    yield "# Artifact appendix\n"
    yield "To check this bundle without a network: `windtunnel verify BUNDLE.zip`.\n"
    yield "## Requirements\n"
    for one in described:
        machines = [
            f"{machine.get('cpu_threads', _UNKNOWN)} CPU threads, "
            f"{_gib(machine.get('memory_bytes'))} of memory, {machine.get('system', _UNKNOWN)}"
            for machine in one.machines or [{}]
        ]
        yield (
            f"- `{one.name}`: measured on {'; and on '.join(machines)}; "
            f"{_software(one)}; testbed `{one.results.study.testbed}`"
        )
    yield "\n## Time\n"
    yield "| results | trials | time per trial, median | from first to last trial |"
    yield "| --- | --- | --- | --- |"
    for one in described:
        trials = one.results.trials
        times = [trial.finished_at - trial.started_at for trial in trials]
        whole = max((t.finished_at for t in trials), default=0.0) - min(
            (t.started_at for t in trials), default=0.0
        )
        middle = f"{statistics.median(times):.0f} s" if times else "none"
        yield f"| `{one.name}` | {len(trials)} | {middle} | {whole / 60:.0f} min |"
    yield "\n## Commands\n"
    for one in described:
        yield f"- `{one.name}`: {_command(one)}"
    for study, rows in claims.items():
        yield f"\n### Claims of {study}\n"
        yield "| claim | what it says | verdict here | command |"
        yield "| --- | --- | --- | --- |"
        for row in rows:
            how = f"`{row['command']}`" if row["command"] else row["cannot"]
            yield f"| {row['id']} | {_cell(row['says'])} | {row['grade']} | {_cell(how)} |"


def _command(one: Described) -> str:
    study = one.results.study
    if study.kind in ("published", "observed"):
        return "imported results; no command repeats them"
    command = f"`windtunnel run results/{one.name}/study.yaml --results again`"
    if _describes(one):
        return command
    return (
        f"{command}; but this file alone does not describe the study: options such as `--set`, a "
        f"cluster file or the version of Windtunnel differed. `results/{one.name}/study.json` has "
        "the cluster and the treatments that ran"
    )


def _describes(one: Described) -> bool:
    """Whether the study file, with the other files of the bundle, results in the plan that ran."""
    study = one.results.study
    try:
        # a cluster file is searched for next to it
        located = load_text(study.source_text, str(one.results.path / "study.yaml"))
        return make_plan(validate(StudyFile, located), located).fingerprint == study.fingerprint
    except WindtunnelError:
        return False


def disclosure(described: Sequence[Described], claims: Claims) -> str:
    """Configuration, price, energy and deviations of each results folder."""
    lines = ["# Full-disclosure sheet\n"]
    for one in described:
        lines += _disclosed(one)
    for study, rows in claims.items():
        seen = dict.fromkeys(line for row in rows for line in row["deviations"])
        lines += [f"## Deviations from {study}\n", *(f"- {line}" for line in seen), ""]
    return "\n".join(lines) + "\n"


def _disclosed(one: Described) -> Iterator[str]:
    study = one.results.study
    yield f"## {one.name}\n"
    yield f"{headline(one.analysis)}.\n"
    yield "### Configuration\n"
    hosts = study.cluster.get("hosts", {})
    for name, host in hosts.items():
        yield f"- {host.get('count', 1)} x `{name}`: {_host(host)}"
    yield f"- software: {_software(one)}"
    yield f"- {len(one.settings)} settings that are not defaults: `settings/{one.name}.json`"
    for setting in one.settings:
        yield f"  - `{setting.get('name')}` = `{setting.get('value')}`"
    protocol = study.protocol
    yield (
        f"- protocol: {protocol.rounds} rounds, seed {protocol.seed}, cache {protocol.cache}, "
        f"{protocol.warmup} warm-up, variation limit {protocol.variation_limit * 100:.0f} %"
    )
    yield "\n### Price\n"
    yield from _price(hosts)
    yield "\n### Energy\n"
    yield from _energy(one)
    yield "\n### Deviations\n"
    yield from _deviations(one)
    yield ""


def _host(host: Mapping[str, Any]) -> str:
    cpu = host.get("cpu")
    parts = [", ".join(host.get("roles", []))]
    if cpu:
        parts.append(" ".join(f"{key} {value}" for key, value in cpu.items()))
    parts += [f"memory {host['memory']}"] if host.get("memory") else []
    for kind in ("disks", "nics"):
        for part in host.get(kind) or []:
            parts.append(f"{kind}: " + ", ".join(f"{key} {value}" for key, value in part.items()))
    return "; ".join(part for part in parts if part)


def _software(one: Described) -> str:
    software = one.software
    java = software.get("java")
    found = [f"Hadoop {version}" for version in software["hadoop"]]
    found += [str(name) for name in software["engines"]]
    found += [f"Java {java.get('version')}"] if isinstance(java, dict) else []
    return ", ".join(found) or "no software was recorded"


def _price(hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    known = False
    for name, host in hosts.items():
        parts = host.get("price_parts") or ({"host": host["price"]} if host.get("price") else {})
        if parts:
            known = True
            stated = ", ".join(f"{part} {value}" for part, value in parts.items())
            yield f"- `{name}`: {stated} per host"
    if not known:
        yield "- the description has no prices"


def _energy(one: Described) -> Iterator[str]:
    sums: dict[str, list[float]] = {}
    for row in one.analysis.observations:
        if row.counts and row.phase == "total" and row.unit == ENERGY.unit:
            sums.setdefault(row.metric, []).append(row.value)
    for metric, values in sums.items():
        yield f"- `{metric}`: {sum(values) / 3.6e6:.3f} kWh in {len(values)} trials"
    if not sums:
        yield "- no power was measured or modelled"


def _deviations(one: Described) -> Iterator[str]:
    study = one.results.study
    for note in study.notes:
        yield f"- {note}"
    invalid = [t for t in one.results.trials if not t.verdict.valid]
    for trial in invalid:
        yield f"- invalid trial {trial.id}: {trial.verdict.reason}"
    scale = with_measured_start_up(study, one.results.trials)
    if scale is not None:
        yield f"- scale model, rate {scale.rate:g}, data {scale.data:g}: "
        yield f"  {counts(scale)}"
        for line in dict.fromkeys(consequences(scale)):
            yield f"  - {line}"
    for warning in one.analysis.warnings:
        yield f"- {warning.severity}: {warning.text}"


def _gib(value: object) -> str:
    return f"{value / 2**30:.0f} GiB" if isinstance(value, int | float) else _UNKNOWN


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")
