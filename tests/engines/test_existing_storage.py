"""Storage systems that Windtunnel did not start: who owns the place, and what is removed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.hosts import host
from tests.support.web_files import WebFiles
from windtunnel.cluster import Cluster, apply_overrides, load_cluster
from windtunnel.engines import existing_storage
from windtunnel.engines.ceph import existing_s3, programs
from windtunnel.engines.certificate import self_signed
from windtunnel.engines.existing_storage import OWNER, ExistingStorage, this_process
from windtunnel.engines.hadoop.layout import Placement
from windtunnel.engines.storage_system import Ground
from windtunnel.engines.storage_systems import outside_of, storage_of
from windtunnel.errors import DeploymentError, DescriptionError, SetupError
from windtunnel.hosts.identity import identity

ENDED = [2**22 + 1, 5, "another boot"]
KEYS = "[default]\naws_access_key_id = AK\naws_secret_access_key = planted-secret\n"
CEPH_KEYS = "[client.admin]\n\tkey = all\n[client.bench]\n\tkey = own\n"


def described(**storage: Any) -> Cluster:
    changes = {
        "hosts.master.roles": ["resourcemanager", "historyserver"],
        "hosts.worker.roles": ["nodemanager"],
        **{f"storage.{name}": value for name, value in storage.items()},
    }
    return apply_overrides(load_cluster("local-3"), changes)


def bucket(folder: Path, **more: Any) -> Cluster:
    (folder / "keys").write_text(KEYS)
    given = {"endpoint": "http://127.0.0.1:9", "bucket": "bench", "keys_file": str(folder / "keys")}
    return described(kind="existing-s3", s3={**given, **more})


def ceph(folder: Path, replication: int = 2, **more: Any) -> Cluster:
    (folder / "ceph.conf").write_text("[global]\nmon_host = 192.0.2.1\n")
    (folder / "keyring").write_text(CEPH_KEYS)
    given = {"conf": str(folder / "ceph.conf"), "keyring": str(folder / "keyring")}
    given |= {"client": "bench", "folder": "/benchmarks"}
    return described(kind="existing-cephfs", replication=replication, ceph={**given, **more})


class Used:
    """An existing storage whose file server is ``web``; its process has not ended."""

    def __init__(self, cluster: Cluster, folder: Path, web: WebFiles) -> None:
        self.hosts_file = folder / "hosts"
        self.hosts_file.touch()
        self.code: int | None = None
        placed = [Placement(host("master", "127.0.0.1", folder), (), folder)]
        made = storage_of(cluster)(Ground(cluster, placed, folder, own_networks=False))
        assert isinstance(made, ExistingStorage)
        self.storage = made
        self.storage.server.address = web.address
        jvms: Any = SimpleNamespace(hosts_file=self.hosts_file, spawn_own=self.spawn_own)
        self.jvms = jvms

    def spawn_own(self, *words: Any, **_: Any) -> Any:
        return SimpleNamespace(name=words[1], log=Path("log"), returncode=lambda: self.code)


@pytest.fixture(autouse=True)
def _settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other cluster starts at the same time."""
    monkeypatch.setattr(existing_storage, "_SETTLE_S", 0.0)


@pytest.fixture
def web() -> Iterator[WebFiles]:
    made = WebFiles()
    yield made
    made.close()


@pytest.fixture
def used(tmp_path: Path, web: WebFiles) -> Used:
    """A bucket at an endpoint that accepts connections."""
    host_, port = web.address
    made = Used(bucket(tmp_path, endpoint=f"http://{host_}:{port}"), tmp_path, web)
    made.storage.begin(made.jvms)
    return made


@pytest.fixture(autouse=True)
def _with_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with an id: containers can have none."""
    (tmp_path / "this-machine-id").write_text("0123\n")
    monkeypatch.setattr("windtunnel.hosts.identity._MACHINE_ID", tmp_path / "this-machine-id")


def owner(process: object, **other: object) -> bytes:
    """The file of a process of this machine, with other facts."""
    return json.dumps({"id": "1", **this_process(), "process": process, **other}).encode()


def test_an_empty_bucket_is_used_and_emptied(used: Used, web: WebFiles) -> None:
    state = used.storage.state()
    assert (state.serving, state.missing) == (True, [])
    assert list(web.files) == [f"/{OWNER}"]
    web.files |= {"/windtunnel/trials/x/part-0": b"1", "/tmp/y": b"2", "/sales/new.csv": b"3"}
    used.storage.remove_data()
    assert web.files == {"/sales/new.csv": b"3"}, "what others wrote meanwhile stays"
    used.storage.remove_data()  # again: nothing is left to do


def test_data_of_others_is_neither_used_nor_removed(used: Used, web: WebFiles) -> None:
    web.files["/sales/2026.csv"] = b"theirs"
    with pytest.raises(DeploymentError, match=r"bucket bench .*not empty, but contains sales"):
        used.storage.state()
    used.storage.remove_data()
    assert web.files == {"/sales/2026.csv": b"theirs"}


@pytest.mark.parametrize(
    ("process", "other"),
    [
        (identity(1), {}),
        (ENDED, {"machine_id": "another"}),
        (ENDED, {"processes": "pid:[1]"}),
        (ENDED, {"user": 4321}),
        (ENDED, {"machine": "other", "machine_id": ""}),
    ],
)
def test_a_bucket_in_use_is_refused(
    used: Used, web: WebFiles, process: object, other: Mapping[str, object]
) -> None:
    web.files |= {f"/{OWNER}": owner(process, **other), "/windtunnel/x": b"1"}
    before = dict(web.files)
    with pytest.raises(DeploymentError, match=r"a cluster of .* uses it") as caught:
        used.storage.state()
    assert OWNER in caught.value.remedy
    used.storage.remove_data()
    assert web.files == before


def test_a_machine_without_an_id_never_removes_what_is_left(
    used: Used, web: WebFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(used.storage, "_me", {**used.storage._me, "machine_id": ""})
    web.files[f"/{OWNER}"] = owner(ENDED, machine_id="")
    with pytest.raises(DeploymentError, match="uses it"):
        used.storage.state()


@pytest.mark.parametrize("text", [None, "", "uninitialized\n"])
def test_a_machine_can_have_no_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "machine-id").write_text(text)
    monkeypatch.setattr("windtunnel.hosts.identity._MACHINE_ID", tmp_path / "machine-id")
    assert this_process()["machine_id"] == ""


def test_files_of_others_beside_what_is_left_are_refused(used: Used, web: WebFiles) -> None:
    web.files |= {f"/{OWNER}": owner(ENDED), "/windtunnel/x": b"1", "/sales/x.csv": b"2"}
    before = dict(web.files)
    with pytest.raises(DeploymentError, match="not empty, but contains sales"):
        used.storage.state()
    assert web.files == before


def test_a_cluster_that_starts_at_the_same_time_keeps_the_bucket(
    used: Used, web: WebFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(_: float) -> None:
        web.files[f"/{OWNER}"] = owner(identity(1))

    monkeypatch.setattr(existing_storage, "time", SimpleNamespace(sleep=other))
    with pytest.raises(DeploymentError, match="another cluster uses it"):
        used.storage.state()
    used.storage.remove_data()
    assert web.files == {f"/{OWNER}": owner(identity(1))}


@pytest.mark.parametrize("process", [ENDED, identity(os.getpid())])
def test_what_an_ended_cluster_left_is_removed(used: Used, web: WebFiles, process: object) -> None:
    web.files |= {f"/{OWNER}": owner(process), "/windtunnel/x": b"1"}
    assert used.storage.state().serving
    assert list(web.files) == [f"/{OWNER}"]
    assert json.loads(web.files[f"/{OWNER}"])["process"] == identity(os.getpid())


def test_data_written_during_the_removal_keeps_the_owner(
    used: Used, web: WebFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    used.storage.state()
    web.files["/windtunnel/x"] = b"1"
    monkeypatch.setattr(used.storage, "_remove_folders", lambda: None)
    with pytest.raises(DeploymentError, match="windtunnel was written"):
        used.storage.remove_data()
    assert f"/{OWNER}" in web.files


def test_an_error_of_the_storage_names_the_place_and_what_to_check(
    used: Used, web: WebFiles
) -> None:
    web.refused = "AccessDenied: (Service: S3, Status Code: 403)"
    with pytest.raises(
        DeploymentError, match=r"bucket bench .* cannot be used: .*AccessDenied"
    ) as e:
        used.storage.state()
    assert "permissions" in e.value.remedy


def test_a_server_that_ends_at_once_names_the_place(used: Used) -> None:
    used.code = 1
    with pytest.raises(DeploymentError, match=r"bucket bench .* cannot be used") as caught:
        used.storage.check_alive()
    assert "keys" in caught.value.remedy


def test_keys_are_copied_for_the_clients_only(used: Used) -> None:
    (file,) = used.storage.folder.glob("credentials")
    assert file.stat().st_mode & 0o077 == 0
    assert "planted-secret" in file.read_text()
    settings = used.storage.settings()
    assert settings["fs.defaultFS"] == "s3a://bench/"
    assert settings["fs.s3a.auth.profile.file"] == str(file)
    assert "planted-secret" not in str(settings)


def test_names_of_the_endpoint_are_resolved_for_the_jvms(tmp_path: Path, web: WebFiles) -> None:
    endpoint = f"http://localhost:{web.address[1]}"
    for style, names in ((True, ["localhost"]), (False, ["localhost", "bench.localhost"])):
        made = Used(bucket(tmp_path, endpoint=endpoint, path_style=style), tmp_path, web)
        made.hosts_file.write_text("")
        made.storage.begin(made.jvms)
        lines = made.hosts_file.read_text().splitlines()
        assert [line.split()[1] for line in lines] == names


def test_an_endpoint_without_a_server_is_named(tmp_path: Path, web: WebFiles) -> None:
    made = Used(bucket(tmp_path), tmp_path, web)  # the port 9 (discard) has no server
    with pytest.raises(DeploymentError, match=r"http://127\.0\.0\.1:9 does not accept connections"):
        made.storage.begin(made.jvms)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "cannot be read"),
        ("[other]\naws_access_key_id = AK\n", r"no profile \[default\]"),
        ("[default]\naws_access_key_id = AK\n", "lacks aws_secret_access_key"),
        ("planted-secret", "not a file of keys"),
    ],
)
def test_bad_keys_are_found_before_the_start(
    tmp_path: Path, text: str | None, complaint: str
) -> None:
    cluster = bucket(tmp_path)
    file = tmp_path / "keys"
    file.unlink() if text is None else file.write_text(text)
    (problem,) = existing_s3.ExistingS3.problems(cluster)
    assert "planted-secret" not in problem
    assert cluster.storage.s3 is not None
    with pytest.raises(DescriptionError, match=complaint):
        existing_s3._keys(cluster.storage.s3)


def test_certificates_of_the_endpoint_are_trusted(tmp_path: Path, web: WebFiles) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("no certificate")
    endpoint = f"https://127.0.0.1:{web.address[1]}"
    cluster = bucket(tmp_path, endpoint=endpoint, ca_file=str(file))
    (problem,) = existing_s3.ExistingS3.problems(cluster)
    assert "no certificate in PEM format" in problem
    file.write_text(self_signed("s3", "127.0.0.1").certificate)
    assert existing_s3.ExistingS3.problems(cluster) == []
    made = Used(cluster, tmp_path, web)
    made.storage.begin(made.jvms)
    (store,) = made.storage.folder.glob("trusted.p12")
    assert f"-Djavax.net.ssl.trustStore={store}" in made.storage.java_options()
    assert made.storage.settings()["fs.s3a.connection.ssl.enabled"] == "true"


def test_replicas_of_a_bucket_are_unknown(tmp_path: Path) -> None:
    cluster = apply_overrides(bucket(tmp_path), {"storage.replication": 3})
    (problem,) = existing_s3.ExistingS3.problems(cluster)
    assert "set 'replication' to 1" in problem
    assert storage_of(bucket(tmp_path)).problems(bucket(tmp_path)) == []
    assert outside_of(cluster) == "the bucket bench of http://127.0.0.1:9"


def test_ceph_clients_get_their_own_key_only(tmp_path: Path, web: WebFiles) -> None:
    web.replication = 2
    made = Used(ceph(tmp_path, file_system="second"), tmp_path, web)
    made.storage.begin(made.jvms)
    settings = made.storage.settings()
    assert Path(settings["ceph.auth.keyring"]).read_text().split() == [
        "[client.bench]",
        "key",
        "=",
        "own",
    ]
    conf = Path(settings["ceph.conf.file"]).read_text()
    assert conf.startswith("[global]\nmon_host = 192.0.2.1\n")
    assert "client_fs = second" in conf
    assert settings["ceph.root.dir"] == "/benchmarks"
    assert made.storage.state().serving
    assert made.storage.expected_copies(1) == "replication 2"


def test_the_described_replicas_must_be_those_of_the_pool(tmp_path: Path, web: WebFiles) -> None:
    web.replication = 3
    made = Used(ceph(tmp_path), tmp_path, web)
    made.storage.begin(made.jvms)
    with pytest.raises(DeploymentError, match=r"stores 3 replicas or cells .* has 2"):
        made.storage.state()
    made.storage.remove_data()
    assert web.files == {}


def test_files_of_ceph_are_checked_before_the_start(tmp_path: Path) -> None:
    cluster = ceph(tmp_path)
    system = storage_of(cluster)
    assert system.problems(cluster) == []
    (tmp_path / "keyring").write_text("[client.other]\n\tkey = own\n")
    (tmp_path / "ceph.conf").unlink()
    assert [line.partition(": ")[0] for line in system.problems(cluster)] == [
        "storage.ceph.conf",
        "storage.ceph.keyring",
    ]


def test_only_the_library_of_ceph_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = programs.Needs((), ("libcephfs-java",), tmp_path / "absent.jar")
    with pytest.raises(SetupError, match=r"absent\.jar"):
        programs.check(missing, "existing-cephfs")
    (tmp_path / "absent.jar").touch()
    programs.check(missing, "existing-cephfs")


@pytest.mark.parametrize(
    ("storage", "complaint"),
    [
        ({"kind": "existing-s3"}, "requires 's3'"),
        ({"kind": "existing-cephfs"}, "requires 'ceph'"),
        ({"s3": {"endpoint": "http://h", "bucket": "abc", "keys_file": "k"}}, "kind existing-s3"),
        (
            {"kind": "existing-s3", "s3": {"endpoint": "h:9", "bucket": "abc", "keys_file": "k"}},
            "http://HOST:PORT",
        ),
        *(
            (
                {
                    "kind": "existing-s3",
                    "s3": {"endpoint": endpoint, "bucket": "abc", "keys_file": "k"},
                },
                "http://HOST:PORT",
            )
            for endpoint in ("http://:planted@h", "https://h/#x", "https://h/path", "ftp://h")
        ),
        (
            {
                "kind": "existing-cephfs",
                "ceph": {"conf": "c", "client": "x", "keyring": "k", "folder": "a/../b"},
            },
            "absolute path",
        ),
    ],
)
def test_incomplete_descriptions_are_refused(storage: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DescriptionError, match=complaint):
        described(**storage)


def test_an_endpoint_is_kept_without_its_path_and_with_a_scheme_in_lower_case() -> None:
    given = {"bucket": "abc", "keys_file": "~nobody-of-this-name/keys"}
    s3 = described(kind="existing-s3", s3={"endpoint": "HTTPS://h:9/", **given}).storage.s3
    assert s3 is not None
    assert (s3.endpoint, s3.host, s3.port) == ("https://h:9", "h", 9)
    with pytest.raises(DescriptionError, match="cannot be read"):
        existing_s3._keys(s3)


@pytest.mark.parametrize("host_", ["s3..example", "no-such-host.invalid"])
def test_a_host_without_an_address_is_named(host_: str) -> None:
    given = {"endpoint": f"http://{host_}", "bucket": "abc", "keys_file": "k"}
    s3 = described(kind="existing-s3", s3=given).storage.s3
    assert s3 is not None
    with pytest.raises(DescriptionError, match="no known address"):
        existing_s3._reached(s3)
