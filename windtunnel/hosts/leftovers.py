"""Register of deployments on this machine, and the removal of dead deployments.

Every deployment has a folder ``STATE/ID`` with ``deployment.json``, written before the
first process starts. Its owner holds a lock in the folder as long as it lives. A deployment is
*dead* if its owner (process id and start time) no longer runs. Where a process id can have another
meaning, because the owner is in another container or the machine has started again, nobody must
hold the lock either. Only dead deployments are removed, and only their processes, identified by
the deployment's id, and their folders, identified by Windtunnel's marker file.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import platformdirs
import psutil

from windtunnel import durable
from windtunnel.errors import DeploymentError
from windtunnel.hosts import owner_lock
from windtunnel.hosts.fabric.undo import undo
from windtunnel.hosts.identity import alive, identity, machine_id, of_this_boot, process_namespace
from windtunnel.hosts.isolation.channel import Channel
from windtunnel.hosts.isolation.folders import make_private
from windtunnel.hosts.supervisor import SCRATCH_MARKER, marks, python_path, remove_scratch

ENTRY = "deployment.json"
_NEW_S = 600.0  # an entry that is not complete after this time has lost its owner


def state_root() -> Path:
    """Folder of all deployments: ``WINDTUNNEL_STATE`` or the user's state folder.

    It has no symbolic links: the kernel reports mounts and images of disks without them.
    On macOS the user's state folder has a space in its name, which Hadoop does not support:
    there it is in the cache folder.
    """
    override = os.environ.get("WINDTUNNEL_STATE")
    if override:
        folder = Path(override).expanduser()
    elif sys.platform == "darwin":
        folder = platformdirs.user_cache_path("windtunnel") / "state"
    else:
        folder = platformdirs.user_state_path("windtunnel")
    return Path(os.path.realpath(folder))  # 'resolve' raises an error if links form a circle


def state_errors(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Convert the system's write errors below the state folder to errors with a remedy."""
    return durable.storage_errors(
        f"the state folder {folder} cannot be written",
        remedy="set WINDTUNNEL_STATE to a folder that you may write.",
        space="free some space, or set WINDTUNNEL_STATE to a folder on another disk.",
    )


@dataclass
class Registration:
    """A deployment's entry in the register."""

    id: str
    folder: Path
    _lock: int | None = field(default=None, repr=False, compare=False)

    @property
    def scratch(self) -> Path:
        """Folder for the data of the daemons; removed at the end."""
        return self.folder / "scratch"

    @classmethod
    def create(cls, testbed: str) -> Registration:
        """Register a new deployment owned by this process.

        Raises
        ------
        ResultsError, StorageFullError
            If the state folder cannot be written.
        """
        entry = cls(id=f"wt-{secrets.token_hex(4)}", folder=Path())
        final = state_root() / "deployments" / entry.id
        # 'clean' must never see an entry without its owner: it gets its name when it is complete
        entry.folder = final.with_name(f".{entry.id}")
        with state_errors(final):
            make_private(final.parent)
            entry.scratch.mkdir(parents=True)
            entry._lock = owner_lock.take(entry.folder)
            (entry.scratch / SCRATCH_MARKER).write_text(entry.id)
            entry.update(
                testbed=testbed,
                owner=identity(os.getpid()),
                machine=socket.gethostname(),
                machine_id=machine_id(),
                processes=process_namespace(),
            )
            entry.folder = entry.folder.rename(final)
            durable.flush(final.parent)  # before anything starts that only the entry names
        return entry

    def update(self, **facts: object) -> None:
        """Add facts to the entry atomically."""
        text = json.dumps(self.facts() | {"id": self.id} | facts, indent=1)
        durable.write_text(self.folder / ENTRY, text)

    def facts(self) -> dict[str, Any]:
        """All facts of the entry; empty if it cannot be read."""
        try:
            facts = json.loads((self.folder / ENTRY).read_text())
        except (OSError, ValueError):
            return {}
        return facts if isinstance(facts, dict) else {}

    def owner_alive(self) -> bool:
        """Whether the process that owns the deployment still runs, or may run elsewhere."""
        return self.running() or self.elsewhere()

    def running(self) -> bool:
        """Whether the process that owns the deployment is known to run."""
        owner = self.facts().get("owner")
        if self.here(unknown=False) and of_this_boot(owner):
            # exact, unlike the lock: a child of a dead owner has it until its program starts
            return alive(owner)
        if owner_lock.held(self.folder):
            return True
        return not self.elsewhere() and alive(owner)

    def elsewhere(self) -> bool:
        """Whether its process can be on another machine or in another container.

        Without a lock, nothing shows here whether such a process runs: its number has no meaning
        here. Locks of a network file system can be those of one machine.
        """
        if self.of_other_machine():
            return True
        namespace = self.facts().get("processes") or process_namespace()
        return namespace != process_namespace() and owner_lock.held(self.folder) is None

    def here(self, *, unknown: bool = True) -> bool:
        """Whether its numbers of processes are those of this machine and container.

        ``unknown``: the result for an entry that does not state its container.
        """
        namespace = self.facts().get("processes")
        same = namespace == process_namespace() if namespace else unknown
        return same and not self.of_other_machine()

    def of_other_machine(self) -> bool:
        """Whether another machine, which shares the folder, has the processes of the entry."""
        theirs, own = self.facts().get("machine_id"), machine_id()
        return bool(theirs and own) and theirs != own

    def forget(self) -> list[str]:
        """Undo the fabric, remove the entry and its folders.

        Returns what could not be undone: the entry then stays, with the ledger for the next
        attempt.
        """
        problems = undo(self.folder)
        if not problems:
            self.discard()
        return problems

    def discard(self) -> None:
        """Remove the entry and its folders. Changes of its machine are not undone."""
        remove_scratch(self.scratch)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.release()

    def release(self) -> None:
        """Release the lock of the owner, if this process holds it: the deployment has ended."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def entering(
    folder: Path, where: Literal["network", "client"], command: Sequence[str]
) -> list[str]:
    """A command line that runs a command inside the deployment of a registration folder.

    ``where`` is its network or its client host. The command line needs ``PYTHONPATH``
    (``python_path``).
    """
    module = "windtunnel.hosts.isolation.enter"
    return [sys.executable, "-P", "-m", module, str(folder / ENTRY), where, "--", *command]


@contextlib.contextmanager
def sockets_of(entry: Registration) -> Iterator[Callable[[], socket.socket]]:
    """A function that creates TCP sockets of a running deployment's network."""
    channel = Channel()
    handle = channel.other.fileno()
    command = [sys.executable, "-P", "-m", "windtunnel.hosts.isolation.channel", str(handle)]
    maker = subprocess.Popen(
        entering(entry.folder, "network", command),
        env=os.environ | {"PYTHONPATH": python_path()},
        stdin=subprocess.DEVNULL,
        pass_fds=[handle],
        start_new_session=True,
    )
    channel.other.close()
    try:
        channel.open_socket().close()
    except OSError as error:
        channel.close()
        maker.wait()
        raise DeploymentError(
            f"the network of {entry.id} cannot be entered",
            remedy="check with 'windtunnel status' that it is still up.",
        ) from error
    try:
        yield channel.open_socket
    finally:
        channel.close()
        maker.wait()


def registered() -> list[Registration]:
    """All deployments in the register, running and dead."""
    folder = state_root() / "deployments"
    if not folder.is_dir():
        return []
    return [Registration(id=entry.name, folder=entry) for entry in sorted(folder.glob("wt-*"))]


def _incomplete() -> list[Registration]:
    """Entries whose owner died while it registered them: before they got their name."""
    folder, now = state_root() / "deployments", time.time()
    found = []
    for path in sorted(folder.glob(".wt-*")):
        entry = Registration(id=path.name.removeprefix("."), folder=path)
        with contextlib.suppress(OSError):  # it has just got its name
            if now - path.stat().st_mtime > _NEW_S and not entry.owner_alive():
                found.append(entry)
    return found


def clean(
    remove_outside: Callable[[Registration], list[str]] = lambda _: [],
    chosen: Callable[[Registration], bool] = lambda _: True,
    ended: Callable[[Registration], bool] = lambda _: True,
) -> list[str]:
    """End the processes and remove the folders of dead deployments; returns a line for each.

    Parameters
    ----------
    remove_outside:
        Removes what a deployment left on other machines, and returns what could not be removed:
        the entry then stays for the next attempt.
    chosen:
        Whether the entry of a dead deployment is removed.
    ended:
        Whether the processes of a dead deployment are ended.
    """
    entries = {entry.id: entry for entry in registered()}
    dead = {id_ for id_, entry in entries.items() if not entry.owner_alive()}
    done = []
    for mark, process in marks() if dead else ():
        if mark in dead and ended(entries[mark]):
            with contextlib.suppress(psutil.Error):
                line = f"ended process {process.pid} ({process.name()}) of {mark}"
                process.kill()
                process.wait(5)
                done.append(line)
    for id_, entry in entries.items():
        if not chosen(entry):
            continue
        if entry.elsewhere() and not entry.running():
            done.append(_kept(entry))
        if id_ in dead:
            outside = entry.facts().get("outside")
            problems = remove_outside(entry) or entry.forget()
            done += [f"NOT removed, of {id_}: {problem}" for problem in problems]
            if not problems:
                done.append(f"removed the folder of {id_}")
                if outside:
                    done.append(
                        f"data of {id_} can be left in {outside}: the next cluster of this "
                        "machine that uses it removes it"
                    )
    for entry in filter(chosen, _incomplete()):
        entry.forget()
        done.append(f"removed the incomplete folder of {entry.id}")
    return done


def _kept(entry: Registration) -> str:
    """Why a deployment of another machine is kept, and what removes it."""
    facts = entry.facts()
    here = f"'windtunnel clean --id {entry.id}' removes its jobs and files from the cluster, and "
    return (
        f"kept {entry.id}: run 'windtunnel clean' on its machine or in its container, "
        f"{facts.get('machine')}; if it no longer exists, {here if facts.get('attached') else ''}"
        f"'windtunnel clean --forget {entry.id}' removes its entry"
    )


def clean_this_machine(note: Callable[[str], object]) -> None:
    """Remove what dead deployments left on this machine, before another one is measured here.

    Those that used existing clusters keep their entries, because files and jobs are left there.
    Those of other containers, and those that do not state theirs, are left to the command
    ``clean``: they can be running. ``note`` receives a line for each thing that was removed or
    could not be removed.
    """

    def ended(entry: Registration) -> bool:
        return entry.here(unknown=False)

    def chosen(entry: Registration) -> bool:
        return ended(entry) and not entry.facts().get("attached")

    for line in clean(chosen=chosen, ended=ended):
        note(f"left by a command that was killed: {line}")
