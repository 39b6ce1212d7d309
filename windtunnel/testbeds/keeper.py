"""Keeps a cluster up for interactive use: a process of its own that holds a deployment.

``windtunnel up`` starts it detached and waits for what it writes; ``down`` sends it
SIGTERM. If it is killed, its supervisor ends the daemons as after every death of an owner.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from windtunnel.cluster import Cluster
from windtunnel.errors import DeploymentError, WindtunnelError
from windtunnel.hosts.remains import Registration, registered, state_root
from windtunnel.testbeds.local import LocalTestbed

_START_LIMIT_S = 300.0
_END_LIMIT_S = 30.0
_WATCH_S = 1.0


def interactive() -> list[Registration]:
    """Living clusters that ``up`` started."""
    return [e for e in registered() if e.owner_alive() and e.facts().get("interactive")]


def start(cluster: Cluster, tell: Callable[[str], None]) -> dict[str, Any]:
    """Start a keeper and wait until its cluster is ready; returns the deployment's facts.

    Raises
    ------
    DeploymentError
        If it does not come up.
    """
    folder = state_root() / "interactive" / time.strftime("%Y%m%d-%H%M%S")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cluster.json").write_text(cluster.model_dump_json())
    log = folder / "keeper.log"
    with log.open("wb") as output:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "windtunnel.testbeds.keeper", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + _START_LIMIT_S
    told = ""
    while time.monotonic() < deadline:
        lines = log.read_text(errors="replace").splitlines()
        if lines and lines[-1] != told:
            told = lines[-1]
            tell(told)
        if (folder / "ready.json").is_file():
            facts: dict[str, Any] = json.loads((folder / "ready.json").read_text())
            return facts
        if keeper.poll() is not None:
            raise DeploymentError(
                "the cluster did not come up",
                remedy="read the lines above and the logs of the daemons beside it.",
                log=log,
                tail="\n".join(lines[-20:]),
            )
        time.sleep(0.1)
    keeper.terminate()
    raise DeploymentError(f"the cluster was not ready after {_START_LIMIT_S:.0f} s", log=log)


def stop(entry: Registration) -> None:
    """End a keeper and wait until its cluster is gone."""
    owner = psutil.Process(entry.facts()["owner"][0])
    owner.terminate()
    try:
        owner.wait(_END_LIMIT_S)
    except psutil.TimeoutExpired:
        owner.kill()


def _log(text: str) -> None:
    """A line for the log that ``up`` follows."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def keep(folder: Path) -> int:
    """Deploy, write ``ready.json``, hold until SIGTERM or until a daemon dies."""
    asked_to_end: list[int] = []
    cluster = Cluster.model_validate_json((folder / "cluster.json").read_text())
    testbed = LocalTestbed(folder / "logs", lambda text: _log(f"waiting for {text}"))
    signal.signal(signal.SIGTERM, lambda number, _: asked_to_end.append(number))
    try:
        with testbed.deploy(cluster) as deployment:
            deployment.registration.update(interactive=True, logs=str(folder / "logs"))
            new = folder / "ready.json.new"
            new.write_text(json.dumps(deployment.registration.facts()))
            new.replace(folder / "ready.json")
            while not asked_to_end:
                time.sleep(_WATCH_S)
                deployment.check_alive()
    except WindtunnelError as error:
        _log(error.render())
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(keep(Path(sys.argv[1])))
