"""Release lines of software: which are shipped, and which Java each needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windtunnel.errors import DescriptionError


@dataclass(frozen=True)
class Line:
    """A release line: the name of its lock file and the Java releases that it runs on.

    With ``own_java`` its JVMs do not use the cluster's Java but the first suitable one.
    """

    lock: str
    java_minimum: int
    java_maximum: int | None
    own_java: bool = False


def line_in(lines: Mapping[str, Line], what: str, version: str, path: str) -> Line:
    """The line of a version such as ``3.5`` or ``3.5.0``.

    Parameters
    ----------
    what:
        The software, for the message.
    path:
        Where a description gives the version.

    Raises
    ------
    DescriptionError
        If there is no such line.
    """
    found = lines.get(".".join(version.split(".")[:2]))
    if found is None:
        raise DescriptionError(
            f"{what} {version} is not supported; supported release lines: {', '.join(lines)}",
            remedy=f"write {path}: '{next(iter(lines))}'.",
        )
    return found
