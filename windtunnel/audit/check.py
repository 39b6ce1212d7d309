"""Checks as data: the schema of their YAML, and the evaluation of what they read.

A check reads a fact, a kernel parameter, a property or the outcomes of a rule (a function in
:mod:`windtunnel.audit.rules`), and compares it with what is expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from windtunnel.audit.configuration import number_of
from windtunnel.audit.result import Severity
from windtunnel.cluster.yamlfile import load_text, validate

Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
Text = Annotated[str, Field(min_length=3)]
Scalar = str | int | float | bool


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Expected(_Data):
    """What a value must be; all statements must hold."""

    equals: Scalar | None = None
    one_of: tuple[Scalar, ...] = ()
    not_one_of: tuple[Scalar, ...] = ()
    least: float | None = None
    most: float | None = None
    matches: str | None = None
    lacks: str | None = None

    def met(self, value: Any) -> bool | None:
        """Whether a value is as expected; None if a number is required and it is none."""
        text = _text(value)
        if self.least is not None or self.most is not None:
            number = number_of(text)
            if number is None:
                return None
            if self.least is not None and number < self.least:
                return False
            if self.most is not None and number > self.most:
                return False
        if self.equals is not None and text != _text(self.equals):
            return False
        if self.one_of and text not in map(_text, self.one_of):
            return False
        if text in map(_text, self.not_one_of):
            return False
        if self.matches is not None and not re.search(self.matches, text):
            return False
        return self.lacks is None or not re.search(self.lacks, text)

    def stated(self) -> str:
        """The expectation in words."""
        words = []
        if self.equals is not None:
            words.append(_text(self.equals))
        if self.one_of:
            words.append(" or ".join(_text(one) or "(empty)" for one in self.one_of))
        if self.not_one_of:
            words.append("not " + " or ".join(_text(one) or "(empty)" for one in self.not_one_of))
        words += [f"at least {self.least:g}"] if self.least is not None else []
        words += [f"at most {self.most:g}"] if self.most is not None else []
        words += [f"contains {self.matches}"] if self.matches is not None else []
        words += [f"without {self.lacks}"] if self.lacks is not None else []
        return ", ".join(words)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(_text(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


class Read(_Data):
    """How a check gets its value. Exactly one of the first four is given.

    ``key`` is the part of a fact; ``where`` selects the entries of a fact that is a list, each of
    which is judged by itself under its ``name``. ``column`` selects one of several numbers of a
    kernel parameter, counted from 0.
    """

    fact: str | None = None
    sysctl: str | None = None
    property: str | None = None
    rule: str | None = None
    key: str | None = None
    name: str | None = None
    where: Mapping[str, Expected] = Field(default_factory=dict)
    column: int | None = None


class Condition(_Data):
    """A check applies only if what is read is as expected."""

    read: Read
    expected: Expected


class Check(_Data):
    """One check. ``versions`` are those of Hadoop to which it applies, such as ``>=3.0``."""

    id: Id
    area: str
    severity: Severity
    question: Text
    read: Read
    expected: Expected = Expected()
    expects: str = ""
    only_if: tuple[Condition, ...] = ()
    cluster_only: bool = True
    versions: str = ""
    reason: Text
    source: Text
    remedy: Text
    gains: tuple[str, ...] = ()

    @field_validator("versions")
    @classmethod
    def _is_range(cls, text: str) -> str:
        if text:
            in_range("", text)
        return text

    @property
    def on_hosts(self) -> bool:
        """Whether the subject is a host and not a configuration."""
        return self.area in ("host", "surface")


class CheckFile(_Data):
    """One file of checks."""

    area: str
    checks: tuple[Mapping[str, Any], ...]


@cache
def checks() -> tuple[Check, ...]:
    """All checks of the catalogue, in the order of the files."""
    folder = resources.files("windtunnel.catalogue").joinpath("audit", "checks")
    found: list[Check] = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.name.endswith(".yaml"):
            located = load_text(entry.read_text(encoding="utf-8"), f"catalogue/audit/{entry.name}")
            data = validate(CheckFile, located)
            found += [Check.model_validate({"area": data.area, **one}) for one in data.checks]
    return tuple(found)


_RANGE = re.compile(r"(>=|<=|<|>|==)\s*(\d+(?:\.\d+)*)")


def in_range(version: str, wanted: str, least: str = "") -> bool | None:
    """Whether a version is in a range such as ``>=3.0,<3.5``; None if that is unknown.

    Of an unknown version, ``least`` can be known: the version is that one or a later one.

    Raises
    ------
    ValueError
        If ``wanted`` is no range.
    """
    own, bounds = _numbers(version), list(_bounds(wanted))
    if own:
        return all(_holds(own, sign, _numbers(other)) for sign, other in bounds)
    lowest = _numbers(least)
    later = all(sign in (">=", ">") and _holds(lowest, sign, _numbers(o)) for sign, o in bounds)
    return True if lowest and later else None


def _bounds(wanted: str) -> Iterator[tuple[str, str]]:
    for part in wanted.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"'{wanted}' is no range of versions")
        yield match[1], match[2]


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def _holds(own: tuple[int, ...], sign: str, other: tuple[int, ...]) -> bool:
    own = own[: len(other)] + (0,) * (len(other) - len(own))
    return {
        ">=": own >= other,
        "<=": own <= other,
        ">": own > other,
        "<": own < other,
        "==": own == other,
    }[sign]
