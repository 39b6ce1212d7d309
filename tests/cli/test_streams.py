"""Commands whose output has no reader any more."""

from __future__ import annotations

import errno
import io
import subprocess
import sys
from pathlib import Path

import pytest

from windtunnel.cli.streams import LastingStream
from windtunnel.results.folder import read_results

STUDY = """\
import signal, sys
from pathlib import Path
from tests.support.mock import MockTestbed, quicken, toy_plan
from windtunnel.cli import studies
from windtunnel.cli.streams import outlive_readers
from windtunnel.errors import InterruptedStudyError

def interrupt(deployment, phase, argv):
    signal.raise_signal(signal.SIGINT)

quicken()
outlive_readers()
sys.stdin.read()  # until the reader has ended
bed = MockTestbed(faults={(1, "terasort"): interrupt})
studies.testbed_of = lambda plan, logs: bed
try:
    studies.conduct(toy_plan(rounds=2), Path(sys.argv[1]), ["again"], retry_invalid=False)
except InterruptedStudyError as error:
    print(error.render(), file=sys.stderr)
    sys.exit(error.exit_code)
"""


def without_reader(*words: str) -> int:
    """Run Python with a pipe as output whose reader has ended; returns the exit code."""
    process = subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdout.close()
    process.stdin.close()
    return process.wait(120)


def test_an_interrupt_that_also_ends_the_reader_stops_after_the_trial(tmp_path: Path) -> None:
    assert without_reader("-c", STUDY, str(tmp_path / "out")) == 130
    (trial,) = read_results(tmp_path / "out").trials
    assert trial.verdict.valid


@pytest.mark.parametrize(
    ("words", "code"), [(("catalogue", "list"), 0), (("run", "no-such-study"), 3)]
)
def test_the_exit_code_of_a_command_is_the_same_without_a_reader(
    words: tuple[str, ...], code: int
) -> None:
    assert without_reader("-m", "windtunnel", *words) == code


class Failing(io.StringIO):
    """A stream that cannot be written."""

    def __init__(self, number: int, *, terminal: bool) -> None:
        super().__init__()
        self.number, self.terminal = number, terminal

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        raise OSError(self.number, "the write failed")


def test_a_closed_terminal_is_no_error_and_a_full_disk_is_one() -> None:
    assert LastingStream(Failing(errno.EIO, terminal=True)).write("text") == 4
    for number in (errno.ENOSPC, errno.EIO):
        with pytest.raises(OSError, match="the write failed"):
            LastingStream(Failing(number, terminal=False)).write("text")
