"""What lies in a folder before a bad input is given: damaged results, full disks, altered jars."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support.mock import run_study, toy_plan
from windtunnel.results.folder import read_results


def spreadsheet(folder: Path) -> None:
    """A table whose second row holds a word where a number belongs."""
    (folder / "runs.csv").write_text("config,s\na,10\nb,fast\n")


def results_of_another_study(folder: Path) -> None:
    """A finished study in ``out``."""
    run_study(folder / "out", toy_plan(rounds=1))


def invalid_trials(folder: Path) -> None:
    """A study in ``out`` all of whose trials are invalid."""
    results_of_another_study(folder)
    for file in (folder / "out" / "trials").iterdir():
        trial = json.loads(file.read_text())
        trial["verdict"] |= {"valid": False, "reason": "the output is wrong"}
        file.write_text(json.dumps(trial))


def no_trials(folder: Path) -> None:
    """A study in ``out`` that has not run a trial."""
    results_of_another_study(folder)
    for file in (folder / "out" / "trials").iterdir():
        file.unlink()


def corrupted_trial(folder: Path) -> None:
    """One trial's file was cut off."""
    results_of_another_study(folder)
    file = next(iter(sorted((folder / "out" / "trials").iterdir())))
    file.write_text(file.read_text()[:200])


def corrupted_trial_of_this_study(folder: Path) -> None:
    """A study that was interrupted; then one of its trials was cut off."""
    corrupted_trial(folder)
    shutil.copy(folder / "out" / "study.yaml", folder)


def future_schema(folder: Path) -> None:
    """A study of a later version."""
    results_of_another_study(folder)
    file = folder / "out" / "study.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"schema": "windtunnel.study/9"}))


def future_trial(folder: Path) -> None:
    """A trial of a later version."""
    results_of_another_study(folder)
    trial = read_results(folder / "out").trials[0]
    file = folder / "out" / "trials" / f"{trial.id}.json"
    file.write_text(file.read_text().replace("windtunnel.trial/1", "windtunnel.trial/9"))


def foreign_files(folder: Path) -> None:
    """The results folder is somebody's home."""
    (folder / "out").mkdir()
    (folder / "out" / "thesis.txt").write_text("years of work")


def mounted(*options: str) -> Callable[[Path], None]:
    """A small file system at ``disk``; ``bad_case.answer`` unmounts it."""

    def mount(folder: Path) -> None:
        disk = folder / "disk"
        disk.mkdir()
        line = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(disk)]
        subprocess.run(line, check=True, capture_output=True)

    return mount


def full_disk(folder: Path) -> None:
    """A file system without a free byte."""
    mounted("size=64k")(folder)
    with contextlib.suppress(OSError):
        (folder / "disk" / "ballast").write_bytes(bytes(64 << 10))


def tampered_jar(folder: Path) -> None:
    """A cache whose only jar was changed after it had been verified."""
    from windtunnel.engines import artifacts, locks

    lock = locks.read_lock(toy_lock(folder))
    lib = artifacts.cache_root() / "artifacts" / "hadoop-3.5" / lock.digest / "lib"
    lib.mkdir(parents=True)
    (lib / "toy-1.0.jar").write_bytes(b"something else")


def toy_lock(folder: Path) -> Path:
    """A lock file with one tiny jar, in place of Hadoop's."""
    lock = folder / "toy.lock.toml"
    lock.write_text(
        '[[dependencies]]\ngroupId = "org.toy"\nartifactId = "toy"\nversion = "1.0"\n'
        f'packaging = "jar"\nsha256 = "{"0" * 64}"\n'
    )
    return lock


def damaged_cluster(folder: Path) -> None:
    """A cluster file of the user's with a mistake in it."""
    (folder / "mine.yaml").write_text(
        "name: mine\nhosts:\n  one:\n    count: 1\n    roles: [namenode, datanod]\n"
    )
