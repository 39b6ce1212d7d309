"""S3A on Ceph's gateway: its set-up, keys and requests, without a running Ceph."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.server
import json
import socket
import stat
import threading
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.ceph import CLEAN, Started
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.ceph.gateway import BUCKET, ObjectGateway, signed
from windtunnel.engines.locks import read_lock, shipped_lock
from windtunnel.errors import DeploymentError, DescriptionError, SetupError

CLUSTER = load_cluster("local-3-s3a")
USER = {"keys": [{"access_key": "AK", "secret_key": "planted-secret"}]}


class Requests(http.server.BaseHTTPRequestHandler):
    """Records requests, and answers with ``status``."""

    status = 200

    def do_PUT(self) -> None:
        """The creation of a bucket."""
        requests: list[Any] = self.server.requests  # type: ignore[attr-defined]
        requests.append((self.path, dict(self.headers)))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, dict[str, str]]]]:
    """The requests of a gateway that answers on this machine."""
    server = http.server.HTTPServer(("127.0.0.1", 0), Requests)
    received: list[tuple[str, dict[str, str]]] = []
    server.requests = received  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    where = property(lambda self: server.server_address)
    monkeypatch.setattr(ObjectGateway, "_address", where)
    yield received
    server.shutdown()
    server.server_close()


def started(folder: Path, changes: dict[str, Any] | None = None, code: int | None = 0) -> Started:
    found = Started(CLUSTER, folder, changes, code)
    found.monitors.status = CLEAN
    for placement in found.storage.ground.placements:
        made: Any = placement.host
        made.open_socket = socket.socket
    return found


def waiting(folder: Path) -> Started:
    """A cluster whose OSDs are up, without a user."""
    found = started(folder)
    found.storage._making.clear()
    found.storage._set_up = True
    return found


def test_user_gateway_and_bucket_follow_each_other(tmp_path: Path, requests: list[Any]) -> None:
    found = waiting(tmp_path)
    storage = found.storage
    found.made = None  # radosgw-admin runs
    assert storage.state().missing == ["the user of the gateway"]
    assert found.spawned[-1] == "rgw-user@master"
    assert "rgw@master" not in found.spawned

    (tmp_path / "master" / "rgw-user.json").write_text(json.dumps(USER))
    found.made = 0
    assert storage.state().missing == ["the file server"]
    assert found.spawned[-2:] == ["rgw@master", "fileserver@master"]
    assert found.words[-1] == "2", "the replicas of the pool: a client of S3 does not know them"
    storage.state()
    assert [path for path, _ in requests] == [f"/{BUCKET}"], "the bucket is created once"

    keys = tmp_path / "shared" / "ceph" / "credentials"
    assert "aws_secret_access_key = planted-secret" in keys.read_text()
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert "planted-secret" not in str(storage.settings())
    assert "planted-secret" not in str(storage.facts())


def test_with_tls_the_gateway_has_a_certificate_that_clients_trust(
    tmp_path: Path,
) -> None:
    found = started(tmp_path, {"storage.tls": True})
    storage = found.storage
    assert isinstance(storage, ObjectGateway)
    folder = tmp_path / "shared" / "ceph"
    server = folder / "gateway.pem"
    assert stat.S_IMODE(server.stat().st_mode) == 0o600
    frontends = storage.daemon_options(storage.gateway)["rgw-frontends"]
    assert frontends == f"beast ssl_endpoint=127.1.1.1:7480 ssl_certificate={server}"
    settings = storage.settings()
    assert settings["fs.s3a.endpoint"] == "https://127.1.1.1:7480"
    assert settings["fs.s3a.connection.ssl.enabled"] == "true"
    assert f"-Djavax.net.ssl.trustStore={folder}/trusted.p12" in storage.java_options()
    assert b"PRIVATE" not in (folder / "trusted.p12").read_bytes()


def test_without_tls_there_is_no_certificate(tmp_path: Path) -> None:
    storage = started(tmp_path).storage
    assert storage.java_options() == ()
    assert not (tmp_path / "shared" / "ceph" / "gateway.pem").exists()


def test_tls_is_refused_without_an_object_store() -> None:
    with pytest.raises(DescriptionError, match="'tls' requires storage of kind s3a"):
        apply_overrides(load_cluster("local-3"), {"storage.tls": True})


def test_a_refused_bucket_and_a_failed_user_are_named(
    tmp_path: Path, requests: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = waiting(tmp_path)
    monkeypatch.setattr(Requests, "status", 403)
    found.made = None
    found.storage.state()
    (tmp_path / "master" / "rgw-user.json").write_text(json.dumps(USER))
    found.made = 0
    with pytest.raises(DeploymentError, match=r"did not create the bucket \(HTTP 403\)"):
        found.storage.state()
    failed = waiting(tmp_path / "other")
    failed.made = 5
    with pytest.raises(DeploymentError, match=r"could not create a user \(exit code 5\)"):
        failed.storage.state()


def test_a_request_is_signed_with_the_secret_key() -> None:
    headers = signed("PUT", "/windtunnel", "AK", "secret")
    name, _, code = headers["Authorization"].removeprefix("AWS ").partition(":")
    text = f"PUT\n\n\n{headers['Date']}\n/windtunnel"

    assert name == "AK"
    assert base64.b64decode(code) == hmac.new(b"secret", text.encode(), hashlib.sha1).digest()
    assert parsedate_to_datetime(headers["Date"]).utcoffset() is not None


def test_clients_get_the_bucket_and_the_magic_committer(tmp_path: Path) -> None:
    settings = started(tmp_path, {"storage.block_size": "32 MiB"}).storage.settings()
    assert settings["fs.defaultFS"] == f"s3a://{BUCKET}/"
    assert settings["fs.s3a.endpoint"] == "http://127.1.1.1:7480"
    assert settings["fs.s3a.block.size"] == str(32 << 20)
    assert settings["fs.s3a.committer.name"] == "magic"


def test_all_pools_have_the_replication_of_the_description(tmp_path: Path) -> None:
    found = started(tmp_path, {"storage.replication": 2})
    found.storage._start_osds()
    sizes = {(s["pool"], s["var"]): s["val"] for s in found.monitors.named("osd pool set")}

    assert sizes == {(found.storage.data_pool, "size"): "2"}
    conf = (tmp_path / "shared" / "ceph" / "ceph.conf").read_text()
    assert "osd_pool_default_size = 2" in conf
    assert found.storage.metrics("/", None)["stored_per_byte"].value == 2.05  # type: ignore[arg-type]
    assert not found.monitors.named("fs new")


def test_the_gateway_has_a_key_of_its_own(tmp_path: Path) -> None:
    found = started(tmp_path)
    keys = (tmp_path / "shared" / "ceph" / "keyring").read_text()
    assert keys.count("[client.rgw.a]") == 1
    (daemon,) = found.storage.players("rgw")
    assert (daemon.name, daemon.entity) == ("rgw@master", "client.rgw.a")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"hosts.worker.roles": ["osd", "rgw", "nodemanager"]}, "exactly one host must have the"),
        ({"software.task_start": "warm"}, "warm starts need storage of kind hdfs"),
    ],
)
def test_what_it_cannot_do_is_refused(changes: dict[str, Any], says: str) -> None:
    assert any(says in line for line in ObjectGateway.problems(apply_overrides(CLUSTER, changes)))


def test_a_machine_without_the_gateway_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == "radosgw" else name)
    with pytest.raises(SetupError, match=r"kind s3a needs Ceph, .* lacks radosgw") as caught:
        ObjectGateway.check_machine()
    assert "radosgw" in caught.value.remedy


@pytest.mark.parametrize("line", ["3.4", "3.5"])
def test_each_line_of_hadoop_has_its_client_of_object_stores(line: str) -> None:
    jars = {jar.artifact: jar.version for jar in read_lock(shipped_lock(f"s3a-{line}")).jars}
    assert jars["hadoop-aws"].startswith(line)
    assert {"s3", "sts", "s3-transfer-manager", "analyticsaccelerator-s3"} <= jars.keys()
