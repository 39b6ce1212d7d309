"""Ozone below Hadoop: its settings, its set-up and its status, without a running Ozone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.ceph import placements
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.ozone import ozone, status
from windtunnel.engines.ozone.ozone import Ozone
from windtunnel.engines.ozone.status import Nodes, Status
from windtunnel.engines.storage_system import Ground

CLUSTER = load_cluster("local-3-ozone")


class Managers:
    """Answers as the two managers do."""

    def __init__(self) -> None:
        self.found: Nodes | None = None
        self.serves = False

    def nodes(self) -> Nodes | None:
        return self.found

    def manager_serves(self) -> bool:
        return self.serves

    def close(self) -> None:
        """Nothing."""


class Started:
    """Ozone with names instead of processes."""

    def __init__(self, folder: Path, changes: dict[str, Any] | None = None) -> None:
        cluster = apply_overrides(CLUSTER, changes or {})
        self.spawned: list[tuple[str, str]] = []
        placed = placements(cluster, folder)
        for placement in placed:
            made: Any = placement.host
            made.spawn = self.spawn
            made.write_text = self.write
        self.written: dict[str, str] = {}
        ground = Ground(cluster, placed, folder / "shared", own_networks=True)
        self.storage = Ozone(ground)
        self.managers = Managers()
        self.storage.status = self.managers  # type: ignore[assignment]

    def spawn(self, spec: Any) -> Any:
        self.spawned.append((spec.name, " ".join(spec.argv)))
        return SimpleNamespace(name=spec.name)

    def write(self, path: Path, text: str) -> None:
        self.written[f"{path.parent.parent.name}/{path.name}"] = text


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    found = Started(tmp_path)
    command = lambda self, role, host: [role]  # noqa: E731
    monkeypatch.setattr(Ozone, "_command", command)
    monkeypatch.setattr(ozone, "make_archive", lambda *words: None)
    monkeypatch.setattr(ozone, "_artifacts", lambda: SimpleNamespace(lib=tmp_path))
    java = SimpleNamespace(java=Path("/java/bin/java"), java_version="17")
    jvms: Any = SimpleNamespace(layout=SimpleNamespace(software=java))
    jvms.spawn_own = lambda host, name, *a, **k: found.spawn(SimpleNamespace(name=name, argv=[]))
    found.storage.begin(jvms)
    return found


def test_managers_are_initialised_once_and_follow_each_other(started: Started) -> None:
    first = dict(started.spawned)
    assert first["scm@master"] == "/bin/sh -c scm --init && exec scm"
    assert [name for name in first if name.startswith("ozone-datanode")] == [
        f"ozone-datanode@worker-{i}" for i in (1, 2, 3)
    ]
    assert started.storage.state().missing == ["the storage container manager"]

    started.managers.found = Nodes(healthy=1, safe_mode=True, wanting=0)
    missing = started.storage.state().missing
    assert missing == ["2 ozone-datanodes", "the end of Ozone's safe mode", "the ozone manager"]
    assert started.spawned[-1] == ("om@master", "/bin/sh -c om --init && exec om")

    started.managers.found = Nodes(healthy=3, safe_mode=False, wanting=0)
    started.managers.serves = True
    state = started.storage.state()
    assert (state.serving, state.missing) == (True, ["the file server"])
    started.storage.restart("om@master")
    assert started.spawned[-1] == ("om@master", "om"), "its data exists"


def test_each_host_has_its_own_name_and_folders(started: Started) -> None:
    text = started.written["worker-2/ozone-site.xml"]
    assert "<value>worker-2</value>" in text
    assert "<name>hdds.datanode.dir</name>" in text
    assert "<name>hdds.datanode.dir</name>" not in started.written["master/ozone-site.xml"]


def test_clients_find_their_settings_on_the_class_path(started: Started) -> None:
    (folder,) = started.storage.class_path()
    text = (folder / "ozone-site.xml").read_text()
    assert "<name>hdds.datanode.use.datanode.hostname</name>" in text
    assert "<name>hdds.datanode.dir</name>" not in text, "only the settings of clients"


def test_the_volume_and_its_buckets_are_created_before_the_first_job(started: Started) -> None:
    made: list[str] = []
    started.storage.prepare(SimpleNamespace(make_folder=made.append))  # type: ignore[arg-type]
    assert made == ["/windtunnel/trials", "/windtunnel/shared"]


def test_copies_are_those_of_the_containers(started: Started) -> None:
    assert started.storage.copies({}) is None
    started.managers.found = Nodes(healthy=2, safe_mode=False, wanting=4)
    started.managers.serves = True
    found = started.storage.copies({})
    assert found is not None
    assert (found.holders, found.wanting, found.serving) == (2, 4, False)


def test_an_erasure_code_is_the_replication_of_all_files(tmp_path: Path) -> None:
    changes = {"storage.erasure_code": "RS-3-2", "hosts.worker.count": 5}
    found = Started(tmp_path, changes)
    common = found.storage.site.common({})
    assert common["ozone.server.default.replication"] == "rs-3-2-1024k"
    assert common["ozone.server.default.replication.type"] == "EC"
    assert found.storage.site.client()["ozone.replication.type"] == "EC"
    assert common["ozone.replication.type"] == "RATIS", "for pipelines that end the safe mode"
    assert found.storage.expected_copies(1) == "replication 5"


def test_settings_of_the_description_override(tmp_path: Path) -> None:
    changes = {"settings.ozone.scm.container.size": "2GB", "storage.block_size": "64 MiB"}
    found = Started(tmp_path, changes).storage
    assert found.site.common(found._given())["ozone.scm.container.size"] == "2GB"
    assert found.settings()["ozone.scm.block.size"] == f"{64 << 20}B"
    assert found.settings()["fs.defaultFS"] == "ofs://master:9862/"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"storage.replication": 2}, "Ozone stores 1 or 3 replicas, not 2"),
        ({"storage.erasure_code": "XOR-2-1"}, "Ozone has RS-3-2, RS-6-3, RS-10-4, not XOR-2-1"),
        ({"hosts.worker.roles": ["ozone-datanode", "om", "nodemanager"]}, "exactly one host"),
        ({"software.task_start": "warm"}, "warm starts need storage of kind hdfs"),
    ],
)
def test_what_it_cannot_do_is_refused(changes: dict[str, Any], says: str) -> None:
    assert any(says in line for line in Ozone.problems(apply_overrides(CLUSTER, changes)))


def test_the_status_is_read_from_the_beans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beans: dict[str, dict[str, Any]] = {}
    site = Started(tmp_path).storage.site
    monkeypatch.setattr(Status, "_bean", lambda self, role, service, name: beans.get(service, {}))
    reader = Status(site)
    assert reader.nodes() is None
    assert not reader.manager_serves()
    healths = [{"key": "HEALTHY", "value": 2}, {"key": "DEAD", "value": 1}]
    beans["StorageContainerManager"] = {"InSafeMode": True, "UnderReplicatedContainers": 3}
    beans["SCMNodeManager"] = {
        "NodeCount": [
            {"key": "DECOMMISSIONED", "value": []},
            {"key": "IN_SERVICE", "value": healths},
        ]
    }
    beans["OzoneManager"] = {"Version": "2.2.0"}
    assert reader.nodes() == Nodes(healthy=2, safe_mode=True, wanting=3)
    assert reader.manager_serves()
    assert status._healthy([]) == 0


def test_memory_grows_with_the_datanodes() -> None:
    more = apply_overrides(CLUSTER, {"hosts.worker.count": 5})
    grown = Ozone.daemons_bytes(more) - Ozone.daemons_bytes(CLUSTER)
    assert grown == 2 * ozone._RESIDENT_MB["ozone-datanode"] << 20
