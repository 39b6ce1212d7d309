"""The section "Observed jobs": the words about settings at a step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from windtunnel.analysis.analyse import analyse
from windtunnel.analysis.subjects.observed import associations
from windtunnel.report.sections.observed import section
from windtunnel.results.folder import Results
from windtunnel.results.record import (
    Phase,
    ProtocolRecord,
    StudyRecord,
    Treatment,
    Trial,
    Verdict,
)

DAY_S = 86_400.0
OLD, NEW = {"sort.mb": "100"}, {"sort.mb": "50"}


def run(day: int, known: bool) -> Trial:
    """A daily run; from the eleventh on, it takes half as long again."""
    late = day >= 10
    at, elapsed_s = day * DAY_S, (150.0 if late else 100.0) + day * 7 % 5
    phase = Phase(
        name="map", started_at=at, finished_at=at + elapsed_s, elapsed_s=elapsed_s, wall_s=elapsed_s
    )
    return Trial(
        id=f"t{day}",
        study_id="made-up",
        kind="observed",
        testbed="observed",
        workload="etl",
        treatment=Treatment(id="observed"),
        round=1,
        position=day + 1,
        started_at=at,
        finished_at=at + elapsed_s,
        verdict=Verdict(valid=True),
        phases=[phase],
        provenance=("late" if late else "early") if known else None,
    )


Settings = Mapping[str, str] | None


def made(path: Path, early: Settings, late: Settings) -> Results:
    """Daily runs with these settings before and after the step; None: unknown."""
    sides = {"early": early, "late": late}
    (path / "provenance").mkdir()
    for name, settings in sides.items():
        (path / "provenance" / f"{name}.json").write_text(json.dumps({"settings": settings}))
    study = StudyRecord(
        id="made-up",
        name="made up",
        kind="observed",
        testbed="observed",
        created_at=0.0,
        fingerprint="f00d",
        treatments=[Treatment(id="observed")],
        protocol=ProtocolRecord(rounds=1, seed=0, trial_time_limit_s=0.0),
    )
    trials = [run(day, sides["late" if day >= 10 else "early"] is not None) for day in range(20)]
    return Results(path, study, trials)


def sentence(path: Path, early: Settings, late: Settings) -> str:
    """What is said about the step."""
    found = section(analyse(made(path, early, late)))
    assert found is not None
    return found.said[0]


def test_a_setting_that_changed_is_named(tmp_path: Path) -> None:
    assert "settings that changed then: sort.mb from 100 to 50" in sentence(tmp_path, OLD, NEW)


def test_settings_that_stayed_are_stated(tmp_path: Path) -> None:
    assert "no setting changed at that time" in sentence(tmp_path, OLD, OLD)


@pytest.mark.parametrize(("early", "late"), [(None, None), (OLD, None), (None, NEW), ({}, NEW)])
def test_unknown_settings_are_not_called_unchanged(
    tmp_path: Path, early: Settings, late: Settings
) -> None:
    said = sentence(tmp_path, early, late)
    assert said.endswith("; the settings of these runs are unknown")


def test_runs_of_unknown_settings_have_no_association(tmp_path: Path) -> None:
    known = {**NEW, "io.mb": "1"}
    assert associations(made(tmp_path, None, known)) == []


def test_a_setting_that_some_known_runs_lack_has_an_association(tmp_path: Path) -> None:
    (found,) = associations(made(tmp_path, OLD, {**OLD, "io.mb": "1"}))
    assert (found.setting, {found.reference, found.value}) == ("io.mb", {None, "1"})
