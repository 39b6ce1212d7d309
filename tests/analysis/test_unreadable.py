"""Files beside the trials that are gone or damaged: the report says so, and what it lacks."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.built import Built, built, task
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.bottleneck.tails import tails
from windtunnel.analysis.bottleneck.utilisation import host_uses
from windtunnel.report.html import write_html
from windtunnel.report.terminal import print_report
from windtunnel.results.folder import read_results

WHOLE = Built(
    tasks=[task("MAP", 0, 1, 9)], samples={"this-machine": {"cpu_idle": 0.1, "cpu_iowait": 0.0}}
)


def warned(analysis: Analysis) -> list[str]:
    return [w.text for w in analysis.warnings if w.id == "records-unreadable"]


def three(path: Path) -> Path:
    built(path, [WHOLE, WHOLE, WHOLE])
    return path


def test_a_whole_folder_and_one_without_records_are_not_warned_about(tmp_path: Path) -> None:
    assert warned(analyse(read_results(three(tmp_path / "whole")))) == []
    assert warned(built(tmp_path / "bare", [Built(), Built()])) == []


@pytest.mark.parametrize(
    ("folder", "holds"), [("tasks", "task attempts"), ("samples", "host samples")]
)
def test_missing_and_damaged_files_are_named(tmp_path: Path, folder: str, holds: str) -> None:
    files = three(tmp_path) / folder
    (files / "t1.parquet").unlink()
    whole = (files / "t3.parquet").read_bytes()
    (files / "t3.parquet").write_bytes(whole[: len(whole) // 2])
    analysis = analyse(read_results(tmp_path))

    assert warned(analysis) == [f"the {holds} of 2 trials cannot be read: t1: missing, t3: damaged"]
    left = {t.trial for t in analysis.once(tails)} if folder == "tasks" else set()
    left |= {trial for trial, _ in analysis.once(host_uses)} if folder == "samples" else set()
    assert left == {"t2"}, "what is there is used, and what is not counts as unknown"


@pytest.mark.parametrize("text", ["[]", "{", "3", None])
def test_a_provenance_without_an_object_is_named(tmp_path: Path, text: str | None) -> None:
    file = three(tmp_path) / "provenance" / "cafe.json"
    file.unlink() if text is None else file.write_text(text)
    analysis = analyse(read_results(tmp_path))

    state = "missing" if text is None else "damaged"
    each = ", ".join(f"t{number}: {state}" for number in (1, 2, 3))
    each = each.replace(", t3", " and t3") if " and " in warned(analysis)[0] else each
    assert warned(analysis) == [f"the provenance of 3 trials cannot be read: {each}"]
    out = io.StringIO()
    print_report(analysis, Console(file=out, width=200))
    assert "the settings and the machine of these trials are unknown" in out.getvalue()
    write_html(analysis, analysis.results, tmp_path / "report.html")


def test_bytes_that_were_altered_within_a_file_are_damage(tmp_path: Path) -> None:
    """The foot of the file, which holds its schema, is whole."""
    file = three(tmp_path) / "tasks" / "t2.parquet"
    content = bytearray(file.read_bytes())
    content[4:200] = bytes(196)
    file.write_bytes(content)

    assert warned(analyse(read_results(tmp_path))) == [
        "the task attempts of 1 trial cannot be read: t2: damaged"
    ]


def test_files_of_trials_that_do_not_count_are_not_missed(tmp_path: Path) -> None:
    built(tmp_path, [WHOLE, Built(tasks=WHOLE.tasks, valid=False)])
    (tmp_path / "tasks" / "t2.parquet").unlink()
    assert warned(analyse(read_results(tmp_path))) == []


def test_the_terminal_says_it(tmp_path: Path) -> None:
    (three(tmp_path) / "tasks" / "t1.parquet").unlink()
    out = io.StringIO()
    print_report(analyse(read_results(tmp_path)), Console(file=out, width=200))
    assert "caution: the task attempts of 1 trial cannot be read: t1: missing" in out.getvalue()
