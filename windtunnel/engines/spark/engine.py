"""The engine ``spark``: runs a job description as an application of its own and reads what it told.

Nothing of it runs between jobs. An application's driver is a JVM on the client's host; its
executors are containers on YARN, or threads of the driver. The jars are read from the cache where
they lie, on every host: nothing is uploaded but the settings.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import ClassVar

from windtunnel.engines.engine import Engine
from windtunnel.engines.hadoop.cds import make_archive
from windtunnel.engines.hadoop.client import numbered, watch, why
from windtunnel.engines.lines import Line
from windtunnel.engines.spark.sizes import Sizes, sizes_of
from windtunnel.engines.told import Step, told_in
from windtunnel.errors import TrialInvalidError
from windtunnel.hosts.base import ProcessSpec

MAIN = "io.windtunnel.spark.Driver"
JAR = "windtunnel-spark.jar"

# What Spark reaches into by reflection (its JavaModuleOptions). It tells its executors by itself;
# a driver that no script of Spark's starts has to be told.
_OPENS = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)
_OPTIONS = tuple(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENS)
_DRIVER_OPTIONS = (*_OPTIONS, "-Dio.netty.tryReflectionSetAccessible=true", "-XX:-UsePerfData")
# JVMs that plan and wait: the quick compiler alone starts them sooner
_LIGHT = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True)
class SparkJob:
    """What an application does.

    ``steps`` are those of ``Driver.java``. Without ``yarn`` the work is done by threads of the
    driver. ``executors`` and ``cores`` (of each) are by default one for each NodeManager and the
    machine's cores shared out; ``settings`` win over the engine's, those of the cluster's
    description over both.
    """

    steps: Sequence[Step]
    yarn: bool = True
    executors: int | None = None
    cores: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SparkRun:
    """What an application told: its start, then each step; and how long its client ran.

    ``started_at`` is epoch seconds, just before the driver's JVM was started.
    """

    start: Step
    steps: Sequence[Step]
    started_at: float
    wall_s: float
    log: Path

    def named(self, name: str) -> Step:
        """The step with a name; TrialInvalidError if it told nothing."""
        for step in self.steps:
            if step.get("name") == name:
                return step
        raise TrialInvalidError(f"the Spark application told nothing of {name}; log: {self.log}")


class Spark(Engine):
    """See the module's docstring."""

    name: ClassVar[str] = "spark"
    lines: ClassVar[Mapping[str, Line]] = {"3.5": Line("spark-3.5", 17, None)}
    guarded: ClassVar[bool] = False  # its executors open ports without the class that guards

    def start(self) -> None:
        """Lay the driver's jar where its host reads it; no daemon is started.

        The first time on a machine a class archive is made, which takes half a minute: without
        it, three JVMs parse ten thousand classes each before the first answer.
        """
        self._jar = self.hadoop.shared / JAR
        package = resources.files("windtunnel.engines.spark")
        self._jar.parent.mkdir(parents=True, exist_ok=True)
        self._jar.write_bytes(package.joinpath(JAR).read_bytes())
        software = self.hadoop.daemons.layout.software
        classes = package.joinpath("classlist/spark.txt.gz").read_bytes()
        self._archive = make_archive(
            software.java, software.java_version, self._libs(), classes, _OPTIONS
        )

    def _libs(self) -> list[Path]:
        """Folders of jars: Spark's first, so that its version of a library wins."""
        return [self.jars.lib, self.hadoop.daemons.layout.software.lib]

    def run(self, name: str, job: SparkJob, deadline_s: float) -> SparkRun:
        """Run an application to its end.

        Raises
        ------
        TrialInvalidError
            If it fails or is still running at ``deadline_s`` (monotonic).
        DeploymentError
            If a daemon of the cluster dies meanwhile.
        """
        client, daemons = self.hadoop.client, self.hadoop.daemons
        label = numbered(f"spark-{name}")
        sizes = sizes_of(daemons.layout, job.executors, job.cores)
        settings = self._settings(name, job, sizes)
        # beside the log: results keep every setting and every query
        description = client.logs / "clients" / f"{label}.json"
        client.write_text(
            description, json.dumps({"settings": settings, "steps": list(job.steps)}, indent=1)
        )
        log = description.with_suffix(".log")
        env = {
            "JAVA_HOME": str(daemons.layout.software.java.parent.parent),
            "HADOOP_CONF_DIR": str(daemons.client_conf),
            "SPARK_LOCAL_IP": client.address,
            "SPARK_LOCAL_HOSTNAME": client.name,
        }
        argv = self._command(str(description), job, sizes)
        began = time.time()
        process = client.spawn(ProcessSpec(label, argv, log, client.root, env))
        code = watch(daemons, process, name, deadline_s)
        wall_s = time.time() - began
        if code != 0:
            raise TrialInvalidError(f"{name} failed (exit code {code}): {why(log)}")
        told = told_in(log.read_text(errors="replace"))
        if not told or told[0].get("did") != "start":
            raise TrialInvalidError(f"{name} ended well but told nothing; log: {log}")
        return SparkRun(told[0], told[1:], began, wall_s, log)

    def _command(self, description: str, job: SparkJob, sizes: Sizes) -> list[str]:
        """Command line of the driver; the class archive wants the jars first."""
        daemons = self.hadoop.daemons
        software = daemons.layout.software
        binding = daemons.layout.binding(self.hadoop.client.address)
        jars = [self._jars(), str(self._jar), str(daemons.client_conf)]
        return [
            str(software.java),
            f"-Xmx{sizes.driver_mb if job.yarn else sizes.local_mb}m",
            *_DRIVER_OPTIONS,
            *(_LIGHT if job.yarn else ()),
            *self._jvm_options(),
            *(binding.options if binding else ()),
            "-cp",
            ":".join([*jars, *([str(binding.jar)] if binding else [])]),
            MAIN,
            description,
        ]

    def _jars(self) -> str:
        return ":".join(f"{lib}/*" for lib in self._libs())

    def _jvm_options(self) -> list[str]:
        """What all of its JVMs are told: names of hosts, classes, what a trimmed Java needs."""
        security = self.hadoop.daemons.layout.software.security
        options = [f"-Djdk.net.hosts.file={self.hadoop.hosts_file}"]
        options += [f"-XX:SharedArchiveFile={self._archive}"] if self._archive else []
        return options + ([f"-Djava.security.properties={security}"] if security else [])

    def _settings(self, name: str, job: SparkJob, sizes: Sizes) -> dict[str, str]:
        client = self.hadoop.client
        options = " ".join(self._jvm_options())
        settings = {
            "spark.app.name": f"windtunnel-{name}",
            "spark.driver.host": client.address,
            "spark.driver.bindAddress": client.address,
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "false",
            "spark.log.level": "WARN",
            "spark.local.dir": str(client.root / "spark" / "tmp"),
            "spark.sql.warehouse.dir": str(client.root / "spark" / "warehouse"),
        }
        if job.yarn:
            settings |= {
                "spark.master": "yarn",
                "spark.submit.deployMode": "client",
                "spark.yarn.jars": f"local:{self.jars.lib}/*",
                # Spark's own build brings Hadoop along, ours is the cluster's
                "spark.yarn.populateHadoopClasspath": "true",
                "spark.yarn.am.memory": f"{sizes.master_mb}m",
                "spark.yarn.am.memoryOverhead": f"{sizes.master_overhead_mb}m",
                "spark.yarn.am.extraJavaOptions": " ".join([options, *_LIGHT]),
                "spark.executor.extraJavaOptions": options,
                # for the class archive: class paths begin with the jars (the first is the master's)
                "spark.driver.extraClassPath": self._jars(),
                "spark.executor.extraClassPath": self._jars(),
                "spark.executor.instances": str(sizes.executors),
                "spark.executor.cores": str(sizes.cores),
                "spark.executor.memory": f"{sizes.executor_mb}m",
                "spark.executor.memoryOverhead": f"{sizes.overhead_mb}m",
                # all of them are there before the first query, which is what is timed
                "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            }
        else:
            settings["spark.master"] = f"local[{sizes.executors * sizes.cores}]"
        return {**settings, **job.settings, **self.settings}
