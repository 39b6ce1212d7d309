"""Options of one kind among several: ``{kind: NAME, ...}``, or the name alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from windtunnel.cluster import blame


def options_of_kind(
    given: object, registry: Mapping[str, type[BaseModel]], noun: str
) -> dict[str, Any]:
    """``given`` as a mapping, if its kind is known and has all of its keys.

    Looked at before pydantic does, for good messages: a union would answer with the keys of
    all of its members together.
    """
    options: dict[str, Any] = dict(given) if isinstance(given, dict) else {"kind": given}
    kind = options.get("kind")
    where = ("kind",) if isinstance(given, dict) and "kind" in given else ()
    if not isinstance(kind, str) or kind not in registry:
        said = "the key 'kind' is missing" if kind is None else f"there is no {noun} '{kind}'"
        raise blame(said, *where, remedy=f"the {noun}s are: {', '.join(registry)}.")
    known = [name for name in registry[kind].model_fields if name != "kind"]
    for key in options:
        if key != "kind" and key not in known:
            has = f"it has: {', '.join(known)}" if known else "it has none"
            raise blame(f"the {noun} {kind} has no option '{key}'", key, remedy=f"{has}.")
    return options
