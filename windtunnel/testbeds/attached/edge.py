"""Hadoop's clients on an edge node of the cluster, by the program ``ssh``.

A client is a command of this machine, like all others: its output, its time limit and its end are
those of the connection. The jars with the programs of the workloads are copied into a folder of the
run on the edge node, which is removed with the other leftovers.
"""

from __future__ import annotations

import io
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import ClusterAccessError, SetupError
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.source_options import EdgeOptions
from windtunnel.testbeds.base import StudyRequest

WORKLOADS = ("terasort", "teragen", "dfsio", "pi")
"""Those whose clients need no files of this machine."""
_SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes")
_CONNECT = ("-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15")
_LIMIT_S = 120.0
_MARK = "WINDTUNNEL_RUN"  # a variable of the environment that no script of Hadoop changes
_FAILED = 255  # of ssh itself; other codes are those of the command


@dataclass(frozen=True)
class Edge:
    """The edge node of one run.

    Parameters
    ----------
    addresses:
        Name of a host -> its address, for names that this machine cannot resolve.
    run:
        The id of the run.
    """

    options: EdgeOptions
    addresses: Mapping[str, str]
    run: str

    @property
    def folder(self) -> str:
        """The folder of the run on the edge node."""
        return f"/tmp/windtunnel-{self.run}"

    def command(self, main: str, args: Sequence[str], options: AttachedOptions) -> list[str]:
        """The command line on this machine for a main class of Hadoop on the edge node."""
        # the user of the requests; with Kerberos, Hadoop takes the user from the ticket
        user = {"HADOOP_USER_NAME": options.account}
        env = {"HADOOP_CLASSPATH": f"{self.folder}/*", _MARK: self.run, **user}
        # its process id, because a client continues if its connection ends
        words = ["sh", "-c", 'echo $$ >> "$0/clients"; exec "$@"', self.folder, "env"]
        words += [f"{name}={value}" for name, value in env.items()]
        return self.ssh([*words, self.options.hadoop, main, *args])

    def ssh(self, words: Sequence[str]) -> list[str]:
        """The command line on this machine for a command on the edge node."""
        given = self.options
        made = [*_SSH, *_CONNECT]
        for name, value in (("-i", given.key), ("-F", given.config)):
            made += [name, str(Path(value).expanduser())] if value else []
        if given.known_hosts:
            made += ["-o", f"UserKnownHostsFile={Path(given.known_hosts).expanduser()}"]
        made += ["-p", str(given.port)] if given.port else []
        made += ["-J", given.jump] if given.jump else []
        made += ["-l", given.user] if given.user else []
        if given.host in self.addresses:
            made += ["-o", f"HostKeyAlias={given.host}"]
        host = self.addresses.get(given.host, given.host)
        return [*made, "--", host, shlex.join(words)]

    def check(self) -> None:
        """Log in, and look for the program; raises ClusterAccessError, SetupError."""
        if shutil.which("ssh") is None:
            raise SetupError(
                "the program ssh is not installed",
                remedy="install it (on Debian and Ubuntu: apt install openssh-client).",
            )
        self._run(["command", "-v", self.options.hadoop], "has no program " + self.options.hadoop)

    def prepare(self, jars: Path) -> None:
        """Copy the jars of a folder to the edge node; raises ClusterAccessError."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for jar in sorted(jars.glob("*.jar")):
                archive.add(jar.resolve(), arcname=jar.name)
        folder = shlex.quote(self.folder)
        script = f"mkdir -m 700 {folder} && tar -C {folder} -xf -"
        self._run(["sh", "-c", script], f"cannot create {self.folder}", packed.getvalue())

    def end_clients(self) -> None:
        """End clients that still run: they could submit a job later. Raises ClusterAccessError."""
        mark = shlex.quote(f"{_MARK}={self.run}")
        script = (
            'test ! -f "$0/clients" || for client in $(cat "$0/clients"); do '
            f"if grep -qzxF {mark} /proc/$client/environ 2>/dev/null; then kill $client; fi; done"
        )
        self._run(["sh", "-c", script, self.folder], "cannot end the clients")

    def remove(self) -> None:
        """Remove the folder of the run; raises ClusterAccessError."""
        self._run(["rm", "-rf", self.folder], f"cannot remove {self.folder}")

    def _run(self, words: Sequence[str], problem: str, data: bytes = b"") -> None:
        where = f"edge node {self.options.host}"
        try:
            done = subprocess.run(
                self.ssh(words),
                input=data,
                capture_output=True,
                check=False,
                timeout=_LIMIT_S,
                start_new_session=True,  # Ctrl-C and the end of the terminal do not end it
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ClusterAccessError(
                f"{where}: no answer ({error})", remedy=_LOGIN, reason="timeout"
            ) from None
        if done.returncode == 0:
            return
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        said = f" ({lines[-1]})" if lines else ""
        if done.returncode == _FAILED:
            raise ClusterAccessError(
                f"{where}: the login failed{said}", remedy=_LOGIN, reason="login"
            )
        raise ClusterAccessError(
            f"{where} {problem}{said}",
            remedy="check 'edge' of the testbed and the rights of its user.",
            reason="edge node",
        )


def footprint(options: AttachedOptions) -> list[str]:
    """What a study does on the edge node, for lists."""
    if options.edge is None:
        return []
    return [
        f"    SSH to the edge node {options.edge.host}: one command for each client; the folder "
        "/tmp/windtunnel-wt-XXXXXXXX with jars (created and removed)"
    ]


def refused(request: StudyRequest) -> list[str]:
    """The workloads of a study whose clients need files of this machine."""
    names = dict.fromkeys(load.workload for one in request.treatments for load in one.loads)
    return [
        f"workloads.{name}: its client needs files of this machine; with 'edge', these workloads "
        f"run: {', '.join(WORKLOADS)}"
        for name in names
        if name not in WORKLOADS
    ]


_LOGIN = "check 'edge' of the testbed; 'ssh HOST true' must work without a password and a question."
