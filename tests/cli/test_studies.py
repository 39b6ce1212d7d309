"""The remedies of a study that stops before its end."""

from __future__ import annotations

import pytest

from windtunnel.cli.studies import _resumable
from windtunnel.errors import InvalidTrialsError, StudyStoppedError

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
