"""Run the checks of storage on a running cluster: through Hadoop, and mounted where that exists."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from windtunnel.engines.engine import HadoopCluster
from windtunnel.engines.hadoop.client import client_command
from windtunnel.engines.hadoop.software import OWN_JAR
from windtunnel.engines.storage_checks.behaviours import BEHAVIOURS
from windtunnel.engines.storage_system import Mounted
from windtunnel.errors import DeploymentError, WindtunnelError
from windtunnel.hosts.leftovers import entering
from windtunnel.hosts.supervisor import python_path

MAIN: Final = "io.windtunnel.storage.StorageChecks"
PROGRAM: Final = Path(__file__).with_name("posix_program.py")
ANSWERS: Final = ("yes", "no", "differs")
HADOOP = "Hadoop"
_FOLDER: Final = "/tmp/storage-checks"
_LIMIT_S: Final = 300.0


@dataclass(frozen=True)
class Answer:
    """The answer of one check, and what was observed if it is not "yes"."""

    word: str
    note: str = ""


@dataclass(frozen=True)
class Column:
    """The answers of one way to reach the storage; ``missing`` states why there are none."""

    level: str
    through: str
    answers: Mapping[str, Answer] = field(default_factory=dict)
    missing: str = ""


def run_checks(cluster: HadoopCluster, level: str, registered: Path) -> list[Column]:
    """All checks through Hadoop's FileSystem, then those of the mounted file system.

    Parameters
    ----------
    level:
        The words for the storage in the result.
    registered:
        The folder of the deployment in the register.

    Raises
    ------
    DeploymentError, TrialInvalidError
        If the program fails, or a behaviour is missing in its output.
    """
    command = client_command(cluster.daemons, cluster.client, MAIN, [_FOLDER])
    place = command.index("-cp") + 1
    command[place] += f":{OWN_JAR}"
    text = cluster.run_on_client("storage-checks", command, deadline_s=time.monotonic() + _LIMIT_S)
    found = [Column(level, HADOOP, parse(text))]
    mounted = cluster.daemons.storage.mounted([sys.executable, "-I", str(PROGRAM)])
    if isinstance(mounted, str):
        return [*found, Column(level, "mounted", missing=mounted)]
    try:
        answers = parse(_run_mounted(cluster, mounted, registered))
    except WindtunnelError as error:
        return [*found, Column(level, mounted.through, missing=error.message)]
    return [*found, Column(level, mounted.through, answers)]


def parse(text: str) -> dict[str, Answer]:
    """The answers in the output of one of the two programs, in the order of the behaviours.

    Raises
    ------
    DeploymentError
        If a behaviour is missing, unknown, or has no known answer.
    """
    found: dict[str, Answer] = {}
    for line in text.splitlines():
        if not line.startswith('{"check"'):
            continue  # messages of the JVM and of the file system
        row = json.loads(line)
        if row["answer"] not in ANSWERS or row["check"] not in BEHAVIOURS:
            raise DeploymentError(f"the storage checks printed an unknown answer: {line}")
        found[row["check"]] = Answer(row["answer"], row["note"])
    if missing := [name for name in BEHAVIOURS if name not in found]:
        raise DeploymentError(f"the storage checks did not finish; missing: {', '.join(missing)}")
    return {name: found[name] for name in BEHAVIOURS}


def _run_mounted(cluster: HadoopCluster, mounted: Mounted, registered: Path) -> str:
    if not mounted.as_root:
        name, limit_s = "storage-checks-posix", time.monotonic() + _LIMIT_S
        return cluster.run_on_client(name, mounted.command, deadline_s=limit_s, reads=[PROGRAM])
    try:
        done = subprocess.run(
            entering(registered, "network", mounted.command),
            env=os.environ | {"PYTHONPATH": python_path()},
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DeploymentError(
            f"the mounted file system did not answer within {_LIMIT_S:.0f} s"
        ) from None
    if done.returncode != 0:
        raise DeploymentError(f"the mounted file system failed: {done.stderr.strip()[-300:]}")
    return done.stdout
