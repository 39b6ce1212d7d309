"""The engine ``pig``: scripts in Pig Latin that run as MapReduce jobs.

It has no daemons. The client of a script is a JVM on the client's host; it submits jobs to YARN
and uploads the parts of Pig that they need. Windtunnel's own jar holds a class that Pig refers to
when it submits a job and that only Pig's binary release contains (see ``java``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from windtunnel.engines.deployment import JobRun
from windtunnel.engines.engine import Engine
from windtunnel.engines.hadoop.client import numbered
from windtunnel.engines.hadoop.program import client_jvm, run_program
from windtunnel.engines.releases import Line

OWN_JAR = Path(__file__).with_name("windtunnel-pig.jar")
_MAIN = "org.apache.pig.Main"


class Pig(Engine):
    """See the module's docstring."""

    name: ClassVar[str] = "pig"
    # tested on Java 17; not tested on the newest releases
    lines: ClassVar[Mapping[str, Line]] = {"0.18": Line("pig-0.18", 17, 21)}

    def start(self) -> None:
        """No daemon is started."""

    def run(self, phase: str, script: str, folder: str, deadline_s: float) -> JobRun:
        """Run a script as one timed phase, from its first job's start to its last job's end.

        Parameters
        ----------
        folder:
            A folder of the cluster's file system for intermediate data of the jobs.
        deadline_s:
            Monotonic time at which it is aborted.

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
    """A value, escaped for a Java properties file."""
    return value.replace("\\", "\\\\").replace("\n", "\\n")
