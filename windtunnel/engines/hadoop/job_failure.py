"""Why a MapReduce job failed, from the output of its client and the logs of its containers."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterable
from typing import Final

_NEXT = r"(?=^\d[^\n]*\b(?:INFO|WARN|ERROR) |\Z)"  # the next record of the client's log
_TASK = re.compile(rf"Task Id : attempt_(\w+), Status : FAILED\n(.*?){_NEXT}", re.M | re.S)
_MASTER = re.compile(rf"state FAILED due to: (Application application_.*?){_NEXT}", re.M | re.S)
_STDERR = re.compile(
    r"^Last \d+ bytes of stderr ?:\n(.*?)(?=^\[\d{4}-|^For more detailed|\Z)", re.M | re.S
)
_CONTAINER = re.compile(r"\bcontainer_\w+")
_EXIT_CODE = re.compile(r"non-zero exit code (\d+)")
_LIMIT = re.compile(r".*(?:Timed out after|running beyond|beyond the '|is running \d+).*")
_FRAME = re.compile(r"^# Problematic frame:\n# (.+)", re.M)
_NOISE = re.compile(
    r"(SLF4J|log4j)|.*\b(WARN|WARNING|warning)\b|at \S+\(|#?$|Error: Could not create the Java"
    r"|Error: A fatal exception has occurred|Error occurred during initialization of VM"
    r"|# A fatal error has been detected|# (If|An error report|Core dump|JRE|Java VM)"
)
_MOST_CHARACTERS: Final = 300


def cause_of_failure(text: str, output_of: Callable[[str], str]) -> str:
    """The part of a job that failed and its error; empty if the text states no failure.

    Parameters
    ----------
    text:
        The output of the client, with the diagnostics of the failed attempts.
    output_of:
        Returns the standard output of a container, to which a JVM that does not start or that
        crashes writes its error; empty if it is unknown.
    """
    tasks, masters = _TASK.findall(text), _MASTER.findall(text)
    if masters:
        return f"the application master: {_cause(masters[-1], output_of)}"[:_MOST_CHARACTERS]
    if tasks:
        attempt, diagnostics = tasks[-1]
        kind = "reduce" if "_r_" in attempt else "map"
        return f"{kind} task {attempt}: {_cause(diagnostics, output_of)}"[:_MOST_CHARACTERS]
    return ""


def _cause(diagnostics: str, output_of: Callable[[str], str]) -> str:
    first = diagnostics.split("\n", 1)[0]
    if first.startswith("Error: "):  # an exception of the task
        return first.removeprefix("Error: ")
    for written in _STDERR.findall(diagnostics):
        if found := _telling(written.splitlines()):
            return found
    if limit := _LIMIT.search(diagnostics):
        return re.sub(r"^\[[^]]*\]", "", limit[0].strip())
    for container in reversed(_CONTAINER.findall(diagnostics)):
        output = output_of(container)
        if found := _telling(output.splitlines()):
            frame = _FRAME.search(output)
            return f"the JVM crashed: {found}, in {frame[1].strip()}" if frame else found
    return _exit_code(diagnostics) or _telling(diagnostics.splitlines()) or "no diagnostics"


def _telling(lines: Iterable[str]) -> str:
    """The first line that is no warning and no frame around the error; empty if there is none."""
    kept = (line.strip() for line in lines if not _NOISE.match(line.strip()))
    return next((line.lstrip("# ") for line in kept), "")


def _exit_code(diagnostics: str) -> str:
    found = _EXIT_CODE.search(diagnostics)
    if not found:
        return ""
    code = int(found[1])
    try:
        return f"exit code {code}, signal {signal.Signals(code - 128).name}"
    except ValueError:
        return f"exit code {code}"
