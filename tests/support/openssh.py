"""Real SSH servers (OpenSSH) on the hosts of a deployment, inside its network."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import asyncssh

from windtunnel.hosts.leftovers import entering
from windtunnel.testbeds.local import LocalDeployment

PORT = 2222
_LIMIT_S = 20
_PRIVATE = Path("/run/sshd")  # the folder in which OpenSSH isolates logins
_OPTIONS = (
    "UsePAM no",
    "StrictModes no",
    "PermitRootLogin yes",
    "PasswordAuthentication no",
    "PidFile none",
    "UseDNS no",
)


def missing() -> str:
    """Why no server can run; empty if one can."""
    if os.geteuid() != 0:
        return "needs root: logins"
    if shutil.which("sshd") is None:
        return "not installed: sshd (on Debian and Ubuntu: package openssh-server)"
    try:
        pwd.getpwnam("sshd")
    except KeyError:
        return "there is no user sshd, which OpenSSH needs"
    return ""


@contextmanager
def running(deployment: LocalDeployment, folder: Path) -> Iterator[dict[str, str]]:
    """The options of the testbed for logins to all hosts but the client."""
    keys = {name: asyncssh.generate_private_key("ssh-ed25519") for name in ("host", "id")}
    for name, key in keys.items():
        key.write_private_key(str(folder / name))
        (folder / name).chmod(0o600)
    (folder / "authorized_keys").write_bytes(keys["id"].export_public_key())
    hosts = [host for host in deployment.hosts if host.name != "client"]
    public = keys["host"].export_public_key().decode()
    (folder / "known_hosts").write_text("".join(f"{host.name} {public}" for host in hosts))
    with ExitStack() as stack:
        if not _PRIVATE.exists():
            _PRIVATE.mkdir(mode=0o755)
            stack.callback(_PRIVATE.rmdir)
        for host in hosts:
            config = folder / f"sshd-{host.name}"
            own = (
                f"ListenAddress {host.address}",
                f"Port {PORT}",
                f"HostKey {folder / 'host'}",
                f"AuthorizedKeysFile {folder / 'authorized_keys'}",
            )
            config.write_text("\n".join((*_OPTIONS, *own)) + "\n")
            log = stack.enter_context((folder / f"sshd-{host.name}.log").open("w"))
            command = [str(shutil.which("sshd")), "-D", "-e", "-f", str(config)]
            argv = entering(deployment.registration.folder, "network", command)
            process = subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT)
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
            _wait(deployment, host.address, process, folder / f"sshd-{host.name}.log")
        yield {
            "user": "root",
            "port": str(PORT),
            "key": str(folder / "id"),
            "known_hosts": str(folder / "known_hosts"),
            "interval": "1 s",
        }


def _wait(
    deployment: LocalDeployment, address: str, process: subprocess.Popen[bytes], log: Path
) -> None:
    """Wait until a server listens."""
    deadline = time.monotonic() + _LIMIT_S
    while time.monotonic() < deadline and process.poll() is None:
        with deployment.hosts[0].open_socket() as connection:
            connection.settimeout(1.0)
            if connection.connect_ex((address, PORT)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"sshd does not listen: {log.read_text()}")


def sessions() -> list[str]:
    """The programs that this test's clients left on the hosts: command lines of samplers."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:1] == [b"sh"] and b"/proc/uptime" in b" ".join(words):
            found.append(b" ".join(words).decode())
    return found
