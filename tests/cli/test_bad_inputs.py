"""Every bad input gets its exit code, its place, a remedy and no traceback.

The table is in ``bad_inputs.py``; ``python -m tests.cli.bad_inputs`` prints the answers.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.cli.bad_case import Bad, answer
from tests.cli.bad_inputs import CASES
from windtunnel.cli import UNEXPECTED, run
from windtunnel.probes import machine
from windtunnel.study import runner

# a line of advice, or a message that itself says what would be right
REMEDY = re.compile(
    r"what to do: |: write '|must be at least|must be more than|give either|Try '"
    r"|such as |write it like|must have at most"
)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_IDLE_WINDOW_S", 0.0)
    monkeypatch.setattr(runner, "machine_facts", lambda: {"machine": "mock"})


@pytest.mark.parametrize("case", CASES, ids=[case.id.replace(" ", "-") for case in CASES])
def test_a_bad_input_is_answered(case: Bad, tmp_path: Path) -> None:
    if case.root and os.geteuid() != 0:
        pytest.skip("needs root: it mounts a small file system")
    got = answer(case, tmp_path)

    assert got.code == case.code, got.text
    for part in case.says:
        assert part in got.text, got.text
    assert "Traceback" not in got.text
    assert "unexpected error" not in got.text
    assert REMEDY.search(got.text), f"what would be right? {got.text}"


def test_the_table_is_long_enough_and_its_names_differ() -> None:
    assert len(CASES) >= 20
    assert len({case.id for case in CASES}) == len(CASES)
    assert {case.code for case in CASES} == {2, 3, 4, 5, 6, 9, 15}
    assert UNEXPECTED not in {case.code for case in CASES}


def test_an_empty_name_of_a_study_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", ""]) == 3
    assert "the name of the study is empty" in capsys.readouterr().err
