"""The engine ``hive``: statements of HiveQL; its queries run as MapReduce jobs.

It has no daemons. A session is a JVM on the client's host with Hive's compiler and a metastore
in memory. Each job of a query uploads Hive's jar of 83 MB to YARN, as in every installation.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from windtunnel.cluster import Cluster
from windtunnel.engines.engine import Engine
from windtunnel.engines.hadoop.client import numbered
from windtunnel.engines.json_lines import Step, steps_in
from windtunnel.engines.releases import Line
from windtunnel.errors import TrialInvalidError

MAIN = "io.windtunnel.hive.Driver"
OWN_JAR = Path(__file__).with_name("windtunnel-hive.jar")
_HEAP_MB = 768
# The packages that its serialisation of plans accesses in clients and tasks, in addition to those
# of Hadoop.
_OPENS = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.io", "java.net", "java.util.concurrent", "java.util.concurrent.atomic")
)
_TASK_OPTIONS = ("mapreduce.map.java.opts", "mapreduce.reduce.java.opts")
_CLASSPATH = "mapreduce.application.classpath"
_ENGINE = "hive.execution.engine"


@dataclass(frozen=True)
class HiveRun:
    """The steps that a session reported (see ``Driver.java``), and when it ran.

    ``started_at`` is the time just before its JVM was started, in epoch seconds; ``wall_s`` is the
    time from then to its end.
    """

    steps: Sequence[Step]
    started_at: float
    wall_s: float


class Hive(Engine):
    """See the module's docstring."""

    name: ClassVar[str] = "hive"
    # built for Java 8 and tested on 17; not tested on the newest releases
    lines: ClassVar[Mapping[str, Line]] = {"4.0": Line("hive-4.0", 17, 21)}

    @classmethod
    def refused_settings(cls, cluster: Cluster) -> Mapping[str, str]:
        """The metastore of an installation, which must not get the tables, and other engines."""
        found = {
            name: "the session has a metastore of its own and must not use another one"
            for name in cluster.settings
            if name == "hive.metastore.uris" or name.startswith("javax.jdo.option.")
        }
        engine = str(cluster.settings.get(_ENGINE, "mr"))
        if engine != "mr":
            found[_ENGINE] = f"queries run as MapReduce jobs, not with '{engine}'"
        return found

    def start(self) -> None:
        """No daemon is started."""

    def run(self, name: str, steps: Sequence[Step], deadline_s: float) -> HiveRun:
        """Execute steps (each with ``name`` and ``sql``) in a new session.

        Raises
        ------
        TrialInvalidError
            If one fails or is still running at ``deadline_s`` (monotonic).
        DeploymentError
            If a daemon of the cluster dies meanwhile.
        """
        client = self.hadoop.client
        folder = client.root / "hive" / numbered(name)
        # next to the log, so that the results contain every setting and every query
        description = client.logs / "clients" / f"{folder.name}-hive.json"
        job = {"settings": self._settings(str(folder)), "steps": list(steps)}
        client.write_text(description, json.dumps(job, indent=1))
        began = time.time()
        text = self.hadoop.run_on_client(
            name, self._command(str(description), str(folder)), deadline_s=deadline_s
        )
        wall_s = time.time() - began
        done = steps_in(text)
        if [step["name"] for step in done] != [step["name"] for step in steps]:
            raise TrialInvalidError(
                f"Hive did not execute all steps of {name}; the steps are in {description}"
            )
        return HiveRun(done, began, wall_s)

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
        """Settings of the session and its jobs; the cluster's description overrides them."""
        opens = " ".join(_OPENS)
        settings = {
            _ENGINE: "mr",
            # a private metastore, which ends with the session
            "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.event.db.notification.api.auth": "false",
            "hive.metastore.warehouse.dir": "/windtunnel/hive/warehouse",
            "hive.exec.scratchdir": "/windtunnel/hive/scratch",
            "hive.exec.local.scratchdir": f"{folder}/scratch",
            "hive.downloaded.resources.dir": f"{folder}/resources",
            "hive.querylog.location": f"{folder}/log",
            # queries must read the files, not the metastore's statistics
            "hive.stats.autogather": "false",
            "hive.compute.query.using.stats": "false",
            # this rule computes a standard deviation as the difference of two sums of squares,
            # which loses all digits if values are large and similar (HIVE-25351, open in 4.0)
            "hive.cbo.rule.exclusion.regex": "HiveAggregateReduceFunctionsRule",
            # one task per split of a file; Hive's default combines the splits of one host into
            # tasks of 256 MB
            "hive.input.format": "org.apache.hadoop.hive.ql.io.HiveInputFormat",
        }
        # Hadoop's properties again: Hive's own defaults override the site files
        settings |= self.hadoop.daemons.layout.properties()
        settings |= self.settings
        for name in _TASK_OPTIONS:  # Hadoop reads the other name where these are not set
            given = settings.get(name) or settings.get("mapred.child.java.opts", "")
            settings[name] = f"{opens} {given}".strip()
        # Hive's jar needs Commons Collections 3, which Hadoop no longer contains
        return {**settings, _CLASSPATH: f"{settings[_CLASSPATH]},{self._collections()}"}

    def _collections(self) -> Path:
        """The jar of Commons Collections 3, which is read from the cache."""
        return next(iter(self.jars.lib.glob("commons-collections-3*.jar")))
