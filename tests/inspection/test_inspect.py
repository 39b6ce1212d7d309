"""``inspect`` against web servers with fixed answers in the form of Hadoop's daemons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.inspection.test_site_files import site, write
from tests.support.prometheus_web import PrometheusWeb
from tests.support.webserver import Reply, Request, serving
from windtunnel.cli import run
from windtunnel.cluster.loading import load_cluster
from windtunnel.inspection.describe import rack_names

SYSTEM = {
    "name": "java.lang:type=OperatingSystem",
    "AvailableProcessors": 16,
    "TotalMemorySize": 64 << 30,
    "Name": "Linux",
    "Version": "6.1",
}
RUNTIME = {
    "name": "java.lang:type=Runtime",
    "SystemProperties": [{"key": "java.version", "value": "17.0.12"}],
}
PLANTED = "planted-site-secret"


class Daemons:
    """Web servers of one host that answer for all daemons: the paths tell which."""

    def __init__(self, workers: int = 3) -> None:
        self.workers = workers
        self.url = ""
        self.state = "active"
        self.disks = {f"w{n}": 4 for n in range(1, workers + 1)}
        self.broken: dict[str, Reply] = {}

    def __call__(self, request: Request) -> Reply:
        for path, reply in self.broken.items():
            if path in request.path:
                return reply
        found: Callable[[], Any] | None = {
            "/jmx": lambda: {"beans": self.beans(request.query.get("qry", ""))},
            "/conf": lambda: {
                "properties": [
                    {
                        "key": "dfs.namenode.handler.count",
                        "value": "64",
                        "resource": "hdfs-site.xml",
                    },
                    {"key": "dfs.blocksize", "value": "268435456", "resource": "hdfs-site.xml"},
                    {"key": "dfs.heartbeat.interval", "value": "3", "resource": "hdfs-default.xml"},
                    {"key": "dfs.my.password", "value": PLANTED, "resource": "hdfs-site.xml"},
                ]
            },
            "/ws/v1/cluster/info": lambda: {
                "clusterInfo": {"haState": "ACTIVE", "hadoopVersion": "3.4.1"}
            },
            "/ws/v1/cluster/nodes": lambda: {"nodes": {"node": self.nodes()}},
            "/ws/v1/cluster/scheduler": lambda: {
                "scheduler": {
                    "schedulerInfo": {
                        "type": "capacityScheduler",
                        "queueName": "root",
                        "capacity": 100.0,
                        "queues": {"queue": [{"queueName": "etl", "capacity": 30.0}]},
                    }
                }
            },
            "/ws/v1/history/info": lambda: {"historyInfo": {"hadoopVersion": "3.4.1"}},
        }.get(request.path)
        return Reply(found()) if found else Reply("<title>Error 404</title>", 404)

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {
                "id": f"w{n}:8041",
                "nodeHostName": f"w{n}",
                "nodeHTTPAddress": f"w{n}:1",
                "rack": f"/dc1/rack-{n % 2}",
                "state": "RUNNING",
                "version": "3.4.1",
                "usedMemoryMB": 1024,
                "availMemoryMB": 47 * 1024,
                "usedVirtualCores": 1,
                "availableVirtualCores": 15,
                "nodeLabels": ["ssd"] if n == 1 else [],
            }
            for n in range(1, self.workers + 1)
        ]

    def beans(self, query: str) -> list[dict[str, Any]]:
        live = {
            f"w{n}:9866": {
                "infoAddr": f"10.0.0.{n}:0",
                "infoSecureAddr": "",
                "capacity": 4 << 40,
                "version": "3.4.1",
                "location": f"/dc1/rack-{n % 2}",
            }
            for n in range(1, self.workers + 1)
        }
        beans: list[dict[str, Any]] = [
            {"name": "Hadoop:service=NameNode,name=NameNodeStatus", "State": self.state},
            {
                "name": "Hadoop:service=NameNode,name=NameNodeInfo",
                "SoftwareVersion": "3.4.1",
                "ClusterId": "CID-1",
                "Total": 12 << 40,
                "Free": 6 << 40,
                "LiveNodes": json.dumps(live),
                "DeadNodes": json.dumps({"w9:9866": {}}),
                "DecomNodes": "{}",
                "Safemode": "",
            },
            {"name": "Hadoop:service=NameNode,name=FSNamesystem", "MissingBlocks": 0},
            SYSTEM,
            RUNTIME,
        ]
        return [bean for bean in beans if query in ("", bean["name"])]


@pytest.fixture
def daemons() -> Iterator[Daemons]:
    made = Daemons()
    with ExitStack() as stack:
        made.url = stack.enter_context(serving(made))
        yield made


def conf_of(folder: Path, url: str) -> Path:
    address = url.removeprefix("http://")
    return write(
        folder,
        core_site=site(fs_defaultFS="hdfs://localhost:8020", a_secret_key=PLANTED),
        hdfs_site=site(dfs_namenode_http__address=address, dfs_replication="2"),
        yarn_site=site(
            yarn_resourcemanager_webapp_address=address,
            yarn_scheduler_maximum__allocation__mb="40960",
        ),
        mapred_site=site(
            mapreduce_jobhistory_address="localhost:10020",
            mapreduce_jobhistory_webapp_address=address,
            mapreduce_task_io_sort_mb="512",
            mapreduce_map_java_opts=f"-Xmx1g -Dkey.password={PLANTED}",
        ),
    )


def test_the_description_of_a_cluster(
    daemons: Daemons, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    conf = conf_of(tmp_path / "conf", daemons.url)
    file = tmp_path / "mine.yaml"
    assert run(["inspect", str(conf), "--output", str(file), "--name", "mine"]) == 0
    out = capfd.readouterr().out
    made = load_cluster(file)
    assert {name: host.count for name, host in made.hosts.items()} == {
        "master": 1,
        "worker": 2,
        "worker-b": 1,  # its node label differs
    }
    master = made.hosts["master"]
    assert master.roles == ("namenode", "resourcemanager", "historyserver")
    assert master.cpu is not None and master.cpu.threads == 16
    assert int(master.memory or 0) == 64 << 30
    assert made.hosts["worker"].memory is None  # its daemons did not answer
    assert made.network is not None
    assert {name: rack.hosts for name, rack in made.network.racks.items()} == {
        "dc1-rack1": ("worker-2", "worker-b"),
        "dc1-rack0": ("worker-1",),
        "unknown": ("master",),
    }
    assert (made.software.hadoop, made.storage.replication) == ("3.4.1", 2)
    assert int(made.storage.block_size or 0) == 256 << 20
    assert made.settings == {
        "dfs.namenode.handler.count": "64",
        "mapreduce.task.io.sort.mb": "512",
        "yarn.scheduler.maximum-allocation-mb": "40960",
    }
    text = file.read_text()
    assert f"# {daemons.url}/conf" in text
    assert "mapred-site.xml:" in text
    assert "# memory: UNKNOWN" in text and "# nics: UNKNOWN" in text
    sources = json.loads((tmp_path / "mine.sources.json").read_text())
    assert sources["cluster"]["capacity_bytes"]["value"] == 12 << 40
    assert [queue["name"] for queue in sources["queues"]] == ["root", "etl"]
    assert {s["name"] for s in sources["settings"]} >= {"a.secret.key", "dfs.my.password"}
    assert "DataNode w9:9866 is dead" in out
    assert "not read:" in out and "http://w1:1/jmx" in out
    assert f"{daemons.url}/ws/v1/cluster/nodes" in out
    for everything in (out, text, json.dumps(sources)):
        assert PLANTED not in everything


@pytest.mark.parametrize("value", ["128mb", "", "${nothing}", "0"])
def test_a_block_size_that_hadoop_cannot_read_is_noted_and_left_out(
    value: str, daemons: Daemons, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    daemons.broken["/conf"] = Reply("", 404)
    conf = conf_of(tmp_path / "conf", daemons.url)
    text = (conf / "mapred-site.xml").read_text()
    row = f"<property><name>dfs.blocksize</name><value>{value}</value></property>"
    (conf / "mapred-site.xml").write_text(text.replace("</conf", f"{row}</conf"))
    file = tmp_path / "mine.yaml"
    assert run(["inspect", str(conf), "--output", str(file)]) == 0
    assert "no block_size" in capfd.readouterr().out
    assert load_cluster(file).storage.block_size is None


def test_what_needs_the_cluster_is_only_in_the_file_of_sources(
    daemons: Daemons, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    conf, file = conf_of(tmp_path / "conf", daemons.url), tmp_path / "mine.yaml"
    root = "yarn.scheduler.capacity.root"
    needing = {
        f"{root}.queues": "etl,adhoc",
        f"{root}.etl.capacity": "80",
        f"{root}.etl.user-limit-factor": "4",
        f"{root}.etl.acl_submit_applications": "*",
        "mapreduce.job.queuename": "etl",
        "dfs.client.read.shortcircuit": "true",
        "io.compression.codecs": "org.apache.hadoop.io.compress.GzipCodec,"
        "com.hadoop.compression.lzo.LzoCodec",
    }
    calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
    name = "yarn.scheduler.capacity.resource-calculator"
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in {**needing, name: calculator}.items()
    )
    (conf / "capacity-scheduler.xml").write_text(f"<configuration>{rows}</configuration>")
    assert run(["inspect", str(conf), "--output", str(file)]) == 0
    out, settings = capfd.readouterr().out, load_cluster(file).settings
    assert settings[name] == calculator
    assert not settings.keys() & needing.keys()
    sources = json.loads((tmp_path / "mine.sources.json").read_text())
    found = {one["name"]: one for one in sources["settings"]}
    for one, value in needing.items():
        assert (found[one]["value"], found[one]["portable"]) == (value, False)
        assert found[one]["reason"]
    assert found[name]["reason"] == ""
    for text in (out, file.read_text(), "\n".join(sources["notes"])):
        assert "mapreduce.job.queuename" in text and "and 2 more: queues belong to" in text
        assert "dfs.client.read.shortcircuit: Hadoop's published jars" in text
        assert "io.compression.codecs: Hadoop's jars do not contain a class" in text
        assert "fs.defaultFS" not in text  # a place


def test_a_prometheus_server_adds_what_no_daemon_reports(
    daemons: Daemons, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    conf, file = conf_of(tmp_path / "conf", daemons.url), tmp_path / "mine.yaml"
    words = ["inspect", str(conf), "--output", str(file), "--prometheus"]
    with serving(PrometheusWeb({"w1:9100": "w1", "w2:9100": "w2"})) as url:
        assert run([*words, url, "--selector", 'job="node"']) == 0
    out, text = capfd.readouterr().out, file.read_text()
    assert "Prometheus does not know localhost, w3" in out
    worker = load_cluster(file).hosts["worker"]
    assert worker.nics is not None
    assert [(int(nic.rate or 0), nic.count) for nic in worker.nics] == [(1_250_000_000, 1)]
    assert worker.cpu is not None and worker.cpu.threads == 8
    assert int(worker.memory or 0) == 16 << 30
    assert f"nics:  # {url} (Prometheus, node exporter)" in text
    sources = json.loads((tmp_path / "mine.sources.json").read_text())
    nics = [host["nics"] for host in sources["hosts"]]
    assert sum(nic["bytes_s"] == [1.25e9] for nic in nics) == 2


def test_a_prometheus_server_that_does_not_answer_is_listed(
    daemons: Daemons, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    conf, file = conf_of(tmp_path / "conf", daemons.url), tmp_path / "mine.yaml"
    with serving(PrometheusWeb({})) as url:
        assert run(["inspect", str(conf), "--output", str(file), "--prometheus", url]) == 0
    assert "has no node exporter of a host of the cluster" in capfd.readouterr().out
    assert "# nics: UNKNOWN" in file.read_text()


def test_from_urls_alone(daemons: Daemons, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    words = ["--namenode", daemons.url, "--resourcemanager", daemons.url, "--output", str(file)]
    assert run(["inspect", *words]) == 0
    assert load_cluster(file).name == "localhost"


def test_a_resourcemanager_that_fails_is_listed(
    daemons: Daemons, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    daemons.broken["/ws/v1/cluster"] = Reply("<html><title>Login</title></html>")
    conf = conf_of(tmp_path / "conf", daemons.url)
    file = tmp_path / "a.yaml"
    assert run(["inspect", str(conf), "--output", str(file)]) == 0
    out = capfd.readouterr().out
    assert "web page titled 'Login' instead of JSON" in out
    assert load_cluster(file).role_counts()["nodemanager"] == 0


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply("standby RM"), "standby"),
        (Reply("<html><title>Portal</title></html>"), "Portal"),
        (Reply(b"", 401, [("WWW-Authenticate", "Basic")]), "password"),
        (Reply("x", 503), "not ready"),
        (Reply({"beans": []}), "is not a NameNode"),
        (Reply({"beans": [{"State": "standby"}]}), "in state standby"),
    ],
)
def test_without_a_namenode_nothing_is_written(
    reply: Reply,
    message: str,
    daemons: Daemons,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    daemons.broken["/jmx"] = reply
    conf = conf_of(tmp_path / "conf", daemons.url)
    file = tmp_path / "a.yaml"
    assert run(["inspect", str(conf), "--output", str(file)]) == 12
    error = capfd.readouterr().err
    assert error.startswith("cluster access: no worker is known")
    assert message in error and "what to do" in error
    assert not list(tmp_path.glob("a.*"))


def test_workers_of_a_file_replace_a_namenode_that_lists_none(tmp_path: Path) -> None:
    daemons = Daemons(workers=0)
    with serving(daemons) as url:
        conf = conf_of(tmp_path / "conf", url)
        (conf / "workers").write_text("w1\nw2\n")
        file = tmp_path / "a.yaml"
        assert run(["inspect", str(conf), "--output", str(file)]) == 0
    assert load_cluster(file).role_counts()["datanode"] == 2


def test_wrong_commands(
    daemons: Daemons, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    conf = conf_of(tmp_path / "conf", daemons.url)
    (tmp_path / "there.yaml").touch()
    for words, code, message in (
        ([], 2, "nothing to inspect"),
        ([str(tmp_path / "absent")], 2, "does not exist"),
        ([str(conf), "--output", str(tmp_path / "there.yaml")], 2, "exists already"),
        ([str(conf), "--output", "."], 2, "is a folder"),
        ([str(conf), "--output", str(tmp_path)], 2, "is a folder"),
        (["--namenode", "nn:9870"], 2, "not a URL"),
        ([str(conf), "--ca-file", "absent"], 2, "does not exist"),
    ):
        assert run(["inspect", *words]) == code
        error = capfd.readouterr().err
        assert message in error and "what to do" in error


@pytest.mark.parametrize("output", [".", "..", "there.yaml", "other.yaml"])
def test_a_wrong_file_is_refused_before_the_cluster_is_read(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.yaml").touch()
    (tmp_path / "other.sources.json").touch()
    read: list[object] = []
    monkeypatch.setattr("windtunnel.inspection.services.read_services", lambda *a: read.append(a))
    assert run(["inspect", "--namenode", "http://nn:9870", "--output", output]) == 2
    assert not read


def test_racks_whose_names_are_the_same_in_a_description_stay_apart() -> None:
    long = 50 * "r"
    racks = ["/dc1/rack-03", "/dc1/rack03", "/dc1-rack/03", "/03", "/", long, f"{long}r"]
    names = rack_names(racks)
    assert list(names.values()) == [
        "dc1-rack03",
        "dc1-rack03-b",
        "dc1-rack03-c",
        "rack03",
        "rack",
        40 * "r",
        38 * "r" + "-b",
    ]
