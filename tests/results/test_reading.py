"""Reading stored records: schema first, then what is wrong, always with the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field

from windtunnel.errors import ResultsError
from windtunnel.results.reading import RESTORE, read_record

SCHEMA = "windtunnel.note/1"


class Note(BaseModel):
    schema_: str = Field(default=SCHEMA, alias="schema")
    text: str
    lines: list[int] = []

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


def stored(folder: Path, text: str) -> Path:
    file = folder / "note.json"
    file.write_text(text)
    return file


def test_a_record_is_read(tmp_path: Path) -> None:
    file = stored(tmp_path, Note(text="x").model_dump_json(by_alias=True))
    assert read_record(file, Note, SCHEMA) == Note(text="x")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"schema": "windtunnel.note/1"}', "text: Field required"),
        ('{"schema": "windtunnel.note/1", "text": "x", "lines": [1, "a"]}', "lines.1: Input"),
        ('{"schema": "windtunnel.note/1", "te', "Unterminated string"),
        ("[]", "it does not contain a JSON object"),
        ("", "Expecting value"),
    ],
)
def test_a_damaged_file_is_named_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    file = stored(tmp_path, text)
    with pytest.raises(ResultsError) as caught:
        read_record(file, Note, SCHEMA)
    assert caught.value.message.startswith(f"{file} cannot be read: {reason}")
    assert "\n" not in caught.value.message
    assert caught.value.remedy == RESTORE


def test_a_missing_file_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="cannot be read: No such file"):
        read_record(tmp_path / "none.json", Note, SCHEMA, remedy="look elsewhere.")
    (tmp_path / "raw.json").write_bytes(b'{"text": "\xff"}')
    with pytest.raises(ResultsError, match=r"raw\.json cannot be read"):
        read_record(tmp_path / "raw.json", Note, SCHEMA)


@pytest.mark.parametrize("more", [{}, {"colour": "red"}])
def test_another_schema_is_the_reason_whatever_the_fields(
    tmp_path: Path, more: dict[str, str]
) -> None:
    text = json.dumps({"schema": "windtunnel.note/9", "text": "x", **more})
    with pytest.raises(ResultsError, match=r"has schema 'windtunnel\.note/9'; this version reads"):
        read_record(stored(tmp_path, text), Note, SCHEMA)


def test_a_record_without_a_schema_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="has schema None"):
        read_record(stored(tmp_path, '{"text": "x"}'), Note, SCHEMA)
