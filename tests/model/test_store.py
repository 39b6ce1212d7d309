"""Fit files with damaged numbers are refused with the key."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from windtunnel.errors import ResultsError
from windtunnel.model.constants import CONSTANTS
from windtunnel.model.store import read_fit, record, shipped_fit

SIZE = len(CONSTANTS)


def stored() -> dict[str, Any]:
    """The content of a valid fit file."""
    made: dict[str, Any] = json.loads(record(shipped_fit()).model_dump_json(by_alias=True))
    return made


def reason(folder: Path, data: Any) -> str:
    """Why a file with this content is not a fit."""
    file = folder / "f.json"
    file.write_text(json.dumps(data))
    with pytest.raises(ResultsError) as caught:
        read_fit(file)
    return caught.value.message.removeprefix(f"{file} is not a fit: ")


def test_the_stored_fit_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(json.dumps(stored()))
    assert read_fit(tmp_path / "f.json").origin == shipped_fit().origin


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("covariance", [], f"covariance: must have {SIZE} rows of {SIZE} numbers"),
        ("covariance", [[1.0]] * SIZE, f"covariance: must have {SIZE} rows"),
        ("covariance", "x", "covariance: must be a list"),
        ("freedom", 0, "freedom: must be more than 0, not 0"),
        ("freedom", float("nan"), "freedom: must be a finite number, not nan"),
        ("error", -1, "error: must be at least 0, not -1"),
        ("centre", [1.0], "centre: must have 12 numbers, not 1"),
        ("origin", None, "the key 'origin' is missing"),
        ("schema", "windtunnel.fit/9", "its schema is 'windtunnel.fit/9'"),
        ("colour", 1, "unknown key 'colour'"),
    ],
)
def test_a_damaged_key_is_named(tmp_path: Path, key: str, value: Any, why: str) -> None:
    data = stored()
    if value is None:
        del data[key]
    else:
        data[key] = value
    assert reason(tmp_path, data).startswith(why)


def test_a_covariance_has_variances_and_is_symmetric(tmp_path: Path) -> None:
    negative, skew, indefinite, unknown = stored(), stored(), stored(), stored()
    negative["covariance"][0][0] = -1.0
    skew["covariance"][0][1] += 1.0
    for row, column in ((0, 1), (1, 0)):
        indefinite["covariance"][row][column] = 1e3
    unknown["covariance"][2][2] = float("nan")

    assert reason(tmp_path, negative) == "covariance: a variance is negative"
    assert reason(tmp_path, skew) == "covariance: must be symmetric"
    assert reason(tmp_path, indefinite) == "covariance: a variance is negative"
    assert reason(tmp_path, unknown) == "covariance.2.2: must be a finite number, not nan"


def test_nested_keys_and_other_content(tmp_path: Path) -> None:
    infinite, short, absent = stored(), stored(), stored()
    infinite["constants"]["start"]["value"] = float("inf")
    short["points"][0]["features"].pop()
    del absent["constants"]["start"]["unit"]

    assert reason(tmp_path, infinite).startswith("constants.start.value: must be a finite number")
    assert reason(tmp_path, short) == "points.0.features: must have 12 numbers, not 11"
    assert reason(tmp_path, absent) == "constants.start: the key 'unit' is missing"
    assert reason(tmp_path, [1]) == "the top level must be a mapping"
    (tmp_path / "g.json").write_text("{")
    with pytest.raises(ResultsError, match=re.escape("g.json is not a fit: ")):
        read_fit(tmp_path / "g.json")
