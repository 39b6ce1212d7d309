"""Listening on one loopback address where Hadoop can only listen on all interfaces.

Hadoop has no setting for the addresses of the shuffle's port and of an application master's
ports. Java has one for the class that opens them: ``java.nio.channels.spi.SelectorProvider``.
``loopback.jar`` holds such a class. It opens the platform's own channels, except that a server
that is bound to the wildcard address gets the one in ``windtunnel.bind``; the port stays.
Plain ``java.net.ServerSocket`` is not covered (docs/decisions/0011). Where a deployment has no
network of its own, the class also refuses the connections of other users (docs/decisions/0026).

The sources lie in ``java/``. ``python tools/build_loopback.py`` makes the jar of them.
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
    """Write the jar into a folder: the package may lie where a shell's quoting ends."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / JAR
    target.write_bytes(resources.files(__package__).joinpath(JAR).read_bytes())
    return target


@dataclass(frozen=True)
class Binding:
    """A JVM's listening sockets are kept on ``address`` (or a name), by ``jar``.

    The jar must be on the class path, behind all others: class-data sharing wants those first.
    With ``user``, a user id, they take connections of this user's processes alone (Linux).
    """

    jar: Path
    address: str
    user: int | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """What the JVM is told; no word needs quoting in a shell."""
        return (
            f"-Djava.nio.channels.spi.SelectorProvider={PROVIDER}",
            f"-Dwindtunnel.bind={self.address}",
            *([] if self.user is None else [f"-Dwindtunnel.user={self.user}"]),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data from which :meth:`from_json` makes an equal object."""
        return {"jar": str(self.jar), "address": self.address, "user": self.user}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Binding:
        """The object that :meth:`to_json` described."""
        return cls(Path(data["jar"]), data["address"], data.get("user"))
