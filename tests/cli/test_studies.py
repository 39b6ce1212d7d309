"""The remedies of a study that stops before its end."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.mock import MockDeployment, MockTestbed, toy_plan
from windtunnel.cli import studies
from windtunnel.cli.studies import _resumable, conduct
from windtunnel.cluster import Cluster
from windtunnel.errors import InterruptedStudyError, InvalidTrialsError, StudyStoppedError
from windtunnel.hosts.removal import removing
from windtunnel.results.folder import read_results

HOW = "windtunnel run toy --results out"


@pytest.mark.parametrize(
    ("error", "option", "remedy"),
    [
        (
            StudyStoppedError("a change is missing", remedy="make the change."),
            "--retry-invalid",
            f"make the change.\n    to resume the study, run: {HOW}",
        ),
        (StudyStoppedError("stopped"), "", f"to resume the study, run: {HOW}"),
        (
            InvalidTrialsError("no trial is valid"),
            "--retry-invalid",
            f"fix the cause, then run (valid trials are kept): {HOW} --retry-invalid",
        ),
        (
            InvalidTrialsError("no trial is valid"),
            "",
            f"fix the cause, then run (valid trials are kept): {HOW}",
        ),
    ],
)
def test_an_error_keeps_its_remedy_and_has_the_command_that_resumes(
    error: StudyStoppedError, option: str, remedy: str
) -> None:
    with pytest.raises(StudyStoppedError) as caught, _resumable(HOW, option):
        raise error
    assert caught.value.remedy == remedy


def test_a_stop_in_the_last_trial_ends_the_studies_that_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The study itself is complete: a command with one study then prints its report."""

    def interrupt(deployment: MockDeployment, phase: str, argv: Sequence[str]) -> None:
        signal.raise_signal(signal.SIGINT)

    plan = toy_plan(rounds=1)
    for number, more in enumerate((True, False)):
        bed = MockTestbed(faults={(2, "teravalidate"): interrupt})
        monkeypatch.setattr(studies, "testbed_of", lambda plan, logs, bed=bed: bed)
        folder = tmp_path / f"out-{number}"
        if more:
            with pytest.raises(InterruptedStudyError) as caught:
                conduct(plan, folder, ["again"], retry_invalid=False, more=more)
            assert caught.value.remedy == "to resume the study, run: again"
        else:
            conduct(plan, folder, ["again"], retry_invalid=False, more=more)
        assert len(read_results(folder).trials) == 2


class Removing(MockTestbed):
    """A testbed that gets a signal while it removes a deployment."""

    number = signal.SIGTERM

    @contextmanager
    def deploy(self, cluster: Cluster) -> Iterator[MockDeployment]:
        with super().deploy(cluster) as deployment:
            yield deployment
            with removing("daemons", 60.0):
                signal.raise_signal(self.number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_a_removal_between_trials_starts_no_other_cluster(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed = Removing(dies_when_idle=True)
    bed.number = number
    monkeypatch.setattr(studies, "testbed_of", lambda plan, logs: bed)
    with pytest.raises(InterruptedStudyError, match="after 1 of 2 trials"):
        conduct(toy_plan(rounds=1), tmp_path / "out", ["again"], retry_invalid=False)
    assert len(bed.deployed) == 1 and bed.open == 0
