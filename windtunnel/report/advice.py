"""Advice: fragments of ``*-site.xml`` and host settings that correct the FAILs, with reasons."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import escape

from windtunnel.audit.audit import Audit, Subject, run
from windtunnel.audit.result import Result
from windtunnel.cluster.settings import affects, default_of, site_of
from windtunnel.errors import ResultsError
from windtunnel.report.atomic import write_bytes

# "set NAME = VALUE", also after "and", and "echo 'NAME = VALUE' > FILE"
_PAIR = re.compile(
    r"(?:set |and |, |echo ')(?P<name>[a-z][a-z0-9_-]*(?:\.[\w*-]+)+) = (?P<value>[^;,'()]+?)"
    r"(?=$|[;,'(]| and | \(|, with| instead| with )"
)
_NEEDS = re.compile(r"\(needs ([^)]+)\)")
_ROUNDS = 6
_COMMAND = re.compile(
    r"^(cpupower|tuned-adm|blockdev|ethtool|ip link|echo|apt-get|chmod|systemctl|sysctl)\b"
)


def pairs(results: Iterable[Result]) -> Iterator[tuple[str, str, Result]]:
    """Every (name, value) that a remedy sets, with its result."""
    for one in results:
        for match in _PAIR.finditer(one.remedy):
            yield match["name"], match["value"].strip(), one


def settled(subject: Subject, made: Audit) -> list[Audit]:
    """The audit, and audits with its advice about settings applied, until it no longer changes.

    The settings of YARN come first, because the advice about jobs depends on what YARN offers.
    """
    found = [made]
    values: dict[str, str] = {}
    for _ in range(_ROUNDS if len(subject.confs) == 1 else 0):
        own = {name: value for name, value, _ in _step(found[-1])}
        if own.items() <= values.items():
            break
        values |= own
        after = replace(subject, hosts=(), confs=[subject.confs[0].changed(values)])
        # the advice needs hosts only for their hardware, which the subject has
        found.append(run(after))
    return found


def _step(audit: Audit) -> list[tuple[str, str, Result]]:
    """What the next audit applies of an audit's advice: the settings of YARN, if there are some."""
    of_hadoop = (one for one in audit.worst if one.area == "hadoop")
    known = [one for one in pairs(of_hadoop) if _is_known(one[0])]
    return [one for one in known if one[0].startswith("yarn.")] or known


def _advised(audits: Sequence[Audit]) -> list[tuple[str, str, Result]]:
    """The advice of all audits; a later value of a name replaces an earlier one."""
    first, *_ = audits
    others = [one for one in pairs(first.worst) if one[2].area != "hadoop"]
    steps = [one for audit in audits[:-1] for one in _step(audit)]
    last = pairs(one for one in audits[-1].worst if one.area == "hadoop")
    return [*others, *steps, *last]


def _is_known(name: str) -> bool:
    """Whether Hadoop has the property; those of the scheduler have no default in Hadoop's lists."""
    return default_of(name) is not None or site_of(name) == "capacity-scheduler.xml"


def write_advice(
    audits: Sequence[Audit], folder: Path, present: Mapping[str, str] | None = None
) -> list[Path]:
    """Write the fragments, host settings and a study; returns the files that were written.

    ``audits`` are those of :func:`settled`; a later one replaces the values of an earlier one.
    ``present`` are the settings of jobs in force, the baseline of the study.

    Raises
    ------
    ResultsError
        If the folder cannot be created or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(
            f"{folder} cannot be created: {error.strerror}", remedy="give another folder."
        ) from None
    sites: dict[str, dict[str, tuple[str, Result]]] = {}
    kernel: dict[str, tuple[str, Result]] = {}
    audit, advised = audits[0], _advised(audits)
    for name, value, one in advised:
        if one.area == "host":
            kernel.setdefault(name, (value, one))
        elif default_of(name) is not None or one.area == "hadoop":
            sites.setdefault(_place(name, one), {})[name] = (value, one)
    written = []
    for site, found in sorted(sites.items()):
        (folder / site).parent.mkdir(exist_ok=True)
        reasons = {name: (value, _why(one)) for name, (value, one) in found.items()}
        written.append(_put(folder / site, site_text(reasons)))
    if kernel:
        lines = [f"# {_why(one)}\n{name} = {value}" for name, (value, one) in kernel.items()]
        written.append(_put(folder / "90-hadoop-sysctl.conf", "\n".join(lines) + "\n"))
    study = _study(advised, present or {})
    if study:
        written.append(_put(folder / "study.yaml", study))
    by_hand = [one for one in audit.worst if not _PAIR.search(one.remedy)]
    if by_hand:
        written.append(_put(folder / "by-hand.md", _by_hand(by_hand)))
    return written


def _place(name: str, one: Result) -> str:
    """The file of a setting; those that need something first are not merged with the rest."""
    if _NEEDS.search(one.remedy):
        return f"with-preparation/{site_of(name)}"
    # secure mode needs a KDC, keytabs and certificates
    return f"secure-mode/{site_of(name)}" if one.area != "hadoop" else site_of(name)


def _study(advised: Iterable[tuple[str, str, Result]], present: Mapping[str, str]) -> str:
    """A study of the advised settings of jobs, one factor for each check; empty without any.

    Only settings that clients read are measured on another machine with the same meaning.
    """
    factors: dict[str, dict[str, str]] = {}
    for name, value, one in advised:
        if one.check.startswith("setting-"):
            continue  # a corrected name or form
        if one.area == "hadoop" and affects(name) == "client" and name.startswith("mapreduce."):
            factors.setdefault(one.check, {})[name] = value
    if not factors:
        return ""
    lines = [
        "# Does the advice of the audit change the time of TeraSort? If no difference is detected,",
        "# keep 'present'. On testbed local, all hosts share this machine: check the sizes.",
        "study: advice",
        "question: Which of the advised settings change the time of TeraSort?",
        "cluster: local-3",
        "testbed: local",
        "workloads:",
        "  terasort:",
        "    {size: 128 MB, input_replication: 1, output_replication: 1, reuse_input: true}",
    ]
    if present:
        lines.append("set:")
        rows = sorted(present.items())
        lines += [f"  settings.{name}: {json.dumps(value)}" for name, value in rows]
    lines.append("factors:")
    for check, values in factors.items():
        rows_of = [f"settings.{name}: {json.dumps(value)}" for name, value in values.items()]
        lines += [f"  {check}:", "    present: {}", "    advised:"]
        lines += [f"      {row}" for row in rows_of]
    lines.append("baseline:")
    lines += [f"  {check}: present" for check in factors]
    lines += ["design: one-factor-at-a-time", "protocol: {rounds: 3, trial_time_limit: 15 min}"]
    return "\n".join(lines) + "\n"


def _put(path: Path, text: str) -> Path:
    write_bytes(path, text.encode())
    return path


def _why(one: Result) -> str:
    needs = _NEEDS.search(one.remedy)
    first = f"Needs {needs[1]}. " if needs else ""
    return " ".join(f"{first}{one.check}: {one.observed}. {one.reason}".split())


def site_text(found: Mapping[str, tuple[str, str]]) -> str:
    """The text of a site file: each property with its value, and its reason as a comment."""
    lines = ['<?xml version="1.0"?>', "<!-- Merge into the file of the same name. -->"]
    lines.append("<configuration>")
    for name, (value, reason) in found.items():
        comment = re.sub("-(?=-)", "- ", reason)  # XML permits no "--" in comments
        lines += [
            f"  <!-- {escape(comment)} -->",
            f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>",
        ]
    return "\n".join([*lines, "</configuration>"]) + "\n"


def _by_hand(results: Iterable[Result]) -> str:
    lines = ["# Findings that need changes outside the settings files", ""]
    for one in results:
        remedy = f"`{one.remedy}`" if _COMMAND.match(one.remedy) else one.remedy
        lines.append(f"- **{one.check}** ({one.subject}): {one.observed}\n  - {remedy}")
    return "\n".join(lines) + "\n"
