"""Bind Hadoop's ports to one loopback address, also those that Hadoop binds to all interfaces.

Hadoop has no setting for the addresses of the shuffle port and of an application master's
ports. Java has a setting for the class that opens them:
``java.nio.channels.spi.SelectorProvider``. ``loopback.jar`` holds such a class. It opens the
platform's own channels, but it binds a server for the wildcard address to the address in
``windtunnel.bind``, with the same port. Plain ``java.net.ServerSocket`` is not covered
(docs/decisions/0011). If a deployment has no network of its own, the class also refuses
connections of other users (docs/decisions/0026).

The sources are in ``java/``. ``python tools/build_loopback.py`` builds the jar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

JAR = "loopback.jar"
PROVIDER = "io.windtunnel.LoopbackSelectorProvider"


def place(folder: Path) -> Path:
    """Write the jar into a folder; the package's own path may need quoting in a shell."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / JAR
    target.write_bytes(resources.files(__package__).joinpath(JAR).read_bytes())
    return target


@dataclass(frozen=True)
class Binding:
    """Binds a JVM's listening sockets to ``address`` (or a name), with ``jar``.

    The jar must be the last one on the class path: class-data sharing needs the others first.
    With ``user``, a user id, the sockets accept only connections of the processes of this user and
    of root (Linux).
    """

    jar: Path
    address: str
    user: int | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """Options of the JVM; none needs quoting in a shell."""
        return (
            f"-Djava.nio.channels.spi.SelectorProvider={PROVIDER}",
            f"-Dwindtunnel.bind={self.address}",
            *([] if self.user is None else [f"-Dwindtunnel.user={self.user}"]),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data from which :meth:`from_json` creates an equal object."""
        return {"jar": str(self.jar), "address": self.address, "user": self.user}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Binding:
        """The object that :meth:`to_json` has written."""
        return cls(Path(data["jar"]), data["address"], data.get("user"))
