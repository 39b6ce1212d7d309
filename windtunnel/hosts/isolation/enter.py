"""Run a command inside a deployment: ``python -P -m ...enter FACTS.json WHERE -- COMMAND...``.

The program enters, as the caller, the network of the supervisor (WHERE is ``network``, for
``windtunnel open``) or the client host (``client``, for ``exec``) and then executes the command.
FACTS.json has ``supervisor`` (process id), ``network`` and ``place`` (null if the client host is
this machine), as the deployment registered them, and ``mount_point`` if a process of the deployment
mounts files that only its own processes see.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from windtunnel.hosts import syscalls
from windtunnel.hosts.isolation.confine import Place, become


def enter(facts: Mapping[str, Any], where: str) -> None:
    """Move this process, which has one thread, into the deployment. Raises OSError."""
    if facts["place"] and where == "client":
        become(Place.from_json(facts["place"]))
        return
    namespaces = Path("/proc") / str(facts["supervisor"]) / "ns"
    if facts["network"] == "own, with a user namespace":
        syscalls.enter_namespace(namespaces / "user", syscalls.CLONE_NEWUSER)
    if facts["network"] != "the machine's":
        syscalls.enter_namespace(namespaces / "net", syscalls.CLONE_NEWNET)
    if facts.get("mount_point") and where == "client":
        here = Path.cwd()
        syscalls.enter_namespace(namespaces / "mnt", syscalls.CLONE_NEWNS)
        os.chdir(here)


if __name__ == "__main__":
    try:
        enter(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2])
        os.execvp(sys.argv[4], sys.argv[4:])
    except OSError as error:
        sys.exit(f"the cluster cannot be entered: {error}")
