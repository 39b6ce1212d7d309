"""Hosts that start nothing: a name, an address, folders, and sockets of this machine."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ACCOUNT = "hadoop"


def host(name: str = "master", address: str = "127.1.2.1", root: Path = Path("/r")) -> Any:
    """A host as engines see it."""
    return SimpleNamespace(
        name=name,
        machine=name,
        address=address,
        root=root / name,
        logs=root / "logs",
        account=ACCOUNT,
        open_socket=socket.socket,
    )
