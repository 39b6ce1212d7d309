"""Hadoop's clients: run a job as a timed phase, or run a command for the user."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from windtunnel.engines.hadoop.daemons import Daemons
from windtunnel.engines.hadoop.job_failure import cause_of_failure
from windtunnel.engines.hadoop.loopback import Binding
from windtunnel.engines.hadoop.software import Software
from windtunnel.engines.hadoop.start_up import ContainerLogs
from windtunnel.engines.running import tail
from windtunnel.errors import TrialInvalidError, UsageError
from windtunnel.hosts.base import Host, Process, ProcessSpec
from windtunnel.hosts.leftovers import Registration, entering
from windtunnel.hosts.supervisor import python_path

_JOB_ID = re.compile(r"\bjob_\d+_\d+\b")
_CLIENT_HEAP_MB = 512
_POLL_S = 0.1
_OUTPUT_LINES = 20

# The commands of ``windtunnel exec``: the first words of a command, its main class, and words
# that this class needs as its first arguments.
COMMANDS: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("hdfs", "dfs"): ("org.apache.hadoop.fs.FsShell", ()),
    ("hdfs", "dfsadmin"): ("org.apache.hadoop.hdfs.tools.DFSAdmin", ()),
    ("hdfs", "fsck"): ("org.apache.hadoop.hdfs.tools.DFSck", ()),
    ("hdfs", "getconf"): ("org.apache.hadoop.hdfs.tools.GetConf", ()),
    ("hdfs", "balancer"): ("org.apache.hadoop.hdfs.server.balancer.Balancer", ()),
    ("hdfs", "ec"): ("org.apache.hadoop.hdfs.tools.ECAdmin", ()),
    ("hadoop", "fs"): ("org.apache.hadoop.fs.FsShell", ()),
    ("hadoop", "jar"): ("org.apache.hadoop.util.RunJar", ()),
    ("hadoop", "version"): ("org.apache.hadoop.util.VersionInfo", ()),
    ("yarn", "application"): (
        "org.apache.hadoop.yarn.client.cli.ApplicationCLI",
        ("application",),
    ),
    ("yarn", "app"): ("org.apache.hadoop.yarn.client.cli.ApplicationCLI", ("app",)),
    ("yarn", "node"): ("org.apache.hadoop.yarn.client.cli.NodeCLI", ()),
    ("yarn", "queue"): ("org.apache.hadoop.yarn.client.cli.QueueCLI", ()),
    ("yarn", "logs"): ("org.apache.hadoop.yarn.client.cli.LogsCLI", ()),
    ("yarn", "rmadmin"): ("org.apache.hadoop.yarn.client.cli.RMAdminCLI", ()),
    ("yarn", "jar"): ("org.apache.hadoop.util.RunJar", ()),
    ("mapred", "job"): ("org.apache.hadoop.mapred.JobClient", ()),
    ("mapred", "queue"): ("org.apache.hadoop.mapred.JobQueueClient", ()),
}
EXAMPLES = "examples"


def user_command(words: Sequence[str], facts: Mapping[str, Any]) -> list[str]:
    """The JVM's command line for a command such as ``hdfs dfs -ls /``.

    The word ``examples`` in place of a jar stands for Hadoop's examples jar.

    Parameters
    ----------
    facts:
        What a deployment registered about its clients (``software``, ``hosts_file``, ``conf``,
        ``binding``: jar and address, or None).

    Raises
    ------
    UsageError
        If the first two words are no known command.
    """
    found = COMMANDS.get((words[0], words[1])) if len(words) > 1 else None
    if found is None:
        known = ", ".join(" ".join(pair) for pair in COMMANDS)
        raise UsageError(
            f"unknown command: {' '.join(words[:2])}", remedy=f"known commands: {known}."
        )
    software = Software.from_json(facts["software"])
    main, again = found
    rest = list(words[2:])
    if words[1] == "jar" and rest[:1] == [EXAMPLES]:
        rest[0] = str(examples_jar(software.client_lib))
    bound = facts.get("binding")
    return software.command(
        main,
        *again,
        *rest,
        heap_mb=_CLIENT_HEAP_MB,
        hosts_file=Path(facts["hosts_file"]),
        classpath=[facts["conf"], f"{software.client_lib}/*"],
        binding=Binding.from_json(bound) if bound else None,
    )


def user_process(entry: Registration, words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Command line and environment of a command such as ``hdfs dfs -ls /``, on the client host.

    It runs as the caller; Hadoop sees the deployment's own account. Raises UsageError.
    """
    facts = entry.facts()["client"]
    known = {"HADOOP_USER_NAME": str(facts["account"]), "PYTHONPATH": python_path()}
    command = entering(entry.folder, "client", user_command(words, facts))
    return command, os.environ | known


def client_command(daemons: Daemons, host: Host, main: str, args: Sequence[str]) -> list[str]:
    """Command line of a Hadoop client on a host, against the deployment of ``daemons``."""
    software = daemons.layout.software
    return software.command(
        main,
        *args,
        heap_mb=_CLIENT_HEAP_MB,
        hosts_file=daemons.hosts_file,
        classpath=[daemons.client_conf, f"{software.client_lib}/*"],
        binding=daemons.layout.binding(host.address),
    )


def examples_jar(client_lib: Path) -> Path:
    """The jar with Hadoop's example programs (TeraSort, WordCount, Pi, ...)."""
    return next(iter(sorted(client_lib.glob("hadoop-mapreduce-examples-*.jar"))))


_NUMBERS = itertools.count(1)


def numbered(name: str) -> str:
    """A name for a client and its log that is unique in this process: ``0007-NAME``.

    Output is appended to logs, and deployments, engines and parts of a mix may use a name again.
    With an equal name, the output of an earlier client would be read.
    """
    return f"{next(_NUMBERS):04d}-{name}"


class Watched(Protocol):
    """Daemons that a client needs."""

    def check_alive(self) -> None:
        """Raise DeploymentError if one has died."""
        ...


class Submitter(Watched, Protocol):
    """How clients run on one host of a deployment."""

    @property
    def env(self) -> Mapping[str, str]:
        """Environment variables of the clients."""
        ...

    def command(self, main: str, args: Sequence[str]) -> list[str]:
        """Command line of a client."""
        ...


class DaemonClients:
    """Clients of a deployment whose daemons Windtunnel started."""

    env: Mapping[str, str] = MappingProxyType({})

    def __init__(self, daemons: Daemons, host: Host, check_alive: Callable[[], None]) -> None:
        self._daemons = daemons
        self._host = host
        self._check_alive = check_alive

    def command(self, main: str, args: Sequence[str]) -> list[str]:
        """Command line of a client."""
        return client_command(self._daemons, self._host, main, args)

    def check_alive(self) -> None:
        """Raise DeploymentError if a daemon or a keeper of waiting JVMs has died."""
        self._check_alive()


class JobClient:
    """Runs MapReduce programs on one host of a deployment; several may run concurrently."""

    def __init__(self, submitter: Submitter, host: Host, logs: ContainerLogs | None = None) -> None:
        self._submitter = submitter
        self._host = host
        self._logs = logs

    def run(
        self,
        name: str,
        argv: Sequence[str],
        settings: Mapping[str, str],
        deadline_s: float,
    ) -> tuple[str, float, str]:
        """Run a main class to its end.

        Returns its last job's id, the wall time in seconds, and the last lines of its output.

        Raises
        ------
        TrialInvalidError
            If it fails, submits no job, or is still running at ``deadline_s`` (monotonic).
        DeploymentError
            If a daemon dies meanwhile.
        """
        label = numbered(name)
        log = self._host.logs / "clients" / f"{label}.log"
        main, *rest = argv
        options = [f"-D{key}={value}" for key, value in sorted(settings.items())]
        command = self._submitter.command(main, [*options, *rest])
        began = time.monotonic()
        spec = ProcessSpec(
            f"client-{label}", command, log, self._host.root, env=self._submitter.env
        )
        process = self._host.spawn(spec)
        code = watch(self._submitter, process, name, deadline_s)
        wall_s = time.monotonic() - began
        text = log.read_text(errors="replace")
        if code != 0:
            cause = cause_of_failure(text, self._logs.output if self._logs else lambda _: "")
            raise TrialInvalidError(f"{name} failed (exit code {code}): {cause or why(log)}")
        ids = _JOB_ID.findall(text)
        if not ids:
            raise TrialInvalidError(f"{name} succeeded but submitted no job; log: {log}")
        return ids[-1], wall_s, tail(log, _OUTPUT_LINES)


def watch(daemons: Watched, process: Process, name: str, deadline_s: float) -> int:
    """Wait for a client's end while the daemons run; returns its exit code.

    Raises
    ------
    TrialInvalidError
        If it still runs at ``deadline_s`` (monotonic); it is then killed.
    DeploymentError
        If a daemon dies meanwhile.
    """
    try:
        while (code := process.wait(_POLL_S)) is None:
            daemons.check_alive()
            if time.monotonic() > deadline_s:
                raise TrialInvalidError(f"{name} was still running at the trial's time limit")
    finally:
        if process.returncode() is None:
            process.kill()
            process.wait(5)
    daemons.check_alive()
    return code


def why(log: Path) -> str:
    """The last exception or error in a client's log, else its last line."""
    return cause_in(tail(log, 200))


def cause_in(text: str) -> str:
    """The last exception or error in a client's output, else its last line."""
    rows = [row for row in text.splitlines() if not row.lstrip().startswith("at ")]
    errors = [row for row in rows if re.search(r"Exception|Error|ERROR|failed", row)]
    return (errors or rows or ["no output"])[-1].strip()[:300]
