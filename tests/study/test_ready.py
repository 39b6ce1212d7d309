"""Before the first trial the testbed says whether what it sets is what it gives."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.calibrated import record, resource
from tests.support.mock import Diary, MockTestbed, run_study, toy_plan
from windtunnel.cluster import Cluster
from windtunnel.errors import NotRealisableError
from windtunnel.results.calibration import CalibrationRecord, read_calibrations
from windtunnel.results.folder import read_results
from windtunnel.testbeds.base import Notify


class Asked(MockTestbed):
    """A testbed that keeps what it was asked for."""

    asked: list[Cluster]

    def ready(self, clusters: Iterable[Cluster], notify: Notify) -> CalibrationRecord | None:
        self.asked = list(clusters)
        assert self.deployed == [], "it comes before the first deployment"
        notify("calibrated")
        return super().ready(self.asked, notify)


def test_it_is_asked_once_with_all_clusters_and_its_answer_is_kept(tmp_path: Path) -> None:
    testbed, diary = Asked(calibration=record()), Diary()
    plan = toy_plan(rounds=2)
    run_study(tmp_path / "out", plan, testbed, diary=diary)
    assert testbed.readied == 1
    assert testbed.asked == list(plan.clusters(plan.treatments))
    assert diary.notes.count("calibrated") == 1
    assert read_calibrations(tmp_path / "out") == [record()]


def test_what_is_off_stops_the_study_before_any_trial(tmp_path: Path) -> None:
    class Off(MockTestbed):
        def ready(self, clusters: Iterable[Cluster], notify: Notify) -> CalibrationRecord | None:
            record(resource("worker-1 disk-1", 1e6, 5e5)).refuse_if_off()
            return None

    testbed = Off()
    with pytest.raises(NotRealisableError, match="worker-1 disk-1"):
        run_study(tmp_path / "out", toy_plan(), testbed)
    assert testbed.deployed == []
    assert read_results(tmp_path / "out").trials == []


def test_a_study_that_goes_on_is_asked_again_and_a_finished_one_is_not(tmp_path: Path) -> None:
    first, other = record(), record().model_copy(update={"measured_at": 1.8e9})
    run_study(tmp_path / "out", toy_plan(rounds=1), MockTestbed(calibration=first))
    done = MockTestbed(calibration=other)
    run_study(tmp_path / "out", toy_plan(rounds=1), done)
    assert done.readied == 0

    trial = next((tmp_path / "out" / "trials").iterdir())
    trial.unlink()
    for found in (first, other):  # the stored one, then a new one
        again = MockTestbed(calibration=found)
        run_study(tmp_path / "out", toy_plan(rounds=1), again)
        expected = [first] if found is first else [first, other]
        assert again.readied == 1
        assert read_calibrations(tmp_path / "out") == expected
        trial.unlink()


def test_a_testbed_that_shapes_nothing_leaves_no_folder(tmp_path: Path) -> None:
    run_study(tmp_path / "out", toy_plan(rounds=1))
    assert not (tmp_path / "out" / "calibration").exists()
