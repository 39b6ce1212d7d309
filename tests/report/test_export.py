"""JSON, CSV and Parquet: the promised shape, whole files or none, and the terminal report."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.errors import ResultsError, StorageFullError
from windtunnel.report.export import to_json, write_csv, write_parquet
from windtunnel.report.terminal import print_report
from windtunnel.results.folder import read_results

SHAPE = {
    "cells": "treatment workload phase metric unit n mean median sd cv ci_low ci_high",
    "effects": "factor level baseline phase metric absolute relative ci_low ci_high ci_scale",
    "trials": "id round treatment verdict reason",
    "warnings": "id severity text advice",
}


@pytest.fixture
def analysis(tmp_path: Path) -> Analysis:
    plan = Plan(trials=6, invalid=(4,), write_samples=False)
    return analyse(read_results(study_folder(tmp_path / "study", plan)))


def rendered(analysis: Analysis, **options: object) -> str:
    out = io.StringIO()
    print_report(analysis, Console(file=out, width=110, **options))  # type: ignore[arg-type]
    return out.getvalue()


def test_json_has_the_promised_shape(analysis: Analysis):
    data = json.loads(json.dumps(to_json(analysis), allow_nan=False))
    assert data["study"]["name"] == "synthetic study"
    for key, fields in SHAPE.items():
        assert data[key], key
        for row in data[key]:
            assert set(fields.split()) <= set(row)


def test_an_unknown_spread_is_null_in_json(tmp_path: Path):
    plan = Plan(trials=2, write_samples=False)
    data = to_json(analyse(read_results(study_folder(tmp_path, plan))))
    assert all(cell["sd"] is None and cell["ci_low"] is None for cell in data["cells"])


def test_csv_and_parquet_hold_every_number(analysis: Analysis, tmp_path: Path):
    write_csv(analysis, tmp_path / "long.csv")
    write_parquet(analysis, tmp_path / "long.parquet")
    with (tmp_path / "long.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(analysis.observations)
    assert {"trial", "phase", "metric", "unit", "value", "verdict", "factor_settings"} <= set(
        rows[0]
    )
    query = f"""SELECT count(*), sum(value) FILTER (metric = 'elapsed' AND phase <> 'total'),
        sum(value) FILTER (metric = 'elapsed' AND phase = 'total')
        FROM '{tmp_path / "long.parquet"}'"""
    count, parts, totals = duckdb.execute(query).fetchall()[0]
    assert count == len(rows)
    assert parts == pytest.approx(totals)
    assert {row["verdict"] for row in rows} == {"valid", "invalid"}


def test_a_full_disk_is_named_and_the_old_file_stays(
    analysis: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    target = tmp_path / "long.csv"
    target.write_text("old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("windtunnel.durable.os.fsync", full)
    with pytest.raises(StorageFullError, match="No space left"):
        write_csv(analysis, target)
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["long.csv", "study"]


def test_a_path_that_cannot_be_written_is_a_results_error(analysis: Analysis, tmp_path: Path):
    with pytest.raises(ResultsError, match="cannot be written"):
        write_csv(analysis, tmp_path / "missing" / "long.csv")
    with pytest.raises(ResultsError, match="it is a folder"):
        write_parquet(analysis, tmp_path)


def test_the_terminal_report_begins_with_the_answer(analysis: Analysis):
    text = rendered(analysis)
    assert text.strip().startswith("terasort takes")
    for words in (
        "Effects on elapsed time",
        "Elapsed time by phase",
        "Invalid trials",
        "what to do",
    ):
        assert words in text
    assert text.index("Effects on") < text.index("Elapsed time by") < text.index("Warnings")


def test_no_escape_codes_without_a_terminal_or_with_no_color(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
):
    assert "\x1b" not in rendered(analysis)
    assert "\x1b[" in rendered(analysis, force_terminal=True, color_system="standard")
    monkeypatch.setenv("NO_COLOR", "1")
    colours = ("\x1b[31", "\x1b[33", "\x1b[36", "\x1b[1;31")
    text = rendered(analysis, force_terminal=True)
    assert not any(code in text for code in colours)


def test_square_brackets_in_names_are_text_and_no_markup(tmp_path: Path):
    plan = Plan(trials=4, levels=("[red]a[/red]", "b"), write_samples=False)
    folder = study_folder(tmp_path, plan)
    assert "[red]a[/red]" in rendered(analyse(read_results(folder)))
