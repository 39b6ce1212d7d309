"""Options that depend on a kind: ``{kind: NAME, ...}``, or only the name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from windtunnel.cluster.validation_messages import blame


def options_of_kind(
    given: object,
    registry: Mapping[str, Any],
    noun: str,
    type_of: Callable[[Any], type[BaseModel]] = lambda found: found,
) -> dict[str, Any]:
    """``given`` as a mapping, if its kind is known and has all of its keys.

    Looked at before pydantic does, for good messages: a union would answer with the keys of
    all of its members together. ``type_of`` gives the model of an entry's options; by default the
    entry is the model.
    """
    options: dict[str, Any] = dict(given) if isinstance(given, dict) else {"kind": given}
    kind = options.get("kind")
    where = ("kind",) if isinstance(given, dict) and "kind" in given else ()
    if not isinstance(kind, str) or kind not in registry:
        said = "the key 'kind' is missing" if kind is None else f"there is no {noun} '{kind}'"
        raise blame(said, *where, remedy=f"the {noun}s are: {', '.join(registry)}.")
    known = [name for name in type_of(registry[kind]).model_fields if name != "kind"]
    for key in options:
        if key != "kind" and key not in known:
            has = f"its options are: {', '.join(known)}" if known else "it has no options"
            raise blame(f"the {noun} {kind} has no option '{key}'", key, remedy=f"{has}.")
    return options
