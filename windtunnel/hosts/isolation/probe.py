"""A program that tests the features which isolate a deployment.

``python -P -m ...probe network KIND`` succeeds if a network namespace of this kind can be created,
``... mounts FOLDER`` if the folder's mount can be ID-mapped; else it writes the reason. Everything
that it creates ends with it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import cast

from windtunnel.hosts import syscalls
from windtunnel.hosts.isolation.account import FIRST_ID
from windtunnel.hosts.isolation.confine import Network, enter_own_network, own_mounts
from windtunnel.hosts.isolation.view import user_map


def main(what: str, which: str) -> None:
    """Raises OSError if the feature is not available."""
    if what == "network":
        enter_own_network(cast(Network, which))
        return
    own_mounts()
    with user_map(FIRST_ID, FIRST_ID) as users:
        clone = syscalls.clone_mount(Path(which), recursive=False)
        syscalls.set_mount(clone, users, writable=True, recursive=False)
        os.close(clone)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.exit(error.strerror or str(error))
