"""``audit --live`` against web servers that answer as the daemons of a cluster do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.audited import CLEAN, Files, changed, write
from tests.support.webserver import Reply, Request, serving
from windtunnel import cli
from windtunnel.audit.configuration import Configuration, Property
from windtunnel.audit.in_force import LiveCluster, differences, equal, merged, readers_of
from windtunnel.hosts.daemon import Daemon

FAIL = ("FAIL", "hadoop")
SECRET = "PLANTED-IN-FORCE"
HEAP = 8 << 30


@dataclass
class Cluster:
    """One server for each daemon, all on localhost; a test changes what they have in force."""

    conf: dict[str, dict[str, str]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    seen: list[str] = field(default_factory=list)
    workers: tuple[str, ...] = ("localhost",)

    def answer(self, role: str, request: Request) -> Reply:
        self.seen.append(f"{role}{request.path}")
        if role in self.broken:
            return Reply("<html><title>Down</title></html>", 503)
        found: dict[str, Any] = {
            "/jmx": lambda: {"beans": self.beans(role, request.query.get("qry", ""))},
            "/conf": lambda: {"properties": self.properties(role)},
            "/ws/v1/cluster/info": lambda: {
                "clusterInfo": {"haState": "ACTIVE", "hadoopVersion": self.version(role)}
            },
            "/ws/v1/cluster/nodes": lambda: {"nodes": {"node": self.nodes()}},
            "/ws/v1/cluster/scheduler": lambda: {"scheduler": {"schedulerInfo": {}}},
            "/ws/v1/history/info": lambda: {"historyInfo": {"hadoopVersion": self.version(role)}},
        }
        make = found.get(request.path)
        return Reply(make()) if make else Reply("<title>Error 404</title>", 404)

    def version(self, role: str) -> str:
        return self.versions.get(role, "3.5.0")

    def properties(self, role: str) -> list[dict[str, str]]:
        own = self.conf[role]
        made = [{"key": k, "value": v, "resource": "hdfs-site.xml"} for k, v in own.items()]
        made.append({"key": "dfs.a.password", "value": "<redacted>", "resource": "hdfs-site.xml"})
        made.append({"key": "io.seqfile.x", "value": "1", "resource": "core-default.xml"})
        return made

    def nodes(self) -> list[dict[str, Any]]:
        port = self.urls["nodemanager"].rpartition(":")[2]
        return [
            {
                "id": f"{name}:8041",
                "nodeHostName": name,
                "nodeHTTPAddress": f"{name}:{port}",
                "rack": "/default-rack",
                "state": "RUNNING",
                "version": self.version("nodemanager"),
                "availMemoryMB": 1024,
            }
            for name in self.workers
        ]

    def beans(self, role: str, query: str) -> list[dict[str, Any]]:
        port = self.urls["datanode"].rpartition(":")[2]
        live = {
            f"{name}:9866": {
                "infoAddr": f"127.0.0.1:{port}",
                "version": self.version("datanode"),
                "location": "/default-rack",
            }
            for name in self.workers
        }
        volumes = {f"/data/{n}/hdfs/current": {"freeSpace": 1 << 40} for n in range(1, 5)}
        beans: list[dict[str, Any]] = [
            {"name": "Hadoop:service=NameNode,name=NameNodeStatus", "State": "active"},
            {
                "name": "Hadoop:service=NameNode,name=NameNodeInfo",
                "SoftwareVersion": self.version("namenode"),
                "LiveNodes": json.dumps(live),
            },
            {"name": "Hadoop:service=NameNode,name=FSNamesystem", "FilesTotal": 50_000_000},
            {
                "name": "Hadoop:service=DataNode,name=DataNodeInfo",
                "VolumeInfo": json.dumps(volumes),
            },
            {
                "name": "java.lang:type=OperatingSystem",
                "AvailableProcessors": 32,
                "TotalMemorySize": 64 << 30,
            },
            {"name": "java.lang:type=Memory", "HeapMemoryUsage": {"max": HEAP}},
        ]
        return [bean for bean in beans if query in ("", bean["name"])]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    roles = ("namenode", "resourcemanager", "historyserver", "datanode", "nodemanager")
    with ExitStack() as stack:
        for role in roles:
            server = serving(lambda request, role=role: made.answer(role, request))  # type: ignore[misc]
            made.urls[role] = stack.enter_context(server)
        yield made


def site(cluster: Cluster, folder: Path, content: Files = CLEAN) -> Path:
    """A client configuration whose addresses are those of the servers, which have it in force."""
    files = {name: dict(values) for name, values in content.items()}
    address = {role: url.removeprefix("http://") for role, url in cluster.urls.items()}
    files["core-site.xml"]["fs.defaultFS"] = "hdfs://localhost:8020"
    files["hdfs-site.xml"]["dfs.namenode.http-address"] = address["namenode"]
    files["yarn-site.xml"]["yarn.resourcemanager.webapp.address"] = address["resourcemanager"]
    files["mapred-site.xml"]["mapreduce.jobhistory.webapp.address"] = address["historyserver"]
    everything = {name: value for values in files.values() for name, value in values.items()}
    for role in cluster.urls:
        cluster.conf.setdefault(role, {}).update(
            {k: v for k, v in everything.items() if k not in cluster.conf[role]}
        )
    return write(folder / "conf", files)


def audit(folder: Path, *words: str) -> dict[str, Any]:
    shown = CliRunner().invoke(cli.app, ["audit", str(folder), "--live", "--json", *words])
    assert shown.exit_code == 0, shown.output
    made: dict[str, Any] = json.loads(shown.stdout)
    return made


def of(made: dict[str, Any], check: str) -> list[dict[str, Any]]:
    return [one for one in made["results"] if one["check"] == check]


def test_files_that_are_in_force_pass(cluster: Cluster, tmp_path: Path) -> None:
    made = audit(site(cluster, tmp_path))
    (found,) = of(made, "setting-in-force")
    assert found["status"] == "PASS"
    assert found["observed"] == "5 daemons have the values of the files"
    (version,) = of(made, "setting-one-version")
    assert (version["status"], version["observed"]) == ("PASS", "3.5.0 on 5 daemons")
    (other,) = of(made, "setting-other-version")
    assert other["status"] == "PASS", "the version of the daemons is that of the configuration"
    bad = {one["check"] for one in made["results"] if (one["status"], one["area"]) == FAIL}
    few = {"hdfs-replicas", "job-reduces"}
    assert bad == {"hdfs-name-heap", *few}, "one worker, and more files than its heap"


def test_a_change_without_a_restart_is_found_and_the_value_in_force_is_audited(
    cluster: Cluster, tmp_path: Path
) -> None:
    memory = "yarn.nodemanager.resource.memory-mb"
    cluster.conf["nodemanager"] = {memory: "131072"}
    made = audit(site(cluster, tmp_path))
    (found,) = of(made, "setting-in-force")
    assert (found["status"], found["severity"], found["about"]) == ("FAIL", "high", memory)
    assert "53248, but in force: 131072 on nodemanager localhost" in found["observed"]
    assert found["remedy"].startswith("restart nodemanager localhost")
    assert found["place"].startswith("yarn-site.xml:")
    (unfit,) = of(made, "containers-node-memory")
    assert unfit["status"] == "FAIL", "the host has 64 GiB, the value in force is 128 GiB"
    assert unfit["place"] == f"{cluster.urls['nodemanager']}/conf"


def test_a_property_that_the_daemon_does_not_have_is_found(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = site(cluster, tmp_path)
    del cluster.conf["datanode"]["dfs.datanode.failed.volumes.tolerated"]
    (found,) = of(audit(folder), "setting-in-force")
    assert found["about"] == "dfs.datanode.failed.volumes.tolerated"
    assert "not set on datanode localhost" in found["observed"]


def test_spellings_of_one_value_settings_of_jobs_and_derived_values_are_no_difference(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.conf["namenode"] = {
        "dfs.namenode.handler.count": " 46",
        "dfs.namenode.name.dir": "/meta/1/name, /meta/2/name",
        "dfs.blocksize": "268435456",  # clients decide
        "mapreduce.task.io.sort.mb": "100",
    }
    (found,) = of(audit(site(cluster, tmp_path)), "setting-in-force")
    assert found["status"] == "PASS"
    assert equal("128m", "134217728") and equal("TRUE", "true") and not equal("1", "10")
    assert readers_of("mapreduce.map.memory.mb") == readers_of("yarn.scheduler.capacity.x") == ()


def nodes(*values: str) -> list[Daemon]:
    name = "yarn.nodemanager.vmem-check-enabled"
    found = [{name: (value, "yarn-site.xml")} for value in values]
    return [Daemon("nodemanager", f"w{n}", f"http://w{n}", "", v) for n, v in enumerate(found, 1)]


def test_of_several_values_the_most_common_one_is_audited_and_the_others_are_named() -> None:
    name = "yarn.nodemanager.vmem-check-enabled"
    files = Configuration("conf", (Property(name, "true", "yarn-site.xml", 7),))
    one = LiveCluster(files, nodes("true", "false", "true"))
    (found,) = differences(one)
    assert [(value, [d.host for d in where]) for value, where in found.found.items()] == [
        ("false", ["w2"])
    ]
    assert merged(one).value(name) == "true"
    most = LiveCluster(files, nodes("false", "false", "true"))
    assert merged(most).value(name) == "false"
    assert merged(most).place(name) == "http://w1/conf"


def test_a_deprecated_name_is_compared_under_its_new_name() -> None:
    files = Configuration("conf", (Property("dfs.name.dir", "/a", "hdfs-site.xml", 1),))
    values = {"dfs.namenode.name.dir": ("/b", "hdfs-site.xml")}
    (found,) = differences(LiveCluster(files, [Daemon("namenode", "m", "http://m", "", values)]))
    assert (found.name, found.value, list(found.found)) == ("dfs.namenode.name.dir", "/a", ["/b"])


@pytest.mark.parametrize(
    ("name", "value", "now"),
    [
        ("dfs.namenode.my.password", "a", "b"),
        ("dfs.namenode.name.dir", "/data/${user.name}", "/data/hdfs"),
    ],
)
def test_secrets_and_variables_of_the_environment_are_not_compared(
    name: str, value: str, now: str
) -> None:
    files = Configuration("conf", (Property(name, value, "hdfs-site.xml", 1),))
    daemon = Daemon("namenode", "m", "http://m", "", {name: (now, "hdfs-site.xml")})
    assert list(differences(LiveCluster(files, [daemon]))) == []


def test_what_only_the_daemons_set_is_audited(cluster: Cluster, tmp_path: Path) -> None:
    cluster.conf["namenode"] = {"dfs.permissions.enabled": "false"}
    made = audit(site(cluster, tmp_path))
    (found,) = of(made, "secure-permissions")
    assert (found["status"], found["place"]) == ("FAIL", f"{cluster.urls['namenode']}/conf")
    assert of(made, "setting-in-force")[0]["status"] == "PASS"


def test_daemons_of_two_versions_are_found(cluster: Cluster, tmp_path: Path) -> None:
    cluster.versions["nodemanager"] = "3.4.1"
    (found,) = of(audit(site(cluster, tmp_path)), "setting-one-version")
    assert (found["status"], found["about"]) == ("FAIL", "3.4.1")
    assert "nodemanager localhost: 3.4.1; 4 daemons: 3.5.0" in found["observed"]


def test_a_version_that_is_not_maintained_is_found(cluster: Cluster, tmp_path: Path) -> None:
    cluster.versions = dict.fromkeys(cluster.urls, "3.2.2")
    made = audit(site(cluster, tmp_path))
    (found,) = of(made, "surface-end-of-life")
    assert (found["status"], found["subject"]) == ("FAIL", "localhost")
    assert "hadoop-common 3.2.2: not maintained since 2023-12-21" in found["observed"]
    assert {one["check"] for one in made["results"] if one["subject"] == "localhost"} == {
        "surface-end-of-life"
    }


def test_heap_and_files_are_those_of_the_running_name_node(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = site(cluster, tmp_path)
    (found,) = of(audit(folder), "hdfs-name-heap")
    assert found["status"] == "FAIL", "50 million files and a heap of 8 GiB"
    (found,) = of(audit(folder, "--files", "1M"), "hdfs-name-heap")
    assert found["status"] == "PASS", "--files replaces what the NameNode reports"


@pytest.mark.parametrize("role", ["datanode", "nodemanager", "historyserver"])
def test_a_daemon_that_does_not_answer_is_unknown(
    role: str, cluster: Cluster, tmp_path: Path
) -> None:
    cluster.broken.add(role)
    found = of(audit(site(cluster, tmp_path)), "setting-in-force")
    assert {one["status"] for one in found} == {"UNKNOWN"}
    assert any(one["about"] == f"{role} localhost" for one in found)


def test_a_cluster_that_answers_nothing_is_unknown_and_its_files_are_audited(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.broken.update(cluster.urls)
    made = audit(site(cluster, tmp_path))
    assert {one["status"] for one in of(made, "setting-in-force")} == {"UNKNOWN"}
    assert {one["status"] for one in of(made, "setting-one-version")} == {"UNKNOWN"}
    assert of(made, "secure-authentication")[0]["status"] == "FAIL"


def test_files_without_addresses_are_unknown(tmp_path: Path) -> None:
    folder = write(tmp_path / "conf", {"hdfs-site.xml": {"dfs.permissions.enabled": "true"}})
    (found,) = of(audit(folder), "setting-in-force")
    assert found["status"] == "UNKNOWN"
    assert "states no web address of a daemon" in found["observed"]


def test_secrets_in_force_appear_in_no_output(cluster: Cluster, tmp_path: Path) -> None:
    cluster.conf["namenode"] = {
        "hadoop.http.authentication.signature.secret": SECRET,
        "dfs.namenode.audit.loggers": f"http://user:{SECRET}@host/x",
    }
    content = changed(hdfs={"dfs.namenode.audit.loggers": "default"})
    folder = site(cluster, tmp_path, content)
    outputs = [json.dumps(audit(folder))]
    words = ["audit", str(folder), "--live", "--full", "--html", str(tmp_path / "a.html")]
    words += ["--sarif", str(tmp_path / "a.sarif"), "--advise", str(tmp_path / "advice")]
    outputs.append(CliRunner().invoke(cli.app, words).output)
    files = [one for one in tmp_path.rglob("*") if one.is_file()]
    outputs += [one.read_text() for one in files]
    assert len(outputs) > 5
    assert [one for one in outputs if "dfs.namenode.audit.loggers" in one]
    assert not [one for one in outputs if SECRET in one]


def test_a_dry_run_lists_the_requests_and_sends_none(cluster: Cluster, tmp_path: Path) -> None:
    folder = site(cluster, tmp_path)
    shown = CliRunner().invoke(cli.app, ["audit", str(folder), "--live", "--dry-run"])
    assert f"GET {cluster.urls['namenode']}/conf" in shown.output
    assert "of each DataNode and NodeManager" in shown.output
    assert "nothing was sent" in shown.output
    assert cluster.seen == []


def test_without_live_no_daemon_is_asked(cluster: Cluster, tmp_path: Path) -> None:
    shown = CliRunner().invoke(cli.app, ["audit", str(site(cluster, tmp_path)), "--json"])
    (found,) = of(json.loads(shown.stdout), "setting-in-force")
    assert (found["status"], cluster.seen) == ("NOT APPLICABLE", [])
