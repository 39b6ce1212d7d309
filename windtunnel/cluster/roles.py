"""The roles of hosts: one table with all facts about each role.

Descriptions use the names of the roles; engines use the order of start, the hosts and the main
classes; settings use the roles that read them; faults use the roles that can be killed and how
these are restarted. A new role is one entry here. An engine of another package adds its roles
with ``ROLES.add``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from windtunnel.cluster.role_table import RoleEntry, Roles

HADOOP = "hadoop"
_HDFS = "org.apache.hadoop.hdfs.server"
_YARN = "org.apache.hadoop.yarn.server"
_TRINO = "io.windtunnel.trino.Main"

ROLES = Roles()
"""All roles that descriptions can contain."""

ROLES.add(
    HADOOP,
    [
        RoleEntry(
            "namenode",
            main=f"{_HDFS}.namenode.NameNode",
            storage=("hdfs",),
            family="hdfs",
            settings=("dfs.namenode.",),
            returns="restart",
            loss="HDFS does not respond",
        ),
        RoleEntry("secondarynamenode", family="hdfs"),
        RoleEntry(
            "journalnode",
            main="org.apache.hadoop.hdfs.qjournal.server.JournalNode",
            family="hdfs",
            settings=("dfs.journalnode.",),
            returns="restart",
            loss="without a majority of the JournalNodes, the active NameNode ends",
        ),
        RoleEntry(
            "datanode",
            main=f"{_HDFS}.datanode.DataNode",
            step=2,
            worker=True,
            storage=("hdfs",),
            holds=True,
            shaped=True,
            family="hdfs",
            settings=("dfs.datanode.",),
            returns="restart",
            loss="blocks lose a replica",
        ),
        RoleEntry(
            "resourcemanager",
            main=f"{_YARN}.resourcemanager.ResourceManager",
            needs=("nodemanager",),
            family="yarn",
            settings=("yarn.resourcemanager.", "yarn.scheduler."),
            returns="restart",
            loss="no job starts, and running jobs get no new containers",
        ),
        RoleEntry(
            "nodemanager",
            main=f"{_YARN}.nodemanager.NodeManager",
            step=2,
            worker=True,
            needs=("resourcemanager",),
            shaped=True,
            family="yarn",
            settings=("yarn.nodemanager.", "mapreduce.shuffle."),
            returns="restart",
            loss="its containers continue, but their map output cannot be fetched",
        ),
        # It starts after HDFS has left safe mode; without it no job's counters can be read.
        RoleEntry(
            "historyserver",
            main="org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer",
            step=3,
            family="mapreduce",
            settings=("mapreduce.jobhistory.",),
        ),
    ],
)
ROLES.add(None, [RoleEntry("client")])
ROLES.add(
    "hbase",
    [
        RoleEntry(
            "zookeeper",
            main="org.apache.zookeeper.server.quorum.QuorumPeerMain",
            returns="restart",
            loss="HBase's clients and servers lose their sessions after a while",
        ),
        RoleEntry(
            "hbase-master",
            main="org.apache.hadoop.hbase.master.HMaster",
            step=2,
            returns="restart",
            loss="reads and writes continue, no region is moved",
            aliases=("hmaster",),
        ),
        RoleEntry(
            "regionserver",
            main="org.apache.hadoop.hbase.regionserver.HRegionServer",
            step=3,
            worker=True,
            needs=("hbase-master",),
            beside="datanode",
            shaped=True,
            returns="restart",
            loss="its regions are unavailable until another server opens them",
        ),
    ],
    settings=("hbase", "hfile", "zookeeper"),
)
ROLES.add("hive", settings=("hive",))
ROLES.add(
    "kudu",
    [
        RoleEntry(
            "kudu-master",
            main="master",
            returns="restart",
            loss="clients that know their tablets continue",
        ),
        RoleEntry(
            "kudu-tserver",
            main="tserver",
            step=2,
            worker=True,
            needs=("kudu-master",),
            beside="datanode",
            returns="restart",
            loss="its tablets elect other leaders if they have replicas",
        ),
    ],
    settings=("kudu",),
)
ROLES.add("pig", settings=("pig",))
ROLES.add("impala", [RoleEntry("impala-server"), RoleEntry("impala-daemon", worker=True)])
ROLES.add(
    "spark",
    [RoleEntry("spark-master"), RoleEntry("spark-worker", worker=True)],
    settings=("spark",),
)
ROLES.add(
    "trino",
    [
        RoleEntry(
            "trino-coordinator",
            main=_TRINO,
            returns="restart in its phase",
            loss="running queries fail",
        ),
        RoleEntry(
            "trino-worker",
            main=_TRINO,
            step=2,
            worker=True,
            needs=("trino-coordinator",),
            beside="nodemanager",
            returns="restart in its phase",
            loss="queries that use it fail",
        ),
    ],
    settings=("trino",),
)
ROLES.add(
    "ceph",
    [
        RoleEntry(
            "mon",
            main="ceph-mon",
            storage=("cephfs", "ceph-fuse", "s3a"),
            returns="restart",
            loss="without a majority of the monitors, no client connects and no state changes",
        ),
        RoleEntry(
            "mgr",
            main="ceph-mgr",
            returns="restart",
            loss="the statistics stop; reads and writes continue",
        ),
        RoleEntry(
            "osd",
            main="ceph-osd",
            step=2,
            worker=True,
            storage=("cephfs", "ceph-fuse", "s3a"),
            holds=True,
            shaped=True,
            returns="restart",
            loss="objects lose a replica or a cell",
        ),
        RoleEntry(
            "mds",
            main="ceph-mds",
            step=3,
            storage=("cephfs", "ceph-fuse"),
            returns="restart",
            loss="no file is opened or created until it or another one is active",
        ),
        RoleEntry("ceph-fuse", main="ceph-fuse", step=3, storage=("ceph-fuse",), mounts=True),
        RoleEntry(
            "rgw",
            main="radosgw",
            step=3,
            storage=("s3a",),
            returns="restart",
            loss="no file can be read or written until it is started again",
        ),
    ],
    settings=("ceph",),
)
_OZONE = "org.apache.hadoop"
ROLES.add(
    "ozone",
    [
        RoleEntry(
            "scm",
            main=f"{_OZONE}.hdds.scm.server.StorageContainerManagerStarter",
            storage=("ozone",),
            returns="restart",
            loss="no block is allocated; files can be read",
        ),
        RoleEntry(
            "om",
            main=f"{_OZONE}.ozone.om.OzoneManagerStarter",
            step=2,
            storage=("ozone",),
            returns="restart",
            loss="no file can be opened, created or listed",
        ),
        RoleEntry(
            "ozone-datanode",
            main=f"{_OZONE}.ozone.HddsDatanodeService",
            step=2,
            worker=True,
            storage=("ozone",),
            holds=True,
            shaped=True,
            returns="restart",
            loss="containers lose a replica or a cell",
        ),
    ],
    settings=("ozone", "hdds"),
)
ROLES.add(None, [RoleEntry("management")])


@dataclass(frozen=True, slots=True)
class KnownRole:
    """Marks a text as the name of a role in the table at the time of validation.

    ``killable``: the daemon of the role can be killed. ``rename``: an alias is replaced by its
    name; else it stays as written, which keeps the fingerprints of existing data.
    """

    killable: bool = False
    rename: bool = True

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        ROLES.complete()
        names = self._names()
        older = [alias for alias, name in ROLES.aliases().items() if name in names]
        kinds: list[JsonSchemaValue] = [{"enum": names, "type": "string"}]
        if older:
            kinds.append({"enum": older, "type": "string", "deprecated": True})
        return {"anyOf": kinds}

    def _names(self) -> list[str]:
        return ROLES.killable() if self.killable else ROLES.names()

    def _checked(self, given: object) -> str:
        if isinstance(given, str) and given not in ROLES:  # an engine of another package may add it
            ROLES.complete()
        names = self._names()
        if not isinstance(given, str) or ROLES.canonical(given) not in names:
            *most, last = (f"'{name}'" for name in names)
            expected = f"{', '.join(most)} or {last}" if most else last
            raise PydanticKnownError("literal_error", {"expected": expected})
        return ROLES.canonical(given) if self.rename else given


Role = Annotated[str, KnownRole()]
"""The name of a role, in a description."""

KillableRole = Annotated[str, KnownRole(killable=True, rename=False)]
"""The name of a role whose daemon can be killed, as written."""
