"""Overriding parts of a description by path: ``hosts.worker.count=5``.

A path is the sequence of keys from the top, joined by dots; a number is an index into a list
(from 0). Below a mapping from names to plain values, the remaining path is one name, so that
``settings.mapreduce.task.io.sort.mb`` needs no quotes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel

from windtunnel.cluster.description import Cluster
from windtunnel.cluster.schema_paths import Key, dotted, known_keys, members, nearest, types_at
from windtunnel.cluster.yamlfile import Located, load_text, validate
from windtunnel.errors import DescriptionError

M = TypeVar("M", bound=BaseModel)
_CONTAINERS = {dict, list, tuple}


def parse_assignment(text: str, model: type[BaseModel] = Cluster) -> tuple[str, Any]:
    """``hosts.worker.count=5`` -> ("hosts.worker.count", 5); the value is read as YAML.

    If ``model`` requires a text at the path, the value is not parsed as YAML ("3.10").

    Raises
    ------
    DescriptionError
        No ``=``, no path, or a value that is not YAML.
    """
    path, equals, value = text.partition("=")
    path = path.strip()
    if not equals or not path:
        raise DescriptionError(
            f"'{text}' is not an assignment", remedy="write PATH=VALUE: hosts.worker.count=5"
        )
    keys: list[Key] = [int(part) if part.isdigit() else part for part in path.split(".")]
    if types_at(model, keys) == [str]:
        return path, value.strip()
    try:
        return path, load_text(f"value: {value}").data["value"]
    except DescriptionError as error:
        raise DescriptionError(
            f"the value '{value}' cannot be read: {error.message}",
            key=path,
            remedy="put the value in quotes",
        ) from None


def split_path(model: type[BaseModel], data: Mapping[str, Any], path: str) -> tuple[Key, ...]:
    """The keys of ``path`` in ``data``, which is (or will be) a ``model``.

    Raises
    ------
    DescriptionError
        ``model`` has no such path, or ``data`` has no such host class or list item; the remedy
        names the nearest path.
    """
    parts = path.split(".")
    keys: tuple[Key, ...] = ()
    types: list[Any] = [model]
    here: Any = data
    for position, part in enumerate(parts):
        if _maps_names_to_values(types):
            return (*keys, _name(path, ".".join(parts[position:])))
        key = _step(path, keys, types, here, part)
        keys = (*keys, key)
        types = types_at(model, keys)
        here = _get(here, key)
    return keys


def override_model(model: M, overrides: Mapping[str, Any], *, name: str = "") -> M:
    """A copy of ``model`` with the values at the paths replaced; None makes a value unknown.

    ``name`` is the name of the changes in messages; without it, messages list them.

    Raises
    ------
    DescriptionError
        An unknown path, or a result that the model's checks reject.
    """
    data: dict[str, Any] = model.model_dump(mode="json", exclude_none=True, by_alias=True)
    for path, value in overrides.items():
        _set(data, split_path(type(model), data, path), _plain(value))
    try:
        return validate(type(model), Located(data))
    except DescriptionError as error:
        if not overrides or error.key in overrides:
            raise
        changes = name or ", ".join(f"{p}={yaml_text(v)}" for p, v in overrides.items())
        raise DescriptionError(
            f"{error.message} (after {changes})", remedy=error.remedy, key=error.key
        ) from None


def apply_overrides(cluster: Cluster, overrides: Mapping[str, Any], *, name: str = "") -> Cluster:
    """The cluster of a treatment: see :func:`override_model`."""
    return override_model(cluster, overrides, name=name)


def yaml_text(value: Any) -> str:
    """A value as YAML in one line, as on the command line."""
    plain = _plain(value)
    if isinstance(plain, dict):
        return f"{{{', '.join(f'{key}: {yaml_text(one)}' for key, one in plain.items())}}}"
    if isinstance(plain, list):
        return f"[{', '.join(map(yaml_text, plain))}]"
    if plain is None:
        return "null"
    return str(plain).lower() if isinstance(plain, bool) else str(plain)


def get_path(model: BaseModel, path: str) -> Any:
    """The value at ``path`` as plain data with units; None if it is unknown.

    Raises
    ------
    DescriptionError
        An unknown path.
    """
    data: Any = model.model_dump(mode="json", exclude_none=True, by_alias=True)
    for key in split_path(type(model), data, path):
        data = _get(data, key)
    return data


def _maps_names_to_values(types: list[Any]) -> bool:
    """Whether these types are a mapping to plain values."""
    for annotation in types:
        if get_origin(annotation) is dict:
            below = members(get_args(annotation)[1])
            return not any(known_keys([t]) or get_origin(t) in (dict, list, tuple) for t in below)
    return False


def _name(path: str, name: str) -> str:
    if not name or name.startswith(".") or name.endswith("."):
        raise DescriptionError(
            f"the path '{path}' does not end with a name",
            key=path,
            remedy="write a path such as hosts.worker.count.",
        )
    return name


def _step(path: str, keys: tuple[Key, ...], types: list[Any], here: Any, part: str) -> Key:
    """The key for ``part`` below ``keys``."""
    known: list[str] = known_keys(types)
    if any(get_origin(t) in (list, tuple) for t in types):
        known = [str(i) for i in range(len(here or []))]
        if part in known:
            return int(part)
    elif any(get_origin(t) is dict for t in types):
        known = [str(key) for key in here or {}]
    if part in known:
        return part
    above = dotted(keys)
    if keys and types and not known_keys(types) and not _CONTAINERS & set(map(get_origin, types)):
        kind = "number" if type(here) in (int, float) else "value"
        raise DescriptionError(
            f"'{above}' is a {kind} and has no keys",
            key=path,
            remedy=f"write the path without '.{part}': {above}=VALUE",
        )
    near = nearest(part, known)
    if near is not None:
        remedy = f"did you mean '{dotted((*keys, near))}'? known here: {', '.join(known)}"
    elif known:
        remedy = f"known here: {', '.join(known)}"
    else:
        remedy = f"'{above}' is empty in this description; set all of it"
    where = f" of '{above}'" if above else ""
    raise DescriptionError(f"'{part}' is not a known key{where}", key=path, remedy=remedy)


def _get(here: Any, key: Key) -> Any:
    if isinstance(here, Mapping):
        return here.get(key)
    return here[key] if isinstance(here, list) and isinstance(key, int) else None


def _set(data: Any, keys: tuple[Key, ...], value: Any) -> None:
    """Replace the value at ``keys``; missing mappings are created."""
    for key in keys[:-1]:
        data = data.setdefault(key, {}) if isinstance(data, dict) else data[key]
    if value is None and isinstance(data, dict):
        data.pop(keys[-1], None)
    else:
        data[keys[-1]] = value


def _plain(value: Any) -> Any:
    """A copy of a value as plain data; a later override of a part of it changes only the copy."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True, by_alias=True)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def without_hardware(cluster: Cluster) -> Cluster:
    """The description without processors, memory, disks, NICs and network: on one machine."""
    none = {"cpu": None, "memory": None, "disks": None, "nics": None, "degraded": ()}
    hosts = {name: one.model_copy(update=none) for name, one in cluster.hosts.items()}
    return cluster.model_copy(update={"hosts": hosts, "network": None})
