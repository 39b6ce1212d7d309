"""Imported samples stand beside the trials: once, of one source, whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.powered import powered
from windtunnel.errors import ResultsError, UsageError
from windtunnel.results import power
from windtunnel.results.folder import Results
from windtunnel.results.power import PowerRecord, read_power
from windtunnel.study.journal import open_journal
from windtunnel.study.power_import import import_power
from windtunnel.study.record import study_record


def record(results: Results, group: str = "A", shift: float = 0.0, **change: Any) -> PowerRecord:
    """100 W every 10 s from before the first trial to after the last."""
    t = np.arange(results.trials[0].started_at, results.trials[-1].finished_at + 10, 10.0) + shift
    given: dict[str, Any] = {"kind": "metered", "source": "DCM", "stamp": "instant"}
    given |= {"period_s": 10.0, "hosts": 4, "groups": {group: (t, np.full(len(t), 100.0))}}
    return PowerRecord(**{**given, **change})


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return powered(tmp_path / "out", trials=2)


def test_samples_come_back_as_they_were(results: Results) -> None:
    before = {file: file.read_bytes() for file in (results.path / "trials").iterdir()}
    made = record(results)
    assert import_power(results, made)
    (back,) = read_power(results.path)

    assert (back.kind, back.source, back.stamp) == ("metered", "DCM", "instant")
    assert (back.period_s, back.hosts, back.name) == (10.0, 4, made.name)
    assert back.groups["A"][0].tolist() == made.groups["A"][0].tolist()
    assert {file: file.read_bytes() for file in before} == before


def test_the_same_samples_twice_are_there_once(results: Results) -> None:
    assert import_power(results, record(results))
    assert not import_power(results, record(results))
    assert len(read_power(results.path)) == 1


def test_another_source_of_the_same_kind_is_refused(results: Results) -> None:
    import_power(results, record(results))
    with pytest.raises(UsageError, match="another source, 'DCM'"):
        import_power(results, record(results, shift=1.0, source="PDU"))
    assert len(read_power(results.path)) == 1


def test_the_same_group_at_the_same_time_is_refused(results: Results) -> None:
    import_power(results, record(results))
    with pytest.raises(UsageError, match="already contains samples of 'A'"):
        import_power(results, record(results, shift=1.0))


def test_another_group_of_the_meter_adds_up(results: Results) -> None:
    import_power(results, record(results))
    assert import_power(results, record(results, group="B"))
    assert len(read_power(results.path)) == 2


def test_samples_of_another_day_are_refused_with_both_times(results: Results) -> None:
    with pytest.raises(UsageError, match=r"2023-11-15 .* the trials ran 2023-11-14") as caught:
        import_power(results, record(results, shift=86_400.0))
    assert "--zone" in caught.value.remedy
    assert not (results.path / "power").exists()


def test_a_damaged_file_is_named(results: Results) -> None:
    import_power(results, record(results))
    (file,) = (results.path / "power").iterdir()
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ResultsError, match=file.name):
        read_power(results.path)


def test_samples_of_the_future_are_refused(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(power, "POWER_SCHEMA", "windtunnel.power/9")
    import_power(results, record(results))
    monkeypatch.undo()
    with pytest.raises(ResultsError, match="power/9"):
        read_power(results.path)


def test_nothing_is_imported_into_a_folder_that_a_run_holds(tmp_path: Path) -> None:
    from tests.support.mock import run_study, toy_plan
    from windtunnel.results.folder import read_results

    plan = toy_plan(rounds=1)
    run_study(tmp_path / "out", plan)
    found = read_results(tmp_path / "out")
    with (
        open_journal(tmp_path / "out", study_record(plan)),
        pytest.raises(ResultsError, match="a run is"),
    ):
        import_power(found, record(found))


def test_the_same_samples_with_other_facts_are_refused(results: Results) -> None:
    import_power(results, record(results))
    with pytest.raises(UsageError, match="hosts 4 instead of 8") as caught:
        import_power(results, replace(record(results), hosts=8))
    assert "delete" in caught.value.remedy
