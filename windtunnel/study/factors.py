"""Factors, their levels, the baseline, and the treatments made of combinations of levels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from windtunnel.cluster import Located
from windtunnel.errors import DescriptionError
from windtunnel.results.record import Treatment
from windtunnel.study.designs import Combination
from windtunnel.study.faults import FAULT, read_level
from windtunnel.study.file import StudyFile, blame, label_of, load_bundle, part
from windtunnel.workloads import find_workload

Levels = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Factor -> label -> values that the level sets (path -> value)."""


def levels_of(file: StudyFile, located: Located) -> Levels:
    """The factors of a study file with the values that their levels set.

    Raises
    ------
    DescriptionError
        If a factor has fewer than two levels, an empty one or the same level twice, a bundle is
        unknown, or a factor overwrites what an earlier one sets.
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
        if None in given:
            raise DescriptionError(
                f"level {given.index(None) + 1} of {name} is empty",
                remedy="write a value; a named level can make a value unknown: "
                f"'LABEL: {{{name}: null}}'.",
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
    """Replace ``bundle: NAME`` with its settings; the level's own lines take precedence."""
    own = {path: value for path, value in changes.items() if path != "bundle"}
    if "bundle" not in changes:
        return own
    lines = load_bundle(str(changes["bundle"])).settings
    return {f"settings.{name}": line.value for name, line in lines.items()} | own


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


def key_of(changes: Mapping[str, Any]) -> str:
    """A text that is equal for equal changes."""
    return json.dumps(changes, sort_keys=True, default=str)


def paths_of(levels: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The paths that the levels of a factor set, each once."""
    return list(dict.fromkeys(path for changes in levels.values() for path in changes))


def _refuse_overlap(levels: Levels, located: Located) -> None:
    """Raise an error if a factor overwrites what an earlier factor sets."""
    owner: dict[str, str] = {}
    for name, given in levels.items():
        paths = paths_of(given)
        for path in paths:
            other = next((one for one in owner if overwrites(path, one)), path)
            if other not in owner:
                continue
            if other == path:
                message = f"the factors '{owner[other]}' and '{name}' both set '{path}'"
                remedy = "set each path in one factor only."
            else:
                message = f"the factor '{name}' sets '{path}', which overwrites '{other}'"
                remedy = f"write '{name}' before '{owner[other]}', which sets a part of it."
            raise located.error(message, "factors", name, remedy=remedy)
        owner |= dict.fromkeys(paths, name)


def overwrites(later: str, earlier: str) -> bool:
    """Whether a path that is set later replaces what an earlier one set: itself or a part."""
    if later.startswith("settings."):  # the name of a property is no path
        return later == earlier
    return later == earlier or earlier.startswith(f"{later}.")


def refuse_fixed(levels: Levels, fixed: Mapping[str, Any], located: Located) -> None:
    """Raise an error if a factor overwrites a change of the command line."""
    for name, given in levels.items():
        for path in paths_of(given):
            own = next((one for one in fixed if overwrites(path, one)), None)
            if own is not None:
                raise located.error(
                    f"the factor '{name}' sets '{path}', so that the command line cannot set "
                    f"'{own}' for all treatments",
                    "factors",
                    name,
                    remedy="change the factor in the study file, or omit the option.",
                )


def refuse_no_parameter(path: str, workloads: Collection[str]) -> None:
    """Raise DescriptionError unless ``workloads.NAME.PARAMETER`` names a workload of the study."""
    _, _, rest = path.partition(".")
    name, _, parameter = rest.partition(".")
    if name not in workloads:
        raise DescriptionError(
            f"the path '{path}' refers to no workload of this study",
            remedy=f"the workloads are: {', '.join(workloads)}.",
        )
    if not parameter:
        known = find_workload(name).parameters_type.model_fields
        raise DescriptionError(
            f"the path '{path}' has no parameter",
            remedy=f"write workloads.{name}.PARAMETER: its parameters are {', '.join(known)}.",
        )


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
