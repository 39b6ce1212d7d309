"""The result of one check on one subject, and the score of an area."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

Severity = Literal["critical", "high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low")
WEIGHTS: dict[Severity, int] = {"critical": 10, "high": 5, "medium": 3, "low": 1}
AREAS: dict[str, str] = {
    "host": "Host tuning",
    "hadoop": "Hadoop settings",
    "security": "Security of the cluster",
    "surface": "Attack surface",
    "openscap": "Security of the hosts",
}


class Status(StrEnum):
    """PASS, FAIL, UNKNOWN (could not be read) or NOT APPLICABLE."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"
    NOT_APPLICABLE = "NOT APPLICABLE"


PROBED, SSH, OPENSCAP = "probe-open", "host-facts", "oscap-"
"""Checks that no rule makes: of requests to ports, of hosts by SSH, and the first letters of those
of OpenSCAP."""


@dataclass(frozen=True)
class Outcome:
    """What a rule found: status, what it is about, and what replaces the texts of the check."""

    status: Status
    observed: str
    about: str = ""
    remedy: str = ""
    place: str = ""
    severity: Severity | None = None


def passed(observed: str, about: str = "") -> Outcome:
    """An outcome that is as expected."""
    return Outcome(Status.PASS, observed, about)


def failed(
    observed: str,
    remedy: str = "",
    *,
    about: str = "",
    place: str = "",
    severity: Severity | None = None,
) -> Outcome:
    """An outcome that is not as expected; what is not given is taken from the check."""
    return Outcome(Status.FAIL, observed, about, remedy, place, severity)


def unknown(why: str, about: str = "") -> Outcome:
    """Something could not be read."""
    return Outcome(Status.UNKNOWN, why, about)


def not_applicable(why: str, about: str = "") -> Outcome:
    """The check does not concern the subject."""
    return Outcome(Status.NOT_APPLICABLE, why, about)


@dataclass(frozen=True)
class Result:
    """One check on one subject (a host, a configuration directory).

    ``about`` is the part of the subject: a disk, a property. ``exception`` is the reason of a
    declared exception, which removes a FAIL from the score.
    """

    check: str
    area: str
    severity: Severity
    subject: str
    about: str
    status: Status
    question: str
    observed: str
    expected: str
    reason: str
    source: str
    remedy: str
    gains: tuple[str, ...] = ()
    place: str = ""
    exception: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the result in another audit."""
        return self.check, self.subject, self.about

    @property
    def counts(self) -> bool:
        """Whether it is a FAIL without an exception."""
        return self.status is Status.FAIL and not self.exception

    def excepted(self, reason: str) -> Result:
        """The result with an exception."""
        return replace(self, exception=reason)

    def plain(self) -> dict[str, Any]:
        """The result as data of JSON."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return data | {"status": str(self.status), "gains": list(self.gains)}


@dataclass(frozen=True)
class Score:
    """The results of one area. ``percent`` is None if nothing could be judged."""

    area: str
    passed: int
    failed: int
    unknown: int
    not_applicable: int
    excepted: int
    percent: float | None


def score(area: str, results: Iterable[Result]) -> Score:
    """Weight of PASS by weight of PASS and FAIL (10 critical, 5 high, 3 medium, 1 low)."""
    own = [one for one in results if one.area == area]
    good = sum(WEIGHTS[one.severity] for one in own if one.status is Status.PASS)
    bad = sum(WEIGHTS[one.severity] for one in own if one.counts)
    return Score(
        area,
        sum(one.status is Status.PASS for one in own),
        sum(one.counts for one in own),
        sum(one.status is Status.UNKNOWN for one in own),
        sum(one.status is Status.NOT_APPLICABLE for one in own),
        sum(bool(one.exception) for one in own),
        100.0 * good / (good + bad) if good + bad else None,
    )


def scores(results: Sequence[Result]) -> list[Score]:
    """The areas that have results, the lowest score first, those without a score last."""
    found = [score(area, results) for area in AREAS if any(one.area == area for one in results)]
    return sorted(found, key=lambda one: 101.0 if one.percent is None else one.percent)


def worst_first(results: Iterable[Result]) -> list[Result]:
    """The FAILs without an exception by severity, then by area and check."""
    order = list(AREAS)
    return sorted(
        (one for one in results if one.counts),
        key=lambda one: (SEVERITIES.index(one.severity), order.index(one.area), one.key),
    )
