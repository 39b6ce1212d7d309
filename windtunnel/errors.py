"""Every error that a user can meet: one class each, with its exit code and the remedy.

Code that finds something wrong raises one of these; the command line prints
:meth:`WindtunnelError.render` and leaves with :attr:`exit_code`. Anything else
that escapes is a bug of ours and is reported as such (exit code 70), with the
traceback in a file and not on the terminal.
"""

from __future__ import annotations

from pathlib import Path


class WindtunnelError(Exception):
    """Base of all errors that are shown to the user.

    Parameters
    ----------
    message:
        What is wrong, one sentence, no full stop needed.
    remedy:
        What the user can do about it, one or two sentences.
    """

    exit_code = 1
    title = "error"

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def render(self) -> str:
        """The text for the terminal: the message, then the remedy on a line of its own."""
        text = f"{self.title}: {self.message}"
        return f"{text}\n  what to do: {self.remedy}" if self.remedy else text


class UsageError(WindtunnelError):
    """A command line that cannot be carried out as it stands."""

    exit_code = 2
    title = "usage"


class DescriptionError(WindtunnelError):
    """A study or cluster file that cannot be understood: names file, line and key."""

    exit_code = 3
    title = "bad description"

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        file: Path | str | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.file = file
        self.line = line
        self.key = key

    def render(self) -> str:
        """The message led by ``FILE:LINE`` and the key, as far as they are known."""
        where = "" if self.file is None else str(self.file)
        if where and self.line is not None:
            where += f":{self.line}"
        parts = [p for p in (where, f"key '{self.key}'" if self.key else "") if p]
        lead = ": ".join([self.title, *parts])
        text = f"{lead}: {self.message}"
        return f"{text}\n  what to do: {self.remedy}" if self.remedy else text


class NotRealisableError(WindtunnelError):
    """The testbed or the machine cannot realise what the description asks for."""

    exit_code = 4
    title = "cannot be realised here"


class SetupError(WindtunnelError):
    """Java, a jar or the cache is missing, damaged or unreachable."""

    exit_code = 5
    title = "set-up"


class ResultsError(WindtunnelError):
    """The results folder cannot be used: another study's, locked, not writable, unknown schema."""

    exit_code = 6
    title = "results folder"


class DeploymentError(WindtunnelError):
    """Real daemons did not come up, or one of them died."""

    exit_code = 7
    title = "deployment"

    def __init__(
        self, message: str, *, remedy: str = "", log: Path | None = None, tail: str = ""
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.log = log
        self.tail = tail

    def render(self) -> str:
        """The message, the last lines of the daemon's log, and where the whole log is."""
        lines = [f"{self.title}: {self.message}"]
        if self.tail:
            lines += ["  last lines of its log:", *(f"    {row}" for row in self.tail.splitlines())]
        if self.log is not None:
            lines.append(f"  whole log: {self.log}")
        if self.remedy:
            lines.append(f"  what to do: {self.remedy}")
        return "\n".join(lines)


class StudyStoppedError(WindtunnelError):
    """A study ended before its plan did; what was measured is kept and it can be resumed."""

    exit_code = 8
    title = "study stopped"


class StorageFullError(WindtunnelError):
    """No space is left where results, logs or data have to be written."""

    exit_code = 9
    title = "no space left"


class NotComparableError(WindtunnelError):
    """``compare`` refuses: the numbers of two folders do not mean the same. Reasons are listed."""

    exit_code = 10
    title = "not comparable"


class WorseError(WindtunnelError):
    """``compare --fail-if-worse`` found a total elapsed time that is worse than the reference's."""

    exit_code = 11
    title = "worse"


class InterruptedStudyError(StudyStoppedError):
    """The user pressed Ctrl-C, or the process was asked to end."""

    exit_code = 130
    title = "interrupted"


class TrialInvalidError(WindtunnelError):
    """A trial that cannot count. Caught by the runner, recorded with its reason, never fatal."""

    exit_code = 1
    title = "trial invalid"
