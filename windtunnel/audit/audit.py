"""The audit: every check on every subject, exceptions applied, secrets removed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from windtunnel.audit.check import Check, Read, checks, in_range
from windtunnel.audit.configuration import Configuration
from windtunnel.audit.evidence import Evidence
from windtunnel.audit.exceptions import Exceptional, applied
from windtunnel.audit.facts import AbsentFactError, HostFacts, UnreadableError
from windtunnel.audit.hardware import Hardware
from windtunnel.audit.result import (
    Outcome,
    Result,
    Score,
    Status,
    failed,
    not_applicable,
    passed,
    scores,
    unknown,
    worst_first,
)
from windtunnel.audit.rules import RULES
from windtunnel.audit.rules.surface import listening, purpose
from windtunnel.cluster.secrets import MASK

SCHEMA = 1
KIND = "windtunnel-audit"
_CHECKS_SHOWN = 4


@dataclass(frozen=True)
class Subject:
    """What is audited: hosts by their facts, configurations, both, and the hardware."""

    hosts: Sequence[HostFacts] = ()
    confs: Sequence[Configuration] = ()
    hardware: Hardware = field(default_factory=Hardware)
    files: float | None = None
    live: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Audit:
    """All results, and what was read.

    ``surface`` is the table of listening ports: host, protocol, port, purpose, process, user,
    interface. ``benchmarks`` are section scores of OpenSCAP by host.
    """

    results: tuple[Result, ...]
    subjects: tuple[str, ...]
    notes: tuple[str, ...] = ()
    surface: tuple[dict[str, Any], ...] = ()
    benchmarks: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    probes: tuple[Mapping[str, Any], ...] = ()

    @property
    def scores(self) -> list[Score]:
        """The score of each area, the lowest first."""
        return scores(self.results)

    @property
    def worst(self) -> list[Result]:
        """The FAILs without an exception, the worst first."""
        return worst_first(self.results)

    def plain(self) -> dict[str, Any]:
        """The audit as data of JSON."""
        return {
            "kind": KIND,
            "schema": SCHEMA,
            "subjects": list(self.subjects),
            "scores": [vars(one) for one in self.scores],
            "results": [one.plain() for one in self.results],
            "notes": list(self.notes),
            "surface": list(self.surface),
            "benchmarks": {name: list(rows) for name, rows in self.benchmarks.items()},
            "probes": list(self.probes),
        }


def run(
    subject: Subject, exceptions: Sequence[Exceptional] = (), others: Sequence[Result] = ()
) -> Audit:
    """Every check of the catalogue on the subject.

    Parameters
    ----------
    others:
        Results of other sources (OpenSCAP, requests to ports), to which the exceptions also apply.
    """
    made = [*_all(subject), *others]
    secrets = frozenset(text for conf in subject.confs for text in conf.secrets())
    cleaned = [_without(one, secrets) for one in made]
    results, notes = applied(cleaned, exceptions, dt.datetime.now(dt.UTC).date())
    names = [host.host for host in subject.hosts]
    names += [conf.name for conf in subject.confs]
    table = tuple(row for host in subject.hosts for row in attack_surface(host))
    return Audit(tuple(results), tuple(names), tuple(notes), table)


def _all(subject: Subject) -> Iterator[Result]:
    empty = Configuration("no configuration")
    around = Evidence(subject.hosts, empty, subject.hardware, None, subject.files, subject.live)
    if subject.confs:
        around = replace(around, conf=subject.confs[0])
    for check in checks():
        if check.on_hosts:
            for host in subject.hosts:
                if host.only and check.id not in host.only:
                    continue
                yield from _results(check, replace(around, host=host), host.host)
        else:
            for conf in subject.confs:
                yield from _results(check, replace(around, conf=conf), conf.name)


def _results(check: Check, evidence: Evidence, name: str) -> Iterator[Result]:
    """The results of a check; one PASS stands for several outcomes that are as expected."""
    found = list(_outcomes(check, evidence))
    if not check.on_hosts:
        found = [_stated(check, one, evidence.conf) for one in found]
    bad = [one for one in found if one.status in (Status.FAIL, Status.UNKNOWN)]
    good = [one for one in found if one.status is Status.PASS]
    rest = [one for one in found if one.status is Status.NOT_APPLICABLE]
    if good and not bad:
        shown = [one.observed for one in good]
        text = "; ".join(shown[:_CHECKS_SHOWN])
        more = len(shown) - _CHECKS_SHOWN
        bad = [passed(f"{text}; {more} more" if more > 0 else text)]
    if not bad:
        bad = rest[:1] or [not_applicable("nothing to judge")]
    expected = check.expects or check.expected.stated()
    for one in bad:
        yield Result(
            check=check.id,
            area=check.area,
            severity=one.severity or check.severity,
            subject=name,
            about=one.about,
            status=one.status,
            question=check.question,
            observed=one.observed,
            expected=expected,
            reason=check.reason,
            source=check.source,
            remedy=(one.remedy or check.remedy) if one.status is Status.FAIL else "",
            gains=check.gains,
            place=one.place,
        )


def _stated(check: Check, one: Outcome, conf: Configuration) -> Outcome:
    """The outcome; of a configuration that is partly known, nothing follows from a default."""
    if not conf.partial:
        return one
    if one.status is Status.FAIL and not one.place:
        return unknown(f"not stated: {one.observed} is Hadoop's default", one.about)
    if one.status is Status.PASS and check.area == "security" and not conf.is_set(one.about):
        return unknown("only some settings are known", one.about)
    return one


def _outcomes(check: Check, evidence: Evidence) -> Iterable[Outcome]:
    """What a check finds; something that cannot be read is UNKNOWN, never FAIL."""
    try:
        blocked = _blocked(check, evidence)
        if blocked is not None:
            return [blocked]
        if check.read.rule is not None:
            found = list(RULES[check.read.rule](evidence))
        else:
            found = [_judged(check, *pair) for pair in _values(check.read, evidence)]
        return _of_version(check, found, evidence.conf)
    except UnreadableError as error:
        return [unknown(str(error))]
    except AbsentFactError as error:
        return [not_applicable(str(error))]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        # facts come from files that anybody can write: an entry of another form is not readable
        return [unknown(f"the facts have an unexpected form ({type(error).__name__}: {error})")]


def _blocked(check: Check, evidence: Evidence) -> Outcome | None:
    """Why a check does not apply, None if it does."""
    conf = evidence.conf
    if not check.on_hosts and check.cluster_only and not conf.is_cluster:
        return not_applicable("the configuration describes no cluster (fs.defaultFS is file:///)")
    if check.versions and in_range(conf.version, check.versions, conf.least_version) is False:
        return not_applicable(f"for Hadoop {check.versions}, this is {conf.version}")
    for condition in check.only_if:
        if condition.read.rule is not None:
            values = [one.observed for one in RULES[condition.read.rule](evidence)]
        else:
            values = [value for _, value, _ in _values(condition.read, evidence)]
        if not any(condition.expected.met(value) for value in values):
            read = condition.read
            what = read.fact or read.sysctl or read.property or read.rule
            said = ", ".join(map(str, values)) or "nothing"
            return not_applicable(f"{what}: {said}")
    return None


def _of_version(check: Check, found: list[Outcome], conf: Configuration) -> list[Outcome]:
    """The outcomes; UNKNOWN if they count for some versions and the version is unknown."""
    if not check.versions or in_range(conf.version, check.versions, conf.least_version):
        return found
    if all(one.status is Status.NOT_APPLICABLE for one in found):
        return found
    return [unknown(f"applies to Hadoop {check.versions}: give the version with --hadoop")]


Found = tuple[str, Any, str]


def _values(read: Read, evidence: Evidence) -> Iterator[Found]:
    """What is read: about, value, place."""
    if read.property is not None:
        conf = evidence.conf
        yield read.property, conf.value(read.property), conf.place(read.property)
        return
    host = evidence.one
    if read.sysctl is not None:
        value = host.mapping("sysctl").get(read.sysctl)
        if value is None:
            raise AbsentFactError(
                f"the kernel has no parameter {read.sysctl}, or it was not collected"
            )
        parts = str(value).split()
        yield read.sysctl, value if read.column is None else parts[read.column], ""
        return
    assert read.fact is not None, "a check reads a fact, a parameter, a property or a rule"
    if read.name is None:
        value = host.get(read.fact)
        if read.key is not None:
            value = host.mapping(read.fact).get(read.key)
            if value is None:
                raise UnreadableError(f"{read.fact}: '{read.key}' was not collected")
        yield read.fact if read.key is None else f"{read.fact} {read.key}", value, ""
        return
    any_row = False
    for row in host.table(read.fact):
        if all(wanted.met(row.get(key)) for key, wanted in read.where.items()):
            any_row = True
            yield str(row.get(read.name)), row.get(read.key or ""), ""
    if not any_row:
        raise AbsentFactError(f"no entry of {read.fact} matches this check")


def _judged(check: Check, about: str, value: Any, place: str) -> Outcome:
    shown = "true" if value is True else "false" if value is False else str(value)
    label = f"{about} = {shown if shown else '(empty)'}"
    if value is None:
        return unknown(f"{about} was not collected", about)
    met = check.expected.met(value)
    if met is None:
        return unknown(f"{label} is no number", about)
    return passed(label, about) if met else failed(label, about=about, place=place)


def attack_surface(host: HostFacts) -> Iterator[dict[str, Any]]:
    """The listening sockets of a host with their purpose, as the table of the attack surface."""
    try:
        rows = listening(host)
    except (UnreadableError, AbsentFactError):
        return
    for row in rows:
        entry = purpose(row["port"], row.get("process"))
        yield {
            "host": host.host,
            "protocol": str(row.get("protocol", "TCP")),
            "port": row["port"],
            "purpose": entry.purpose if entry else str(row.get("purpose") or ""),
            "process": row.get("process"),
            "user": row.get("user"),
            "interface": row.get("address"),
            "open_by_default": entry.open if entry else "",
        }


def _without(result: Result, secrets: frozenset[str]) -> Result:
    """A result from whose texts the secrets of the configuration are removed."""
    texts = ("about", "observed", "remedy", "place")
    changed = {}
    for name in texts:
        text = getattr(result, name)
        for secret in secrets:
            text = text.replace(secret, MASK)
        changed[name] = text
    return replace(result, **changed)
