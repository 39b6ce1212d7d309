"""An object store as the file system below Hadoop: S3A on Ceph's RADOS gateway.

Hadoop's own client (``hadoop-aws``) stores each file as one object of a bucket. A bucket has no
folders and no rename: the client lists names with a prefix, and copies an object to rename it.
Therefore jobs commit their output with the magic committer, which completes uploads instead of
renaming files (Hadoop: "Committing work to S3 with the S3A Committers"). With ``storage.tls``, the
gateway has a certificate of its own, which all JVMs of Hadoop trust.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import socket
import ssl
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from pathlib import Path
from typing import Any, ClassVar, Final

from windtunnel.cluster import Cluster
from windtunnel.engines.ceph import programs, s3a
from windtunnel.engines.ceph.cluster import CephCluster, write_private
from windtunnel.engines.ceph.site import MGR, RGW, Daemon
from windtunnel.engines.certificate import Certificate, self_signed, trusting
from windtunnel.engines.hadoop.cds import ClientClasses
from windtunnel.engines.running import tail
from windtunnel.engines.storage_system import Ground, Jvms
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Process, ProcessSpec

BUCKET: Final = "windtunnel"
_PORT: Final = 7480  # the default of the gateway
_USER: Final = "hadoop"
_REGION: Final = "default"  # the name of the gateway's own
_PGS: Final = 8  # of each pool with indexes and other metadata
_GARBAGE_S: Final = 60  # until the content of a deleted object is removed; by default two hours
_LIMIT_S: Final = 10.0
_OK: Final = 200


class ObjectGateway(CephCluster):
    """See the module's docstring."""

    name: ClassVar[str] = "s3a"
    engines: ClassVar[frozenset[str] | None] = frozenset({"pig", "spark"})
    needs: ClassVar[programs.Needs] = programs.GATEWAY
    service: ClassVar[str] = RGW
    client: ClassVar[str] = f"{RGW}.a"
    single: ClassVar[tuple[str, ...]] = (MGR, RGW)  # clients have one address
    data_pool: ClassVar[str] = "default.rgw.buckets.data"

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.gateway = self.players(RGW)[0]
        self._credentials = self.folder / "credentials"
        # the processes of a host can write only below its root
        self._user = self.gateway.host.root / "rgw-user.json"
        self._tls = bool(ground.cluster.storage.tls)
        self._certificate: Certificate | None = None
        self._creation: Process | None = None
        self._bucket = False

    @classmethod
    def jars(cls, cluster: Cluster) -> Sequence[Path]:
        """Hadoop's S3A and the modules of the AWS SDK that it uses, fetched if missing."""
        return s3a.jars(cluster)

    @classmethod
    def client_classes(cls, cluster: Cluster) -> ClientClasses:
        """The classes of S3A and of the AWS SDK."""
        return s3a.client_classes(cluster)

    def settings(self) -> Mapping[str, str]:
        """The bucket as the default file system."""
        host, port = self._address
        endpoint = f"{'https' if self._tls else 'http'}://{host}:{port}"
        return s3a.settings(self.cluster, BUCKET, endpoint, self._credentials, region=_REGION)

    def java_options(self) -> tuple[str, ...]:
        """With TLS, the trust store with the certificate of the gateway."""
        return trusting(self._trusted) if self._tls else ()

    def begin(self, jvms: Jvms) -> None:
        """With TLS, also create the certificate of the gateway."""
        if self._tls:
            host = self.gateway.host
            self._certificate = self_signed(host.name, host.address)
            self.folder.mkdir(parents=True, exist_ok=True)
            write_private(self._server, self._certificate.server)
            self._trusted.write_bytes(self._certificate.trusted)
        super().begin(jvms)

    def options(self) -> dict[str, str]:
        """The pools that the gateway creates, and how soon it removes deleted objects."""
        return {
            "osd_pool_default_pg_num": str(_PGS),
            "debug_rgw": "0/5",  # no line for each request
            "rgw_gc_obj_min_wait": str(_GARBAGE_S),
            "rgw_gc_processor_period": str(_GARBAGE_S),
            "rgw_gc_processor_max_time": str(_GARBAGE_S),
        }

    def create_pools(self) -> None:
        """Create the pool of the content of objects; the gateway creates all others."""
        self.create_data_pool()
        self.admin.run("osd pool application enable", pool=self.data_pool, app="rgw")

    def daemon_options(self, daemon: Daemon) -> dict[str, str]:
        """Also the address on which the gateway listens."""
        options = super().daemon_options(daemon)
        if daemon.role == RGW:
            host, port = self._address
            plain = f"endpoint={host}:{port}"
            secure = f"ssl_endpoint={host}:{port} ssl_certificate={self._server}"
            options["rgw-frontends"] = f"beast {secure if self._tls else plain}"
        return options

    def open_files(self, status: Mapping[str, Any]) -> list[str]:
        """Create the user, start the gateway, and create the bucket."""
        if self._creation is None:
            self._creation = self._create_user()
        if not self._credentials.exists():
            if not self._user_exists(self._creation):
                return ["the user of the gateway"]
            write_private(self._credentials, profile(json.loads(self._user.read_text())))
        if self.gateway.name not in self.running:
            self.spawn(self.gateway)
        if missing := self.service_unready(status):
            return missing
        if not self._bucket:
            self._create_bucket()
            self._bucket = True
        return []

    def replicas(self) -> int:
        """Replicas or cells of each object, as the monitors report them: S3A does not know them."""
        return self.pool_size()

    def service_unready(self, status: Mapping[str, Any]) -> list[str]:
        """The gateway must accept connections."""
        with self.gateway.host.open_socket() as found:
            found.settimeout(1.0)
            listens = found.connect_ex(self._address) == 0
        return [] if listens else ["the gateway"]

    def facts(self) -> dict[str, Any]:
        """Also the jars of the client."""
        return {**super().facts(), "hadoop": s3a.client(self.cluster).facts()}

    @property
    def _address(self) -> tuple[str, int]:
        return (self.gateway.host.address, _PORT)

    def _create_user(self) -> Process:
        """Start the creation of the user; its keys are written to a file, not to the log."""
        words = ["user", "create", f"--uid={_USER}", f"--display-name={_USER}"]
        keys = ["--gen-access-key", "--gen-secret"]
        argv = programs.administer(self.gateway, self.conf, *words, *keys)
        script = programs.into_file(argv, self._user)
        host = self.gateway.host
        log = host.logs / "rgw-user.log"
        return host.spawn(ProcessSpec(f"rgw-user@{host.name}", script, log, host.root))

    @staticmethod
    def _user_exists(creation: Process) -> bool:
        code = creation.returncode()
        if code not in (None, 0):
            raise DeploymentError(
                f"radosgw-admin could not create a user (exit code {code})",
                log=creation.log,
                tail=tail(creation.log),
            )
        return code == 0

    def _create_bucket(self) -> None:
        """Create the bucket; raises DeploymentError if the gateway refuses."""
        found = json.loads(self._user.read_text())["keys"][0]
        path = f"/{BUCKET}"
        with self.gateway.host.open_socket() as channel:
            channel.settimeout(_LIMIT_S)
            host, port = self._address
            connection = http.client.HTTPConnection(host, port, timeout=_LIMIT_S)
            try:
                channel.connect(self._address)
                connection.sock = self._encrypted(channel) if self._tls else channel
                headers = signed("PUT", path, found["access_key"], found["secret_key"])
                connection.request("PUT", path, headers=headers)
                answer = connection.getresponse()
                text = answer.read().decode(errors="replace")
            except (OSError, http.client.HTTPException) as problem:
                raise DeploymentError(
                    f"the gateway does not answer: {problem}", tail=tail(self._log)
                ) from problem
            finally:
                connection.close()
        if answer.status != _OK:
            raise DeploymentError(
                f"the gateway did not create the bucket (HTTP {answer.status})", tail=text
            )

    def _encrypted(self, channel: socket.socket) -> ssl.SSLSocket:
        """A connected socket with TLS; only the certificate of the gateway is accepted."""
        if self._certificate is None:
            raise DeploymentError("the gateway has no certificate")
        trust = ssl.create_default_context(cadata=self._certificate.certificate)
        return trust.wrap_socket(channel, server_hostname=self.gateway.host.address)

    @property
    def _server(self) -> Path:
        return self.folder / "gateway.pem"

    @property
    def _trusted(self) -> Path:
        return self.folder / "trusted.p12"

    @property
    def _log(self) -> Path:
        return self.running[self.gateway.name].log


def profile(user: Mapping[str, Any]) -> str:
    """The text of a credentials file, from the output of ``radosgw-admin``."""
    keys = user["keys"][0]
    names = {"aws_access_key_id": "access_key", "aws_secret_access_key": "secret_key"}
    return s3a.profile({name: keys[one] for name, one in names.items()})


def signed(method: str, path: str, access_key: str, secret_key: str) -> dict[str, str]:
    """The headers of an S3 request without content, with signature version 2.

    Source: Amazon S3 API, "Signing and authenticating REST requests".
    """
    date = formatdate(usegmt=True)
    text = f"{method}\n\n\n{date}\n{path}"
    code = hmac.new(secret_key.encode(), text.encode(), hashlib.sha1).digest()
    return {
        "Date": date,
        "Authorization": f"AWS {access_key}:{base64.b64encode(code).decode()}",
    }
