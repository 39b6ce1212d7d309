"""Factors, their levels, the baseline, and the treatments that combinations of levels are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from windtunnel.cluster import Located
from windtunnel.errors import DescriptionError
from windtunnel.results.record import Treatment
from windtunnel.study.designs import Combination
from windtunnel.study.faults import FAULT, read_level
from windtunnel.study.file import StudyFile, blame, label_of, load_bundle, part

Levels = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Factor -> label -> what that level sets (path -> value)."""


def levels_of(file: StudyFile, located: Located) -> Levels:
    """The factors of a study file with what their levels set.

    Raises
    ------
    DescriptionError
        Fewer than two levels, the same level twice, an unknown bundle, or two factors that
        set the same path.
    """
    levels = {}
    for name, given in file.factors.items():
        with blame(located, "factors", name):
            levels[name] = _levels(name, given, located)
    _refuse_overlap(levels, located)
    return levels


def _levels(name: str, given: object, located: Located) -> dict[str, dict[str, Any]]:
    if isinstance(given, list):
        if name == FAULT:
            raise DescriptionError(
                "the levels of 'fault' need names",
                remedy="write 'none: {}' and 'NAME: {fault: {kind: ...}}' below it.",
            )
        found = {label_of(value): {name: value} for value in given}
        if len(found) != len(given):
            raise DescriptionError(f"factor '{name}' has the same level twice")
    else:
        assert isinstance(given, dict)
        found = {
            label_of(label): _expand(changes or {})
            | _fault(changes or {}, located, ("factors", name, str(label)))
            for label, changes in given.items()
        }
    if len(found) < 2:
        raise DescriptionError(
            f"factor '{name}' has {len(found)} level(s)",
            remedy="give at least two, or move the one into 'set'.",
        )
    return found


def _expand(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace ``bundle: NAME`` by the bundle's settings."""
    expanded: dict[str, Any] = {}
    for path, value in changes.items():
        if path == "bundle":
            lines = load_bundle(str(value)).settings
            expanded |= {f"settings.{name}": line.value for name, line in lines.items()}
        else:
            expanded[path] = value
    return expanded


def _fault(changes: Mapping[str, Any], located: Located, loc: tuple[str, ...]) -> dict[str, Any]:
    """The faults that a level sets, checked and with all of their options."""
    if FAULT not in changes:
        return {}
    own = part(located, *loc)
    try:
        return {FAULT: read_level(replace(own, data={FAULT: own.data[FAULT]}))}
    except DescriptionError as error:
        error.key = ".".join((*loc, error.key or FAULT))
        raise


def _refuse_overlap(levels: Levels, located: Located) -> None:
    """Two factors that set the same path would overwrite each other, and neither be true."""
    owner: dict[str, str] = {}
    for name, given in levels.items():
        for path in dict.fromkeys(path for changes in given.values() for path in changes):
            if path in owner:
                raise located.error(
                    f"the factors '{owner[path]}' and '{name}' both set '{path}'",
                    "factors",
                    name,
                    remedy="let each path be set by one factor only.",
                )
            owner[path] = name


def baseline_of(file: StudyFile, levels: Levels, located: Located) -> Combination:
    """The named baseline; a factor that is not named takes its first level.

    Raises
    ------
    DescriptionError
        If it names no factor or no level.
    """
    for name, label in file.baseline.items():
        with blame(located, "baseline", name):
            if name not in levels:
                raise DescriptionError(
                    f"the baseline names '{name}', which is no factor",
                    remedy=f"the factors are: {', '.join(levels) or 'none'}.",
                )
            if label not in levels[name]:
                raise DescriptionError(
                    f"factor '{name}' has no level '{label}'",
                    remedy=f"its levels are: {', '.join(levels[name])}.",
                )
    return {name: file.baseline.get(name, next(iter(given))) for name, given in levels.items()}


def treatment_of(combination: Combination, levels: Levels) -> Treatment:
    """The treatment of a combination of levels, with an id that can be a file's name."""
    changes: dict[str, Any] = {}
    for name, label in combination.items():
        changes |= levels[name][label]
    labels = list(combination.values())
    label = "_".join(labels) or "baseline"
    safe = "".join(c if c.isalnum() or c in "._-" else "-" for c in label)[:60]
    if safe != label or (len(labels) > 1 and label.count("_") >= len(labels)):
        # also where a label holds the joint: x + y_z and x_y + z are two treatments
        safe += "-" + hashlib.sha256("\0".join(labels).encode()).hexdigest()[:6]
    return Treatment(id=safe, levels=combination, overrides=changes)
