"""Commands for the monitors of a Ceph cluster, through a program that stays connected to them."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from windtunnel.engines.running import tail
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host, Process, ProcessSpec

PYTHON: Final = "/usr/bin/python3"
"""The Python of the operating system, to which Ceph's modules belong."""
NAME: Final = "ceph-admin"
_PROGRAM: Final = Path(__file__).with_name("admin_program.py")
_SOCKET: Final = "ceph-admin.sock"
_QUERY_LIMIT_S: Final = 20.0
_COMMAND_LIMIT_S: Final = 60.0  # a monitor writes each change to its disk before it answers


class Admin:
    """The program on one host, and the connection to it.

    Parameters
    ----------
    conf:
        The ``ceph.conf`` with the key of ``client.admin``.
    """

    def __init__(self, host: Host, conf: Path) -> None:
        self.host = host
        self.name = f"{NAME}@{host.name}"
        self._conf = conf
        self._process: Process | None = None
        self._connection: socket.socket | None = None
        self._one_query = threading.RLock()  # faults have own threads

    def spawn(self) -> Process:
        """Start the program."""
        # below its folder: the path of a Unix socket has at most 107 characters
        argv = [PYTHON, "-I", str(_PROGRAM), _SOCKET, str(self._conf)]
        log = self.host.logs / f"{NAME}.log"
        self._process = self.host.spawn(ProcessSpec(self.name, argv, log, self.host.root))
        return self._process

    def run(self, prefix: str, **arguments: Any) -> dict[str, Any]:
        """The JSON output of a command; empty if it has none.

        Raises
        ------
        DeploymentError
            If the monitors refuse the command, or do not answer.
        """
        return self._run(prefix, arguments, _COMMAND_LIMIT_S)

    def queried(self, prefix: str, **arguments: Any) -> dict[str, Any] | None:
        """The output as of :meth:`run`; None if the monitors do not answer yet."""
        with contextlib.suppress(DeploymentError):
            return self._run(prefix, arguments, _QUERY_LIMIT_S)
        return None

    def open_root(self) -> None:
        """Let every account write to the root of CephFS; raises DeploymentError."""
        self._checked("chmod /", self._ask({"open_root": True}, _COMMAND_LIMIT_S))

    def close(self) -> None:
        """Close the connection."""
        with self._one_query:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _run(self, prefix: str, arguments: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
        command = {"prefix": prefix, "format": "json", **arguments}
        return self._checked(prefix, self._ask({"command": command}, limit_s))

    def _checked(self, what: str, answer: Mapping[str, Any]) -> dict[str, Any]:
        if answer["code"] != 0:
            raise DeploymentError(f"Ceph refused '{what}': {answer['error'] or answer['code']}")
        text = str(answer["output"]).strip()
        found = json.loads(text) if text[:1] in ("{", "[") else {}
        return found if isinstance(found, dict) else {"list": found}

    def _ask(self, order: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
        with self._one_query:
            try:
                return self._answer(order, limit_s)
            except (OSError, ValueError) as problem:
                self.close()  # a late answer is not that of the next order
                raise DeploymentError(
                    f"the monitors of Ceph do not answer: {problem}",
                    log=self._process.log if self._process else None,
                    tail=tail(self._process.log) if self._process else "",
                ) from problem

    def _answer(self, order: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
        connection = self._connected()
        connection.settimeout(limit_s)
        connection.sendall(json.dumps(order).encode() + b"\n")
        with connection.makefile("rb") as lines:
            answer: dict[str, Any] = json.loads(lines.readline())
        return answer

    def _connected(self) -> socket.socket:
        if self._connection is None:
            folder = os.open(self.host.root, os.O_PATH)
            made = socket.socket(socket.AF_UNIX)
            try:  # the path of a Unix socket has at most 107 characters; that of the folder may not
                made.settimeout(_QUERY_LIMIT_S)
                made.connect(f"/proc/self/fd/{folder}/{_SOCKET}")
            except OSError:
                made.close()
                raise
            finally:
                os.close(folder)
            self._connection = made
        return self._connection
