"""Hadoop's clients on this machine, for an existing cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.engines.hadoop.client import cause_in
from windtunnel.engines.hadoop.software import JVM_OPTIONS, Software
from windtunnel.errors import DeploymentError, SetupError
from windtunnel.hosts.local import LocalHost
from windtunnel.testbeds.attached.edge import Edge
from windtunnel.testbeds.attached.options import AttachedOptions

_HEAP_MB = 512
_LIMIT_S = 90.0
_KERBEROS = {"KRB5CCNAME", "KRB5_CONFIG"}
_OF_SCRIPTS = {"JAVA_HOME", "HADOOP_HOME", "HADOOP_COMMON_HOME", "HADOOP_MAPRED_HOME"}
_OF_SSH = {"HOME", "SSH_AUTH_SOCK"}
_APPLICATIONS = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"


class EdgeHost(LocalHost):
    """This machine as the host of clients; its account is the user on the cluster."""

    user = ""

    @property
    def account(self) -> str:
        """The name of the user on the cluster."""
        return self.user


@dataclass
class Client:
    """Command lines of Hadoop's clients, and their environment.

    Parameters
    ----------
    tickets:
        The ticket cache of the study; None to use the cache of the user, or without Kerberos.
    settings:
        Properties of every client, such as the queue.
    own:
        Properties that clients with Windtunnel's jars need in addition.
    edge:
        The edge node on which the clients run; None for this machine.
    """

    options: AttachedOptions
    software: Software
    tickets: Path | None = None
    settings: dict[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    edge: Edge | None = None

    @property
    def env(self) -> dict[str, str]:
        """Environment variables of a client."""
        options = self.options
        # clients get few variables of the user's environment
        passed = _KERBEROS if not options.hadoop else _KERBEROS | _OF_SCRIPTS
        if self.edge is not None:
            passed = _OF_SSH
        found = {name: os.environ[name] for name in passed if name in os.environ}
        if options.user and not options.principal:
            found["HADOOP_USER_NAME"] = options.user
        if self.tickets is not None:
            found["KRB5CCNAME"] = f"FILE:{self.tickets}"
        if options.krb5_conf:
            found["KRB5_CONFIG"] = str(_absolute(options.krb5_conf))
        if options.hadoop:
            jars = f"{self.software.client_lib}/*"
            found |= {
                "HADOOP_CONF_DIR": str(options.conf_folder),
                "HADOOP_CLASSPATH": jars,
                "HADOOP_CLIENT_OPTS": " ".join(self._jvm_options()),
            }
        return found

    def command(self, main: str, args: Sequence[str]) -> list[str]:
        """Command line of a main class of Hadoop, with the settings as generic options."""
        settings = {**self.own, **self.settings}
        return self._command(main, [f"-D{n}={v}" for n, v in sorted(settings.items())], args)

    def _command(self, main: str, generic: Sequence[str], args: Sequence[str]) -> list[str]:
        if self.edge is not None:
            return self.edge.command(main, [*generic, *args], self.options)
        if self.options.hadoop:
            return [find_program(self.options.hadoop), main, *generic, *args]
        software = self.software
        return [
            str(software.java),
            f"-Xmx{_HEAP_MB}m",
            *JVM_OPTIONS,
            *software.options,
            *self._jvm_options(),
            "-cp",
            ":".join(
                [
                    *software.jars,
                    str(self.options.conf_folder),
                    f"{software.client_lib}/*",
                ]
            ),
            main,
            *generic,
            *args,
        ]

    def _jvm_options(self) -> list[str]:
        options = self.options
        found = []
        if options.hosts_file:
            found.append(f"-Djdk.net.hosts.file={_absolute(options.hosts_file)}")
        if options.krb5_conf:
            found.append(f"-Djava.security.krb5.conf={_absolute(options.krb5_conf)}")
        return found

    def kill(self, applications: Sequence[str]) -> None:
        """End applications; raises DeploymentError if the client fails."""
        if applications:
            self.run(_APPLICATIONS, ["application", "-kill", *applications])

    def run(self, main: str, args: Sequence[str]) -> str:
        """Run a short client without settings; returns its output. Raises DeploymentError."""
        try:
            done = subprocess.run(
                self._command(main, [], args),
                env={**os.environ, **self.env},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                start_new_session=True,  # Ctrl-C and the end of the terminal do not end it
                timeout=_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DeploymentError(f"the client {main} did not run: {error}") from error
        text = (done.stdout + done.stderr).decode(errors="replace")
        if done.returncode != 0:
            raise DeploymentError(f"the client {main} failed: {cause_in(text)}")
        return text


def find_program(given: str) -> str:
    """The path of the cluster's own ``hadoop``; raises SetupError if there is none."""
    found = shutil.which(Path(given).expanduser())
    if found is None:
        raise SetupError(
            f"testbed.hadoop: there is no program '{given}'",
            remedy="run on an edge node of the cluster, or remove the option to use the jars that "
            "Windtunnel fetched.",
        )
    return found


def _absolute(path: str) -> Path:
    return Path(path).expanduser().absolute()


def unknown_files(options: AttachedOptions) -> Mapping[str, str]:
    """The options that name a file that does not exist: name -> path."""
    given = {name: getattr(options, name) for name in ("hosts_file", "keytab", "krb5_conf")}
    if options.edge is not None:
        given |= {f"edge.{name}": path for name, path in options.edge.files().items()}
    for source, one in options.sources.items():
        given |= {f"{source}.{name}": path for name, path in one.files().items()}
    return {name: path for name, path in given.items() if path and not _absolute(path).is_file()}
