"""The server through which Windtunnel reaches a file system that is not HDFS.

The server answers requests of WebHDFS from any file system that Hadoop supports. Its classes are in
``java/io/windtunnel/files``.
"""

from __future__ import annotations

from typing import Final

from windtunnel.engines.ports import free_ports
from windtunnel.engines.storage_system import Ground, Jvms
from windtunnel.hosts.base import Process

MAIN: Final = "io.windtunnel.files.FileServer"
NAME: Final = "fileserver"
_PORT: Final = 14000  # of Hadoop's HttpFS
_HEAP_MB: Final = 160


class FileServer:
    """The server on the first host of a deployment."""

    def __init__(self, ground: Ground) -> None:
        self.host = ground.placements[0].host
        self.name = f"{NAME}@{self.host.name}"
        port = _PORT if ground.own_networks else free_ports(1, self.host.open_socket)[0]
        self.address = (self.host.address, port)

    def spawn(self, jvms: Jvms, replicas: int | None = None) -> Process:
        """Start the server; its file system must already serve.

        ``replicas`` are those of every file, if the client of the file system does not know them.
        """
        address, port = self.address
        words = [address, str(port), *([] if replicas is None else [str(replicas)])]
        return jvms.spawn_own(self.host, self.name, MAIN, *words, heap_mb=_HEAP_MB)

    def listens(self) -> bool:
        """Whether the server accepts connections."""
        with self.host.open_socket() as found:
            found.settimeout(1.0)
            return found.connect_ex(self.address) == 0
