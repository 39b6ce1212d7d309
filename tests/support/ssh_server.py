"""An SSH server in this process whose commands are real: they run in ``sh`` on this machine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh


@dataclass
class SshServer:
    """The server, the files that its clients need, and what they ran.

    ``ended`` has the exit codes of the commands that have ended.
    """

    port: int
    key: Path
    known_hosts: Path
    commands: list[str] = field(default_factory=list)
    ended: list[int | None] = field(default_factory=list)
    connections: list[asyncssh.SSHServerConnection] = field(default_factory=list)
    loop: asyncio.AbstractEventLoop = field(init=False)

    def serve_home(self, home: Path) -> None:
        """Give the account with this home folder the key, and the key of 127.0.0.1."""
        folder = home / ".ssh"
        folder.mkdir(mode=0o700)
        self.key.rename(folder / "id_ed25519")
        key = self.known_hosts.read_text().split(maxsplit=1)[1].splitlines()[0]
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {key}\n")

    def cut(self) -> None:
        """End all connections of clients."""
        for connection in self.connections:
            self.loop.call_soon_threadsafe(connection.abort)
        self.connections.clear()


@contextmanager
def ssh_server(folder: Path, names: tuple[str, ...]) -> Iterator[SshServer]:
    """A server for hosts with these names, all at 127.0.0.1."""
    host_key = asyncssh.generate_private_key("ssh-ed25519")
    user_key = asyncssh.generate_private_key("ssh-ed25519")
    key, known, allowed = (folder / name for name in ("id", "known_hosts", "authorized_keys"))
    user_key.write_private_key(str(key))
    key.chmod(0o600)
    allowed.write_bytes(user_key.export_public_key())
    known.write_text("".join(f"{name} {host_key.export_public_key().decode()}" for name in names))
    server = SshServer(0, key, known)

    class Connections(asyncssh.SSHServer):
        def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
            server.connections.append(conn)

        def connection_requested(self, *_: object) -> bool:
            return True  # as a jump host

    async def copy(source: Any, target: Any) -> None:
        with suppress(asyncssh.Error, OSError):
            while data := await source.read(1 << 16):
                target.write(data)
                await target.drain()
        if isinstance(target, asyncio.StreamWriter):
            target.close()

    async def run(process: asyncssh.SSHServerProcess[bytes]) -> None:
        command = process.command or ""
        server.commands.append(command)
        child = await asyncio.create_subprocess_shell(
            command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert child.stdin and child.stdout and child.stderr
        feeding = asyncio.create_task(copy(process.stdin, child.stdin))
        await asyncio.gather(copy(child.stdout, process.stdout), copy(child.stderr, process.stderr))
        feeding.cancel()
        status = await child.wait()
        server.ended.append(status)
        process.exit(status)

    ready, stopped = threading.Event(), asyncio.Event()

    async def serve() -> None:
        server.loop = asyncio.get_running_loop()
        acceptor = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=Connections,
            server_host_keys=[host_key],
            authorized_client_keys=str(allowed),
            process_factory=run,
            encoding=None,
        )
        server.port = acceptor.get_port()
        ready.set()
        await stopped.wait()
        acceptor.close()
        for connection in server.connections:
            connection.abort()
            await connection.wait_closed()
        await acceptor.wait_closed()
        async with asyncio.timeout(10):
            while len(server.ended) < len(server.commands):
                await asyncio.sleep(0.01)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(10), "the server does not start"
    try:
        yield server
    finally:
        server.loop.call_soon_threadsafe(stopped.set)
        thread.join(10)
