"""The keeper: a separate process that runs a cluster for interactive use.

``windtunnel up`` starts it detached and waits for its files; ``down`` sends it SIGTERM. If it is
killed, its supervisor ends the daemons, as for every dead owner.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from windtunnel import durable
from windtunnel.cluster import Cluster
from windtunnel.errors import DeploymentError, ResultsError, WindtunnelError
from windtunnel.hosts.identity import alive, identity
from windtunnel.hosts.isolation.folders import make_private
from windtunnel.hosts.leftovers import Registration, registered, state_root
from windtunnel.hosts.supervisor import python_path
from windtunnel.testbeds import cluster_testbed, parse_options
from windtunnel.testbeds.base import TestbedOptions
from windtunnel.testbeds.hadoop_cluster import HadoopDeployment

_START_LIMIT_S = 300.0
_END_LIMIT_S = 120.0
_REMOVAL_LIMIT_S = 900.0  # with data in a storage that stays
_WATCH_S = 1.0
_STEP_S = 0.05
_NEW_S = 600.0
ENDED = "ended.txt"
KEEPER = "keeper.json"
_WANTED = "wanted.json"


def interactive() -> list[Registration]:
    """The clusters that ``up`` started and that still run."""
    return [e for e in registered() if e.owner_alive() and e.facts().get("interactive")]


def folder_of_all() -> Path:
    """The folder with one folder per interactive cluster, whose names sort by age."""
    return state_root() / "interactive"


def last_end() -> str:
    """The error that ended the newest interactive cluster; empty if there was none."""
    folders = sorted(folder_of_all().glob("*"))
    file = folders[-1] / ENDED if folders else None
    return file.read_text() if file is not None and file.is_file() else ""


def forget_ended() -> int:
    """Remove the folders (logs) of interactive clusters that are down; returns their number."""
    used = _in_use()
    ended = [one for one in folder_of_all().glob("*") if one.name not in used and not _kept(one)]
    for folder in ended:
        shutil.rmtree(folder, ignore_errors=True)
    return len(ended)


def _in_use() -> set[str]:
    """The names in the paths of the logs of running deployments.

    Their keepers can be in other containers, where this folder may have another path.
    """
    links = [entry.folder / "logs" for entry in registered() if entry.owner_alive()]
    return {part for link in links if link.is_symlink() for part in link.readlink().parts}


def _kept(folder: Path) -> bool:
    """Whether the keeper of a folder still runs, or its cluster may be starting."""
    try:
        return alive(json.loads((folder / KEEPER).read_text()))
    except (OSError, ValueError):  # the file is being written
        with contextlib.suppress(OSError):
            return time.time() - folder.stat().st_mtime < _NEW_S
        return False


def start(
    cluster: Cluster,
    options: TestbedOptions,
    notify: Callable[[str], None],
    *,
    permit_open: bool = False,
) -> dict[str, Any]:
    """Start a keeper and wait until its cluster is ready; returns the facts of the deployment.

    ``cluster`` is the full-size description, ``options`` are those of the testbed.

    Raises
    ------
    DeploymentError
        If the cluster does not start.
    """
    stamp = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    folder = folder_of_all() / stamp
    try:
        make_private(folder_of_all())
        folder.mkdir()
        # until the keeper runs, this process protects the folder against 'clean'
        (folder / KEEPER).write_text(json.dumps(identity(os.getpid())))
        wanted = {
            "cluster": cluster.plain(),
            "testbed": options.kind,
            "options": options.to_record(),
            "permit_open": permit_open,
        }
        (folder / _WANTED).write_text(json.dumps(wanted))
    except OSError as error:
        raise ResultsError(
            f"{folder} cannot be written: {error.strerror}",
            remedy="free some space, or set WINDTUNNEL_STATE to a folder to which you have write "
            "permission.",
        ) from error
    log = folder / "keeper.log"
    with log.open("wb") as output:
        keeper = subprocess.Popen(
            [sys.executable, "-P", "-m", "windtunnel.testbeds.interactive", str(folder)],
            env=os.environ | {"PYTHONPATH": python_path()},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    with contextlib.suppress(psutil.Error):
        (folder / KEEPER).write_text(json.dumps(identity(keeper.pid)))
    try:
        return _wait_ready(keeper, folder, log, notify)
    except BaseException:
        keeper.terminate()
        raise


def _wait_ready(
    keeper: subprocess.Popen[bytes], folder: Path, log: Path, notify: Callable[[str], None]
) -> dict[str, Any]:
    deadline = time.monotonic() + _START_LIMIT_S
    reported = ""
    while time.monotonic() < deadline:
        lines = log.read_text(errors="replace").splitlines()
        if lines and lines[-1] != reported:
            reported = lines[-1]
            notify(reported)
        if (folder / "ready.json").is_file():
            facts: dict[str, Any] = json.loads((folder / "ready.json").read_text())
            return facts
        if keeper.poll() is not None:
            raise DeploymentError(
                "the cluster did not start",
                remedy="read the lines above, and the logs of the daemons in the same folder.",
                log=log,
                tail="\n".join(lines[-20:]),
            )
        time.sleep(0.1)
    raise DeploymentError(
        f"the cluster was not ready after {_START_LIMIT_S:.0f} s",
        remedy="read the log, or start a cluster with fewer workers.",
        log=log,
    )


def stop(entry: Registration) -> None:
    """End a keeper and wait until its cluster is gone.

    Raises
    ------
    DeploymentError
        If remains of the cluster exist: the keeper was killed after a time limit, or it has died
        or could not remove all of them.
    """
    facts = entry.facts()
    limit_s = _REMOVAL_LIMIT_S if facts.get("outside") else _END_LIMIT_S
    why = "its keeper has ended and could not remove everything"
    if alive(facts.get("owner")):
        with contextlib.suppress(psutil.NoSuchProcess):  # it ends at this moment
            keeper = psutil.Process(facts["owner"][0])
            keeper.terminate()
            if not _ends(keeper, limit_s):
                keeper.kill()
                why = f"its keeper was killed, because it did not end within {limit_s:.0f} s"
    if entry.folder.exists():
        raise DeploymentError(
            f"remains of {entry.id} exist: {why}",
            remedy="run 'windtunnel clean', which removes them.",
        )


def _ends(process: psutil.Process, limit_s: float) -> bool:
    """Whether a process ends within a time; an ended one may exist until its parent reads that."""
    deadline = time.monotonic() + limit_s
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            return False
        time.sleep(_STEP_S)
    return True


def _log(text: str) -> None:
    """Write a line to the log that ``up`` follows."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def keep(folder: Path) -> int:
    """Deploy, write ``ready.json`` and wait until SIGTERM or until a daemon dies."""
    end_signals: list[int] = []
    wanted = json.loads((folder / _WANTED).read_text())
    cluster = Cluster.model_validate(wanted["cluster"])
    options = parse_options(wanted["testbed"], wanted["options"])
    testbed = cluster_testbed(options, folder / "logs", _log)
    if wanted["permit_open"]:
        testbed.permit_open()
    signal.signal(signal.SIGTERM, lambda number, _: end_signals.append(number))
    try:
        with testbed.deploy(cluster) as deployment:
            assert isinstance(deployment, HadoopDeployment)
            deployment.registration.update(interactive=True, logs=str(folder / "logs"))
            durable.write_text(folder / "ready.json", json.dumps(deployment.registration.facts()))
            while not end_signals:
                time.sleep(_WATCH_S)
                deployment.check_alive()
    except WindtunnelError as error:
        _log(error.render())
        (folder / ENDED).write_text(error.render())
        return error.exit_code
    except Exception as error:  # a bug in Windtunnel: one line for the user, not a traceback
        _log(f"unexpected error: {type(error).__name__}: {error}")
        return 70
    return 0


if __name__ == "__main__":
    sys.exit(keep(Path(sys.argv[1])))
