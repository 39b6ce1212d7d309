"""All errors that are reported to users: one class each, with its exit code and the remedy.

Code that detects a problem raises one of these; the command line prints
:meth:`WindtunnelError.render` and exits with :attr:`exit_code`. Any other
exception is a bug of Windtunnel and is reported as such (exit code 70), with
the traceback in a file and not on the terminal.
"""

from __future__ import annotations

from pathlib import Path


class WindtunnelError(Exception):
    """Base of all errors that are shown to the user.

    Parameters
    ----------
    message:
        The problem in one sentence, without a final period.
    remedy:
        The action that solves it, in one or two sentences.
    """

    exit_code = 1
    title = "error"

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def render(self) -> str:
        """The text for the terminal: the message, then the remedy on a separate line."""
        text = f"{self.title}: {self.message}"
        return f"{text}\n  what to do: {self.remedy}" if self.remedy else text


class UsageError(WindtunnelError):
    """A command line that cannot be executed."""

    exit_code = 2
    title = "usage"


class DescriptionError(WindtunnelError):
    """A study or cluster file with an error, reported with file, line and key."""

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
        """The message after ``FILE:LINE`` and the key, if they are known."""
        where = "" if self.file is None else str(self.file)
        if where and self.line is not None:
            where += f":{self.line}"
        parts = [p for p in (where, f"key '{self.key}'" if self.key else "") if p]
        lead = ": ".join([self.title, *parts])
        text = f"{lead}: {self.message}"
        return f"{text}\n  what to do: {self.remedy}" if self.remedy else text


class NotRealisableError(WindtunnelError):
    """The testbed or the machine does not support what the description requires."""

    exit_code = 4
    title = "not supported here"


class SetupError(WindtunnelError):
    """Java, a jar or the cache is missing, damaged or not reachable."""

    exit_code = 5
    title = "set-up"


class ResultsError(WindtunnelError):
    """The results folder is that of another study, locked, read-only, or of another schema."""

    exit_code = 6
    title = "results folder"


class FitFileError(ResultsError):
    """A file of ``--fit`` that is missing or no fit."""

    title = "fit file"


class DeploymentError(WindtunnelError):
    """Real daemons did not start, or one of them died."""

    exit_code = 7
    title = "deployment"

    def __init__(
        self, message: str, *, remedy: str = "", log: Path | None = None, tail: str = ""
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.log = log
        self.tail = tail

    def render(self) -> str:
        """The message, the last lines of the daemon's log, and the path of the log."""
        lines = [f"{self.title}: {self.message}"]
        if self.tail:
            lines += ["  last lines of its log:", *(f"    {row}" for row in self.tail.splitlines())]
        if self.log is not None:
            lines.append(f"  complete log: {self.log}")
        if self.remedy:
            lines.append(f"  what to do: {self.remedy}")
        return "\n".join(lines)


class StudyStoppedError(WindtunnelError):
    """A study stopped before its plan was complete; its trials are kept and it can be resumed."""

    exit_code = 8
    title = "study stopped"


class InvalidTrialsError(StudyStoppedError):
    """A study stopped because too many of its trials are invalid."""

    def __init__(self, message: str) -> None:
        remedy = (
            "fix the cause, then run the same command with --retry-invalid; valid trials are kept."
        )
        super().__init__(message, remedy=remedy)


class StorageFullError(WindtunnelError):
    """No space is left for results, logs or data."""

    exit_code = 9
    title = "no space left"


class NotComparableError(WindtunnelError):
    """``compare`` refuses: the numbers of two folders are not comparable. Reasons are listed."""

    exit_code = 10
    title = "not comparable"


class WorseError(WindtunnelError):
    """``compare --fail-if-worse`` detected a total elapsed time worse than the reference's."""

    exit_code = 11
    title = "worse"


class ClusterAccessError(WindtunnelError):
    """A service of an existing cluster did not answer, refused access, or answered wrongly.

    ``reason`` is a short name of the cause, such as ``unreachable`` or ``ticket expired``.
    """

    exit_code = 12
    title = "cluster access"

    def __init__(self, message: str, *, remedy: str = "", reason: str = "refused") -> None:
        super().__init__(message, remedy=remedy)
        self.reason = reason


class NotAllowedError(WindtunnelError):
    """The allow list does not permit the study on an existing cluster."""

    exit_code = 13
    title = "not allowed"


class BundleError(WindtunnelError):
    """A bundle that cannot be read, or whose numbers or files differ from what it states."""

    exit_code = 15
    title = "bundle"


class AuditFailedError(WindtunnelError):
    """``audit --fail-on`` found a FAIL of that severity or a worse one."""

    exit_code = 14
    title = "audit failed"


class InterruptedStudyError(StudyStoppedError):
    """The user pressed Ctrl-C, or the process received a signal to terminate."""

    exit_code = 130
    title = "interrupted"


class TrialInvalidError(WindtunnelError):
    """A trial that fails a check: it is recorded as invalid, with the reason."""

    exit_code = 1
    title = "trial invalid"


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C caused an error; pydantic raises its own error from a KeyboardInterrupt."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt | InterruptedStudyError):
            return True
        cause = cause.__cause__
    return False
