"""Factors, their levels, the baseline, and the treatments made of combinations of levels."""

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
"""Factor -> label -> values that the level sets (path -> value)."""


def levels_of(file: StudyFile, located: Located) -> Levels:
    """The factors of a study file with the values that their levels set.

    Raises
    ------
    DescriptionError
        If a factor has fewer than two levels or the same level twice, a bundle is unknown, or two
        factors set the same path.
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
                "the factor 'fault' needs named levels",
                remedy="write 'none: {}' and 'NAME: {fault: {kind: ...}}' as its levels.",
            )
        found = {label_of(value): {name: value} for value in given}
        if len(found) != len(given):
            raise DescriptionError(
                f"factor '{name}' has the same level twice", remedy="remove one of the two levels."
            )
    else:
        assert isinstance(given, dict)
        found = {
            label_of(label): _expand(changes or {})
            | _fault(changes or {}, located, ("factors", name, str(label)))
            for label, changes in given.items()
        }
    if len(found) < 2:
        raise DescriptionError(
            f"factor '{name}' has fewer than two levels",
            remedy="write at least two levels, or move the only one to 'set'.",
        )
    return found


def _expand(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace ``bundle: NAME`` with the settings of the bundle."""
    expanded: dict[str, Any] = {}
    for path, value in changes.items():
        if path == "bundle":
            lines = load_bundle(str(value)).settings
            expanded |= {f"settings.{name}": line.value for name, line in lines.items()}
        else:
            expanded[path] = value
    return expanded


def _fault(changes: Mapping[str, Any], located: Located, loc: tuple[str, ...]) -> dict[str, Any]:
    """The faults that a level sets, validated and with all their options."""
    if FAULT not in changes:
        return {}
    own = part(located, *loc)
    try:
        return {FAULT: read_level(replace(own, data={FAULT: own.data[FAULT]}))}
    except DescriptionError as error:
        error.key = ".".join((*loc, error.key or FAULT))
        raise


def _refuse_overlap(levels: Levels, located: Located) -> None:
    """Raise an error if two factors set the same path, because one would overwrite the other."""
    owner: dict[str, str] = {}
    for name, given in levels.items():
        for path in dict.fromkeys(path for changes in given.values() for path in changes):
            if path in owner:
                raise located.error(
                    f"the factors '{owner[path]}' and '{name}' both set '{path}'",
                    "factors",
                    name,
                    remedy="set each path in one factor only.",
                )
            owner[path] = name


def baseline_of(file: StudyFile, levels: Levels, located: Located) -> Combination:
    """The baseline; a factor that the file does not list there has its first level.

    Raises
    ------
    DescriptionError
        If the file lists an unknown factor or level.
    """
    for name, label in file.baseline.items():
        with blame(located, "baseline", name):
            if name not in levels:
                raise DescriptionError(
                    f"the baseline contains '{name}', which is not a factor",
                    remedy=f"the factors are: {', '.join(levels) or 'none'}.",
                )
            if label not in levels[name]:
                raise DescriptionError(
                    f"factor '{name}' has no level '{label}'",
                    remedy=f"its levels are: {', '.join(levels[name])}.",
                )
    return {name: file.baseline.get(name, next(iter(given))) for name, given in levels.items()}


def treatment_of(combination: Combination, levels: Levels) -> Treatment:
    """The treatment of a combination of levels, with an id that is a valid file name."""
    changes: dict[str, Any] = {}
    for name, label in combination.items():
        changes |= levels[name][label]
    labels = list(combination.values())
    label = "_".join(labels) or "baseline"
    safe = "".join(c if c.isalnum() or c in "._-" else "-" for c in label)[:60]
    if safe != label or (len(labels) > 1 and label.count("_") >= len(labels)):
        # also if a label contains the separator: x + y_z and x_y + z are different treatments
        safe += "-" + hashlib.sha256("\0".join(labels).encode()).hexdigest()[:6]
    return Treatment(id=safe, levels=combination, overrides=changes)
