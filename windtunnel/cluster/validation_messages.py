"""pydantic's validation errors in plain English, each with the key in the user's file.

A validator that knows the key of the error raises :func:`blame`; all other messages are
derived from pydantic's error types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from windtunnel.cluster.schema_paths import Key, known_keys, nearest, suggest, types_at

_BLAME = "blame"


@dataclass(frozen=True)
class Complaint:
    """One error: its path, the message and the remedy.

    ``instead_of`` is the key that was probably intended by an unknown key: if that key is also
    missing, there is only one mistake.
    """

    loc: tuple[Key, ...]
    message: str
    remedy: str = ""
    instead_of: tuple[Key, ...] | None = None


def blame(message: str, *loc: Key, remedy: str = "") -> PydanticCustomError:
    """An error for a model validator, located at ``loc`` below the validated model."""
    context = {"message": message, "loc": loc, "remedy": remedy}
    return PydanticCustomError(_BLAME, "{message}", context)


def complaints(model: type[BaseModel], data: Any, error: ValidationError) -> list[Complaint]:
    """All complaints of ``error``, one per key, because a union reports each of its members.

    If another member of the union accepts the kind of the value and rejects a part of it, only the
    part is reported.
    """
    found: dict[tuple[Key, ...], Complaint] = {}
    types: set[tuple[Key, ...]] = set()
    for details in error.errors(include_url=False):
        complaint = _complaint(model, data, details)
        if details["type"] in _CONTAINERS:
            types.add(complaint.loc)
        if details["type"] != "too_short" or not _below(complaint.loc, found):
            found.setdefault(complaint.loc, complaint)
    found = {loc: c for loc, c in found.items() if loc not in types or not _below(loc, found)}
    misspelt = {c.instead_of for c in found.values() if c.instead_of is not None}
    return [c for c in found.values() if c.loc not in misspelt]


def _below(loc: tuple[Key, ...], found: Iterable[tuple[Key, ...]]) -> bool:
    """Whether there is an error below ``loc``: pydantic does not count a list's wrong items."""
    return any(other[: len(loc)] == loc and other != loc for other in found)


def _complaint(model: type[BaseModel], data: Any, details: ErrorDetails) -> Complaint:
    loc = _real(details["loc"], data, keep_last=details["type"] == "missing")
    context = details.get("ctx", {})
    if details["type"] == _BLAME:
        return Complaint((*loc, *context["loc"]), context["message"], context["remedy"])
    if details["type"] == "missing":
        return _missing(loc)
    if details["type"] == "extra_forbidden":
        known = known_keys(types_at(model, loc[:-1]))
        return _unknown(loc, known)
    if details["type"] in ("literal_error", "enum"):
        return _not_one_of(loc, str(context["expected"]), details["input"])
    say = _MESSAGES.get(details["type"])
    if say is not None:
        message, remedy = say(context)
        given = "" if details["type"] == "too_short" else f", not {shown(details['input'])}"
        return Complaint(loc, f"{message}{given}", remedy)
    return Complaint(loc, _sentence(details["msg"]))


def _real(loc: tuple[Key, ...], data: Any, *, keep_last: bool) -> tuple[Key, ...]:
    """``loc`` without the parts that pydantic adds (union members, ``[key]``)."""
    path: list[Key] = []
    for position, part in enumerate(loc):
        last = position == len(loc) - 1
        in_list = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if in_list or (isinstance(data, dict) and part in data):
            data = data[part]
        elif not (keep_last and last):
            continue
        path.append(part)
    return tuple(path)


def _unknown(loc: tuple[Key, ...], known: list[str]) -> Complaint:
    word = str(loc[-1])
    near = nearest(word, known)
    meant = None if near is None else (*loc[:-1], near)
    return Complaint(loc, f"unknown key '{word}'", suggest(word, known), meant)


def _missing(loc: tuple[Key, ...]) -> Complaint:
    remedy = f"add a line '{loc[-1]}: ...'"
    return Complaint(loc, f"the key '{loc[-1]}' is missing", remedy)


def _not_one_of(loc: tuple[Key, ...], expected: str, given: object) -> Complaint:
    names = [name.strip("' ") for part in expected.split(" or ") for name in part.split(",")]
    near = nearest(str(given), names)
    remedy = f"did you mean '{near}'?" if near else ""
    return Complaint(loc, f"must be one of {', '.join(names)}, not {shown(given)}", remedy)


def shown(value: object) -> str:
    """A value as the user wrote it, shortened."""
    if isinstance(value, (dict, list, tuple)):
        return "a list" if not isinstance(value, dict) else "a mapping"
    if value is None:
        return "an empty value"
    text = str(value).lower() if isinstance(value, bool) else str(_number(value))
    text = text if len(text) <= 60 else text[:57] + "..."
    return f"'{text}'" if isinstance(value, str) else text


def _sentence(message: str) -> str:
    """pydantic's own message without its prefix."""
    message = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


_Say = Callable[[dict[str, Any]], tuple[str, str]]


def _fixed(message: str, remedy: str = "") -> _Say:
    return lambda context: (message, remedy)


def _bound(words: str, name: str) -> _Say:
    return lambda context: (f"must be {words} {_number(context[name])}", "")


def _number(value: Any) -> Any:
    """A number as it is written: 0 and not 0.0."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return int(value) if whole else value


_LETTERS = "use letters, digits, '.', '_' and '-', and begin with a letter or digit"
_WHOLE = _fixed("must be a whole number")
_MAPPING = _fixed("must be a mapping (lines of 'key: value')", "indent its keys below it")
_LIST = _fixed("must be a list", "write one item per line, each after '- '")
_CONTAINERS = ("dict_type", "list_type", "tuple_type")
_MESSAGES: dict[str, _Say] = {
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _fixed("must be a number"),
    "float_parsing": _fixed("must be a number"),
    "finite_number": _fixed("must be a finite number"),
    "bool_type": _fixed("must be true or false"),
    "bool_parsing": _fixed("must be true or false"),
    "string_type": _fixed("must be a text", "put it in quotes"),
    "string_too_short": _fixed("must not be empty"),
    "string_too_long": lambda context: (
        f"must have at most {context['max_length']} characters",
        "",
    ),
    "string_pattern_mismatch": lambda context: (
        f"must match the pattern {context['pattern']}",
        _LETTERS if "A-Z" in context["pattern"] else "use lower-case letters, digits and hyphens",
    ),
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "greater_than": _bound("more than", "gt"),
    "greater_than_equal": _bound("at least", "ge"),
    "less_than": _bound("less than", "lt"),
    "less_than_equal": _bound("at most", "le"),
    "too_short": lambda context: (
        f"the number of items must be at least {context['min_length']}",
        "",
    ),
}
