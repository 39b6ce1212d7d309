"""Commands on the hosts of an existing cluster, by SSH.

The configuration of SSH, the agent and the known hosts of the user apply, as for the program
``ssh``. A host whose key is not known is refused.
"""

from __future__ import annotations

import asyncio
import getpass
import socket
import threading
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.errors import ClusterAccessError

if TYPE_CHECKING:  # asyncssh is slow to import, and 'plan' needs none
    from asyncssh import SSHClientConnection

_CLOSE_S = 5.0
_AT_ONCE = 50
_LIMITS: Mapping[str, Any] = {
    "connect_timeout": 15.0,
    "login_timeout": 30.0,
    "keepalive_interval": 15.0,
    "agent_forwarding": False,
}


@dataclass(frozen=True)
class SshAccess:
    """How to log in. What is None is taken from the configuration of SSH, or is its default.

    ``jump`` is a host, as ``[USER@]HOST[:PORT]``, through which the others are reached; several
    are separated by commas.
    """

    user: str | None = None
    port: int | None = None
    key: Path | None = None
    config: Path | None = None
    known_hosts: Path | None = None
    jump: str | None = None

    def options(self) -> dict[str, Any]:
        """The options for asyncssh."""
        given = {
            "username": self.user,
            "port": self.port,
            "client_keys": self.key and [str(self.key)],
            "config": self.config and [str(self.config)],
            "known_hosts": self.known_hosts and str(self.known_hosts),
        }
        return {name: value for name, value in given.items() if value is not None}

    def jumps(self) -> list[dict[str, Any]]:
        """The options for asyncssh of each host of ``jump``, in their order."""
        found = []
        for one in self.jump.split(",") if self.jump else ():
            user, _, place = one.strip().rpartition("@")
            host, _, port = place.rpartition(":") if ":" in place else (place, "", "")
            options: dict[str, Any] = {"host": host}
            options |= {"username": user} if user else {}
            options |= {"port": int(port)} if port else {}
            options |= {"config": [str(self.config)]} if self.config else {}
            found.append(options)
        return found


class SshHosts:
    """Connections to hosts, one for each; they are opened when they are first used.

    Parameters
    ----------
    addresses:
        Name of a host -> its address, for names that this machine cannot resolve. The key of the
        host is still that of its name.
    """

    def __init__(self, access: SshAccess, addresses: Mapping[str, str] | None = None) -> None:
        self._access = access
        self._addresses = addresses or {}
        self._connections: dict[str, SSHClientConnection] = {}
        self._logins: asyncio.Task[list[SSHClientConnection]] | None = None
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ssh", daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background until it ends or :meth:`close` is called."""
        asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(
        self, names: Iterable[str], command: str, *, text: str = "", limit_s: float = 60.0
    ) -> dict[str, str | ClusterAccessError]:
        """The output of a command on each host, or the error that prevented it.

        Parameters
        ----------
        command:
            For the login shell of the user; it must work in all shells.
        text:
            The standard input of the command.
        limit_s:
            Limit of the command on a host, in seconds, after the connection is open.
        """

        async def on_all() -> dict[str, str | ClusterAccessError]:
            hosts = list(dict.fromkeys(names))
            outputs = await asyncio.gather(
                *(self._run(name, command, text, limit_s) for name in hosts)
            )
            return dict(zip(hosts, outputs, strict=True))

        return asyncio.run_coroutine_threadsafe(on_all(), self._loop).result()

    async def _run(
        self, name: str, command: str, text: str, limit_s: float
    ) -> str | ClusterAccessError:
        try:
            connection = await self.connection(name)
            done = await asyncio.wait_for(connection.run(command, input=text), limit_s)
        except ClusterAccessError as error:
            return error
        except Exception as error:
            return access_error(name, error)
        if done.exit_status != 0:
            said = str(done.stderr or "").strip().splitlines()
            return ClusterAccessError(
                f"{name}: the command ended with {_ending(done.exit_status)}"
                + (f": {said[-1][:200]}" if said else ""),
                remedy=f"log in with 'ssh {name}' and look at what it prints.",
                reason="command failed",
            )
        return str(done.stdout)

    async def connection(self, name: str) -> SSHClientConnection:
        """The connection to a host. Raises ClusterAccessError."""
        import asyncssh

        known = self._connections.get(name)
        if known is not None and not known.is_closed():
            return known
        options = self._access.options()
        if name in self._addresses:
            options["host_key_alias"] = name
        try:
            async with self._at_once:
                tunnel = await self._jump()
                options |= {} if tunnel is None else {"tunnel": tunnel}
                made = await asyncssh.connect(self._addresses.get(name, name), **_LIMITS, **options)
        except ClusterAccessError:  # of a jump host
            raise
        except Exception as error:
            raise access_error(name, error, self._access.user) from error
        self._connections[name] = made
        return made

    async def _jump(self) -> SSHClientConnection | None:
        """The connection through which all hosts are reached; None without ``jump``.

        There is one for all hosts: a server refuses many logins at a time (``MaxStartups``,
        sshd_config(5)).
        """
        if self._access.jump is None:
            return None
        if self._logins is None or (self._logins.done() and not _opened(self._logins)):
            self._logins = asyncio.create_task(self._log_in())
        return (await asyncio.shield(self._logins))[-1]

    async def _log_in(self) -> list[SSHClientConnection]:
        """Connections to the hosts of ``jump``, each through the one before it.

        Raises ClusterAccessError, whose message names the jump host.
        """
        import asyncssh

        made: list[SSHClientConnection] = []
        for options in self._access.jumps():
            before = {"tunnel": made[-1]} if made else {}
            try:
                made.append(await asyncssh.connect(**_LIMITS, **options, **before))
            except Exception as error:
                host, user = options["host"], options.get("username")
                raise access_error(f"jump host {host}", error, user) from error
        return made

    def drop(self, name: str) -> None:
        """Forget the connection to a host, so that the next command opens another one.

        It is called from coroutines that run in the background.
        """
        if lost := self._connections.pop(name, None):
            lost.abort()

    def close(self) -> None:
        """End all commands and connections."""

        async def end() -> None:
            own = asyncio.current_task()
            others = [task for task in asyncio.all_tasks() if task is not own]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            through = _opened(self._logins) if self._logins else []
            connections = [*self._connections.values(), *reversed(through)]
            for connection in connections:
                connection.abort()
            closings = (connection.wait_closed() for connection in connections)
            await asyncio.gather(*closings, return_exceptions=True)

        if self._loop.is_closed():
            return
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(end(), self._loop).result(_CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()


def _opened(logins: asyncio.Task[list[SSHClientConnection]]) -> list[SSHClientConnection]:
    """The connections that logins made; none if they failed, or a connection is closed."""
    if not logins.done() or logins.cancelled() or logins.exception() is not None:
        return []
    made = logins.result()
    return [] if any(one.is_closed() for one in made) else made


def access_error(name: str, error: Exception, user: str | None = None) -> ClusterAccessError:
    """An error of a connection or a command, with its remedy.

    Parameters
    ----------
    user:
        The user name that was given, if any.
    """
    import asyncssh

    detail = str(error).strip() or type(error).__name__
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return ClusterAccessError(
            f"{name}: its SSH host key is not known: {detail}",
            remedy=f"connect once with 'ssh {name}' and compare the fingerprint, or specify "
            "'known_hosts'.",
            reason="host key not known",
        )
    if isinstance(error, asyncssh.PermissionDenied):
        who = user or "the user of the SSH configuration"
        return ClusterAccessError(
            f"{name} refuses the SSH login of {who}",
            remedy="specify 'user' and 'key', or add the key to the SSH agent ('ssh-add -l' lists "
            f"its keys; {getpass.getuser()} is the user of this program).",
            reason="login refused",
        )
    if isinstance(error, (asyncssh.KeyImportError, asyncssh.KeyEncryptionError)):
        return ClusterAccessError(
            f"{name}: the SSH key cannot be used: {detail}",
            remedy="a key with a passphrase must be in the SSH agent: ssh-add FILE.",
            reason="key",
        )
    if isinstance(error, asyncssh.ConfigParseError):
        return ClusterAccessError(
            f"{name}: the SSH configuration cannot be used: {detail}",
            remedy="correct it, or specify another file with 'config'.",
            reason="configuration",
        )
    if isinstance(error, socket.gaierror):
        return ClusterAccessError(
            f"{name}: the name cannot be resolved",
            remedy="specify 'hosts_file', or 'jump' with a host that can resolve it.",
            reason="unreachable",
        )
    if isinstance(error, TimeoutError):
        return ClusterAccessError(
            f"{name}: no answer by SSH within the limit",
            remedy="check that the host is up, and whether it is reached through 'jump' only.",
            reason="unreachable",
        )
    if isinstance(error, ConnectionRefusedError):
        return ClusterAccessError(
            f"{name}: no SSH server answers (connection refused)",
            remedy="check the port, and that sshd runs on the host.",
            reason="unreachable",
        )
    return ClusterAccessError(
        f"{name}: the SSH connection failed: {detail}",
        remedy=f"check that 'ssh {name}' works.",
        reason="unreachable",
    )


def _ending(status: int | None) -> str:
    return "a signal" if status is None or status < 0 else f"exit code {status}"
