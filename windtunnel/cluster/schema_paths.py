"""The types and keys that a pydantic model allows at a path, and the nearest known name."""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

Key = str | int


def members(annotation: Any) -> list[Any]:
    """The alternatives of an annotation, without ``None`` and ``Annotated``."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return members(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [m for part in get_args(annotation) for m in members(part)]
    return [] if annotation is type(None) else [annotation]


def _child(annotation: Any, key: Key) -> list[Any]:
    """The types one level below ``annotation``; empty if it has no such key."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            if key in (name, field.alias):
                return members(field.annotation)
        return []
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is dict:
        return members(arguments[1])
    if origin in (list, tuple) and isinstance(key, int):
        return members(arguments[0])
    return []


def types_at(root: Any, path: Sequence[Key]) -> list[Any]:
    """The types that ``root`` allows at ``path``; empty if the path does not exist."""
    found = members(root)
    for key in path:
        found = [child for annotation in found for child in _child(annotation, key)]
    return found


def known_keys(annotations: Iterable[Any]) -> list[str]:
    """The field names of all models among ``annotations``."""
    names: list[str] = []
    for annotation in annotations:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            names += [field.alias or name for name, field in annotation.model_fields.items()]
    return names


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name most similar to ``word``; None if no name is similar."""
    table = {name.lower(): name for name in known}
    match = difflib.get_close_matches(word.lower(), list(table), n=1, cutoff=0.6)
    return table[match[0]] if match else None


def suggest(word: str, known: Iterable[str], noun: str = "key") -> str:
    """A remedy for an unknown name: the nearest name if there is one, and all known names."""
    names = list(dict.fromkeys(known))
    near = nearest(word, names)
    several = re.sub("[^aeiou]y$", lambda end: f"{end[0][0]}ie", noun)
    several += "es" if several.endswith("s") else "s"
    listed = f"known {several}: {', '.join(names)}" if names else f"no {noun} is allowed here"
    return f"did you mean '{near}'? {listed}" if near else listed


def dotted(path: Iterable[Key]) -> str:
    """A path as in files and on the command line: ``hosts.worker.disks.0``."""
    return ".".join(str(part) for part in path)
