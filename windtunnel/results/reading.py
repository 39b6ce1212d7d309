"""Reading stored records: schema checks, and errors with the file and the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from windtunnel.errors import ResultsError

RESTORE = "restore the file from a backup, or move it out of the folder."

_R = TypeVar("_R", bound=BaseModel)


def read_record(file: Path, model: type[_R], schema: str, remedy: str = RESTORE) -> _R:
    """A JSON file as a record.

    Parameters
    ----------
    file, model:
        The file and its model, which has a field ``schema_`` with the alias ``schema``.
    schema:
        The expected schema; a file with another schema, or without one, is refused.
    remedy:
        The remedy for a damaged file.

    Raises
    ------
    ResultsError
        If the file is damaged, or of another schema.
    """
    try:
        raw = file.read_bytes()
        try:
            found = model.model_validate_json(raw)
        except ValidationError:
            check_schema(file, _schema_of(raw), schema)  # may be the reason for other fields
            raise
    except (OSError, ValueError) as error:
        raise unreadable(file, error, remedy) from error
    given = "schema_" in found.model_fields_set
    check_schema(file, getattr(found, "schema_", None) if given else None, schema)
    return found


def check_schema(file: Path, found: object, known: str) -> None:
    """Raise ResultsError unless a file has the schema that this version reads."""
    if found != known:
        raise ResultsError(
            f"{file} has schema {found!r}; this version reads {known!r}",
            remedy="read it with the version of Windtunnel that wrote it.",
        )


def unreadable(file: Path, error: Exception, remedy: str = RESTORE) -> ResultsError:
    """The error for a damaged file, with the reason in one line."""
    return ResultsError(f"{file} cannot be read: {_reason(error)}", remedy=remedy)


def _schema_of(raw: bytes) -> object:
    document = json.loads(raw)
    if not isinstance(document, dict):
        raise ValueError("it does not contain a JSON object")
    return document.get("schema")


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        return f"{where}: {message}" if where else message
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).splitlines()[0] if str(error) else type(error).__name__
