"""Answer commands for a Ceph cluster on a Unix socket; runs with the machine's own Python.

Ceph's Python modules (``rados``, ``cephfs``) belong to the Python of the operating system, and a
start of the program ``ceph`` for each command would take most of a second of CPU time. Usage:

    python3 admin_program.py SOCKET CEPH_CONF

Each connection sends one JSON object per line and receives one per line. ``{"command": {...}}`` is
a command of the monitors, ``{"open_root": true}`` lets every account write to the root of CephFS.
"""

from __future__ import annotations

import json
import os
import socketserver
import sys
import threading
from collections.abc import Mapping
from typing import Any

import rados

_CONNECT_LIMIT_S = 5


class Server(socketserver.ThreadingUnixStreamServer):
    """One connection to the cluster, made at the first command that succeeds."""

    daemon_threads = True

    def __init__(self, path: str, conf: str) -> None:
        super().__init__(path, Handler)
        self.conf = conf
        self.cluster: Any = None
        self.lock = threading.Lock()

    def answer(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one order, as plain data."""
        with self.lock:
            try:
                if self.cluster is None:
                    self.cluster = self._connect()
                if order.get("open_root"):
                    return self._open_root()
                # it has no limit of its own: the other side of the socket has one
                code, output, error = self.cluster.mon_command(json.dumps(order["command"]), b"")
            except rados.Error as problem:
                return {"code": -1, "output": "", "error": str(problem)}
        return {"code": code, "output": output.decode(), "error": error}

    def _connect(self) -> Any:
        cluster = rados.Rados(conffile=self.conf, name="client.admin")
        try:
            cluster.connect(timeout=_CONNECT_LIMIT_S)
        except rados.Error:
            cluster.shutdown()
            raise
        return cluster

    def _open_root(self) -> dict[str, Any]:
        import cephfs

        files = cephfs.LibCephFS(conffile=self.conf, auth_id="admin")
        try:
            files.mount()
            files.chmod("/", 0o1777)
        except cephfs.Error as problem:
            return {"code": -1, "output": "", "error": str(problem)}
        finally:
            files.shutdown()
        return {"code": 0, "output": "", "error": ""}


class Handler(socketserver.StreamRequestHandler):
    """One connection."""

    def handle(self) -> None:
        """Answer each line."""
        for line in self.rfile:
            assert isinstance(self.server, Server)
            answer = self.server.answer(json.loads(line))
            self.wfile.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    os.umask(0o077)  # only the account of the cluster may connect
    Server(sys.argv[1], sys.argv[2]).serve_forever()
