"""The engine ``pig``: scripts in Pig Latin that run as MapReduce jobs.

Nothing of it runs between scripts. A script's client is a JVM on the client's host; it submits
jobs to YARN that take what they need of Pig with them. Our own jar holds a class that Pig names
when it submits and that only its release has (see ``java``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.engine import Engine
from windtunnel.engines.hadoop.client import numbered
from windtunnel.engines.hadoop.program import client_jvm, run_program
from windtunnel.engines.lines import Line

OWN_JAR = Path(__file__).with_name("windtunnel-pig.jar")
_MAIN = "org.apache.pig.Main"


class Pig(Engine):
    """See the module's docstring."""

    name: ClassVar[str] = "pig"
    # seen on 17; nobody has run it on the newest ones yet
    lines: ClassVar[Mapping[str, Line]] = {"0.18": Line("pig-0.18", 17, 21)}

    def start(self) -> None:
        """No daemon is started."""

    def run(self, phase: str, script: str, folder: str, deadline_s: float) -> JobRun:
        """Run a script to its end, as one timed phase from its first job's start to its last's end.

        Parameters
        ----------
        folder:
            A folder of the cluster's file system for what is passed between jobs.
        deadline_s:
            Monotonic time at which it is given up.

        Raises
        ------
        TrialInvalidError
            If it fails, submits no job, or is still running at ``deadline_s``.
        DeploymentError
            If a daemon of the cluster dies meanwhile.
        """
        client = self.hadoop.client
        base = client.root / "pig" / numbered(phase)
        source, properties = base.with_suffix(".pig"), base.with_suffix(".properties")
        client.write_text(source, script)
        settings = {"pig.temp.dir": folder, **self.settings}
        client.write_text(properties, "".join(f"{k}={_escaped(v)}\n" for k, v in settings.items()))
        words = ["-x", "mapreduce", "-P", str(properties), "-l", str(client.logs / "clients")]
        jars: list[Path | str] = [f"{self.jars.lib}/*", OWN_JAR]
        command = client_jvm(self.hadoop, _MAIN, [*words, "-f", str(source)], jars)
        return run_program(self.hadoop, phase, command, deadline_s)


def _escaped(value: str) -> str:
    """A value as a Java properties file wants it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n")
