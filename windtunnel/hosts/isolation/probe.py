"""Try out what isolates a deployment, as a program.

``python -P -m ...probe network KIND`` succeeds where a network namespace of that kind can be made,
``... mounts FOLDER`` where the folder's mount can be ID-mapped; else it writes the reason. What it
makes ends with it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import cast

from windtunnel.hosts import syscalls
from windtunnel.hosts.isolation.account import FIRST_ID
from windtunnel.hosts.isolation.inside import Network, enter_own_network, own_mounts
from windtunnel.hosts.isolation.view import user_map


def main(what: str, which: str) -> None:
    """Raises OSError where something cannot be done."""
    if what == "network":
        enter_own_network(cast(Network, which))
        return
    own_mounts()
    with user_map(FIRST_ID, FIRST_ID) as users:
        copy = syscalls.clone_mount(Path(which), recursive=False)
        syscalls.set_mount(copy, users, writable=True, recursive=False)
        os.close(copy)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.exit(error.strerror or str(error))
