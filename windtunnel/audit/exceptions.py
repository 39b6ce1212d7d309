"""Declared exceptions: FAILs that are accepted, each with a reason and an end date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from windtunnel.audit.check import checks
from windtunnel.audit.result import OPENSCAP, PROBED, SSH, Result, Status
from windtunnel.cluster.schema_paths import suggest
from windtunnel.cluster.yamlfile import load_yaml, validate

Pattern = Annotated[str, Field(min_length=1)]


class Exceptional(BaseModel):
    """One exception: a check, a subject and a part of it (patterns with ``*``)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    check: Pattern
    subject: Pattern = "*"
    about: Pattern = "*"
    reason: Annotated[str, Field(min_length=8)]
    until: dt.date

    def covers(self, result: Result) -> bool:
        """Whether it is about a result."""
        pairs = (
            (result.check, self.check),
            (result.subject, self.subject),
            (result.about, self.about),
        )
        return all(fnmatchcase(value, pattern) for value, pattern in pairs)


class ExceptionFile(BaseModel):
    """A file of exceptions."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    exceptions: tuple[Exceptional, ...]


def read_exceptions(path: Path | str) -> tuple[Exceptional, ...]:
    """The exceptions of a file.

    Raises
    ------
    DescriptionError
        If the file cannot be read, lacks a reason or a date, or names no check.
    """
    located = load_yaml(path)
    found = validate(ExceptionFile, located).exceptions
    known = [*(check.id for check in checks()), PROBED, SSH]
    for place, one in enumerate(found):
        # the checks of OpenSCAP are those of its content
        if one.check.startswith(OPENSCAP):
            continue
        if not any(fnmatchcase(name, one.check) for name in known):
            raise located.error(
                f"there is no check '{one.check}'",
                "exceptions",
                place,
                "check",
                remedy=suggest(one.check, known, "check"),
            )
    return found


def applied(
    results: Iterable[Result], exceptions: Sequence[Exceptional], today: dt.date
) -> tuple[list[Result], list[str]]:
    """Results with their exceptions, and a note for each exception that is over or not needed."""
    used: set[int] = set()
    found = []
    for result in results:
        covering = [
            place
            for place, one in enumerate(exceptions)
            if result.status is Status.FAIL and one.covers(result)
        ]
        used.update(covering)
        valid = [exceptions[place] for place in covering if exceptions[place].until >= today]
        found.append(
            result.excepted(f"{valid[0].reason} (until {valid[0].until})") if valid else result
        )
    notes = [
        f"the exception for {one.check} ended on {one.until}"
        for one in exceptions
        if one.until < today
    ]
    notes += [
        f"the exception for {one.check} is not needed: nothing that it covers fails"
        for place, one in enumerate(exceptions)
        if place not in used and one.until >= today
    ]
    return found, notes
