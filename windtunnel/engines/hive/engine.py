"""The engine ``hive``: statements of HiveQL, of which queries run as MapReduce jobs.

Nothing of it runs between uses. A session is a JVM on the client's host that holds Hive's
compiler and a metastore in memory; what queries need of Hive goes to YARN with their jobs, as
everywhere: Hive's own jar of 83 MB with each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from windtunnel.engines.engine import Engine
from windtunnel.engines.hadoop.client import numbered
from windtunnel.engines.lines import Line
from windtunnel.engines.told import Step, told_in
from windtunnel.errors import TrialInvalidError

MAIN = "io.windtunnel.hive.Driver"
OWN_JAR = Path(__file__).with_name("windtunnel-hive.jar")
_HEAP_MB = 768
# What its serialisation of plans reaches into, in clients and in tasks, beside what Hadoop needs.
_OPENS = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.io", "java.net", "java.util.concurrent", "java.util.concurrent.atomic")
)
_TASK_OPTIONS = ("mapreduce.map.java.opts", "mapreduce.reduce.java.opts")
_CLASSPATH = "mapreduce.application.classpath"


@dataclass(frozen=True)
class HiveRun:
    """What a session told of each step (see ``Driver.java``), and when it ran.

    ``started_at`` is epoch seconds, just before its JVM was started; ``wall_s`` is until its end.
    """

    steps: Sequence[Step]
    started_at: float
    wall_s: float


class Hive(Engine):
    """See the module's docstring."""

    name: ClassVar[str] = "hive"
    # made for Java 8 and seen on 17; nobody has run it on the newest ones yet
    lines: ClassVar[Mapping[str, Line]] = {"4.0": Line("hive-4.0", 17, 21)}

    def start(self) -> None:
        """No daemon is started."""

    def run(self, name: str, steps: Sequence[Step], deadline_s: float) -> HiveRun:
        """Take steps (``name`` and ``sql`` each) in a session of their own.

        Raises
        ------
        TrialInvalidError
            If one fails or is still running at ``deadline_s`` (monotonic).
        DeploymentError
            If a daemon of the cluster dies meanwhile.
        """
        client = self.hadoop.client
        folder = client.root / "hive" / numbered(name)
        # beside the log: results keep every setting and every query
        description = client.logs / "clients" / f"{folder.name}-hive.json"
        job = {"settings": self._settings(str(folder)), "steps": list(steps)}
        client.write_text(description, json.dumps(job, indent=1))
        began = time.time()
        text = self.hadoop.run_on_client(
            name, self._command(str(description), str(folder)), deadline_s=deadline_s
        )
        wall_s = time.time() - began
        told = told_in(text)
        if [step["name"] for step in told] != [step["name"] for step in steps]:
            raise TrialInvalidError(
                f"Hive did not answer all that {name} asked; what that was: {description}"
            )
        return HiveRun(told, began, wall_s)

    def _command(self, description: str, folder: str) -> list[str]:
        daemons, client = self.hadoop.daemons, self.hadoop.client
        return daemons.layout.software.command(
            MAIN,
            description,
            heap_mb=_HEAP_MB,
            hosts_file=daemons.hosts_file,
            classpath=[daemons.client_conf, OWN_JAR, f"{self.jars.lib}/*"],
            options=(*_OPENS, f"-Dderby.stream.error.file={folder}/derby.log"),
            binding=daemons.layout.binding(client.address),
        )

    def _settings(self, folder: str) -> dict[str, str]:
        """Of the session and its jobs; those of the cluster's description win."""
        opens = " ".join(_OPENS)
        settings = {
            "hive.execution.engine": "mr",
            # a metastore of its own, which ends with the session
            "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.event.db.notification.api.auth": "false",
            "hive.metastore.warehouse.dir": "/windtunnel/hive/warehouse",
            "hive.exec.scratchdir": "/windtunnel/hive/scratch",
            "hive.exec.local.scratchdir": f"{folder}/scratch",
            "hive.downloaded.resources.dir": f"{folder}/resources",
            "hive.querylog.location": f"{folder}/log",
            # files are read, whatever the metastore may know of them
            "hive.stats.autogather": "false",
            "hive.compute.query.using.stats": "false",
            # it makes a standard deviation the difference of two sums of squares, which has no
            # digits left where values are large and alike (HIVE-25351, open in 4.0)
            "hive.cbo.rule.exclusion.regex": "HiveAggregateReduceFunctionsRule",
            # a task for each split of a file; Hive's default packs what lies on one host into
            # tasks of 256 MB
            "hive.input.format": "org.apache.hadoop.hive.ql.io.HiveInputFormat",
        }
        # Hadoop's once more: Hive lays defaults of its own over what the site files say
        settings |= self.hadoop.daemons.layout.properties()
        settings |= self.settings
        for name in _TASK_OPTIONS:
            settings[name] = f"{opens} {settings.get(name, '')}".strip()
        # of which Hive's jar takes the second for granted, and Hadoop has it no longer
        return {**settings, _CLASSPATH: f"{settings[_CLASSPATH]},{self._collections()}"}

    def _collections(self) -> Path:
        """The jar of Commons Collections 3, read where it lies in the cache."""
        return next(iter(self.jars.lib.glob("commons-collections-3*.jar")))
