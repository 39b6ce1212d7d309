"""The engine ``spark``: runs a job description as a new application and parses what it reports.

It has no daemons. An application's driver is a JVM on the client's host; its executors are
containers on YARN, or threads of the driver. Every host reads the jars from the cache: only the
settings are uploaded.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import ClassVar

from windtunnel.engines.engine import Engine
from windtunnel.engines.hadoop.cds import class_list, make_archive
from windtunnel.engines.hadoop.client import numbered, watch, why
from windtunnel.engines.java import archive_options
from windtunnel.engines.json_lines import Step, steps_in
from windtunnel.engines.releases import Line
from windtunnel.engines.spark.sizes import Sizes, sizes_of
from windtunnel.errors import TrialInvalidError
from windtunnel.hosts.base import ProcessSpec

MAIN = "io.windtunnel.spark.Driver"
JAR = "windtunnel-spark.jar"

# The packages that Spark accesses by reflection (its JavaModuleOptions). Spark passes the options
# to its executors; a driver that is not started by Spark's script needs them from here.
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
# for JVMs that plan and wait: with the quick compiler only, they start sooner
_LIGHT = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_JAVA_OF = "spark.{}.extraJavaOptions"  # of driver, executor and yarn.am


@dataclass(frozen=True)
class SparkJob:
    """The job description of an application.

    ``steps`` are those of ``Driver.java``. Without ``yarn``, threads of the driver do the work.
    By default there is one executor per NodeManager, and the machine's cores are divided among
    the executors (``cores`` are those of one). ``settings`` override the engine's; the cluster's
    description overrides both.
    """

    steps: Sequence[Step]
    yarn: bool = True
    executors: int | None = None
    cores: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SparkRun:
    """What an application reported: its start, then each step; and how long its client ran.

    ``started_at`` is the time just before the driver's JVM was started, in epoch seconds.
    """

    start: Step
    steps: Sequence[Step]
    started_at: float
    wall_s: float
    log: Path

    def named(self, name: str) -> Step:
        """The step with a name; TrialInvalidError if the application did not report it."""
        for step in self.steps:
            if step.get("name") == name:
                return step
        raise TrialInvalidError(f"the Spark application did not report {name}; log: {self.log}")


class Spark(Engine):
    """See the module's docstring."""

    name: ClassVar[str] = "spark"
    lines: ClassVar[Mapping[str, Line]] = {"3.5": Line("spark-3.5", 17, None)}
    guarded: ClassVar[bool] = False  # its executors open ports without the guarding class

    def start(self) -> None:
        """Write the driver's jar to the shared folder; no daemon is started.

        The first start on a machine creates a class archive, which takes half a minute: without
        it, three JVMs each parse ten thousand classes before the first result.
        """
        self._jar = self.hadoop.shared / JAR
        package = resources.files("windtunnel.engines.spark")
        self._jar.parent.mkdir(parents=True, exist_ok=True)
        self._jar.write_bytes(package.joinpath(JAR).read_bytes())
        software = self.hadoop.daemons.layout.software
        classes = class_list(__package__, self.name)
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
        # next to the log, so that the results contain every setting and every query
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
        done = steps_in(log.read_text(errors="replace"))
        if not done or done[0].get("did") != "start":
            raise TrialInvalidError(f"{name} succeeded but reported no step; log: {log}")
        return SparkRun(done[0], done[1:], began, wall_s, log)

    def _command(self, description: str, job: SparkJob, sizes: Sizes) -> list[str]:
        """Command line of the driver; the class archive needs the jars first."""
        daemons = self.hadoop.daemons
        software = daemons.layout.software
        binding = daemons.layout.binding(self.hadoop.client.address)
        jars = [self._jars(), str(self._jar), str(daemons.client_conf)]
        return [
            str(software.java),
            f"-Xmx{sizes.driver_mb if job.yarn else sizes.local_mb}m",
            *_DRIVER_OPTIONS,
            *self._jvm_options("driver", _LIGHT if job.yarn else ()),
            *(binding.options if binding else ()),
            "-cp",
            ":".join([*jars, *([str(binding.jar)] if binding else [])]),
            MAIN,
            description,
        ]

    def _jars(self) -> str:
        more = self.hadoop.daemons.layout.software.more_jars
        return ":".join([*(f"{lib}/*" for lib in self._libs()), *map(str, more)])

    def _jvm_options(self, who: str, otherwise: Sequence[str] = ()) -> list[str]:
        """Options of a JVM: host names, class archive, trimmed Java, storage system.

        Those of the description for this JVM follow, or ``otherwise`` if there are none.
        """
        software = self.hadoop.daemons.layout.software
        security = software.security
        options = [f"-Djdk.net.hosts.file={self.hadoop.hosts_file}"]
        options += archive_options(self._archive)
        options += [f"-Djava.security.properties={security}"] if security else []
        given = shlex.split(self.settings.get(_JAVA_OF.format(who), ""))
        return [*options, *software.more_options, *(given or otherwise)]

    def _settings(self, name: str, job: SparkJob, sizes: Sizes) -> dict[str, str]:
        client = self.hadoop.client
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
                # Spark's own build contains Hadoop; Windtunnel's uses the cluster's
                "spark.yarn.populateHadoopClasspath": "true",
                "spark.yarn.am.memory": f"{sizes.master_mb}m",
                "spark.yarn.am.memoryOverhead": f"{sizes.master_overhead_mb}m",
                # for the class archive, class paths begin with the jars (the driver's setting
                # applies to the application master)
                "spark.driver.extraClassPath": self._jars(),
                "spark.executor.extraClassPath": self._jars(),
                "spark.executor.instances": str(sizes.executors),
                "spark.executor.cores": str(sizes.cores),
                "spark.executor.memory": f"{sizes.executor_mb}m",
                "spark.executor.memoryOverhead": f"{sizes.overhead_mb}m",
                # all executors are registered before the first query, which is timed
                "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            }
        else:
            settings["spark.master"] = f"local[{sizes.executors * sizes.cores}]"
        options = {}
        if job.yarn:
            options = {
                _JAVA_OF.format(who): shlex.join(self._jvm_options(who, otherwise))
                for who, otherwise in (("executor", ()), ("yarn.am", _LIGHT))
            }
        return {**settings, **job.settings, **self.settings, **options}
