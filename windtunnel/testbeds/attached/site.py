"""A folder of client configuration: its properties, and the addresses of the daemons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from windtunnel.cluster.secrets import is_secret, masked_text
from windtunnel.errors import DescriptionError

FILES = ("core-site.xml", "hdfs-site.xml", "yarn-site.xml", "mapred-site.xml")
_VARIABLE = re.compile(r"\$\{([^}$\s]+)\}")
_DEPTH = 20  # nested variables, as in Hadoop's Configuration
_PORTS = {
    "dfs.namenode.http-address": 9870,
    "dfs.namenode.https-address": 9871,
    "yarn.resourcemanager.webapp.address": 8088,
    "yarn.resourcemanager.webapp.https.address": 8090,
    "mapreduce.jobhistory.webapp.address": 19888,
    "mapreduce.jobhistory.webapp.https.address": 19890,
}


@dataclass(frozen=True)
class Site:
    """The properties of a configuration folder.

    ``properties`` have the values as written, with variables.
    """

    folder: Path
    properties: Mapping[str, str]

    def get(self, name: str, default: str = "") -> str:
        """The value of a property with its variables replaced by the values of properties."""
        value = self.properties.get(name, default)
        for _ in range(_DEPTH):
            replaced = _VARIABLE.sub(lambda m: self.properties.get(m[1], m[0]), value)
            if replaced == value:
                break
            value = replaced
        return value.strip()

    @property
    def secure(self) -> bool:
        """Whether the cluster uses Kerberos."""
        return self.get("hadoop.security.authentication", "simple").lower() == "kerberos"

    @property
    def namenodes(self) -> list[str]:
        """``scheme://HOST:PORT`` of the web servers of the NameNodes of the default file system."""
        scheme = "https" if self.get("dfs.http.policy") == "HTTPS_ONLY" else "http"
        name = f"dfs.namenode.{scheme}-address"
        authority = self.get("fs.defaultFS").partition("://")[2].partition("/")[0]
        service = authority.partition(":")[0]
        ids = _words(self.get(f"dfs.ha.namenodes.{service}"))
        given = [self.get(f"{name}.{service}.{one}") for one in ids] or [self.get(name)]
        return [_url(scheme, one, service, _PORTS[name]) for one in given]

    @property
    def resourcemanagers(self) -> list[str]:
        """``scheme://HOST:PORT`` of the web servers of the ResourceManagers."""
        secure = self.get("yarn.http.policy") == "HTTPS_ONLY"
        name = f"yarn.resourcemanager.webapp{'.https' if secure else ''}.address"
        scheme = "https" if secure else "http"
        ids = _words(self.get("yarn.resourcemanager.ha.rm-ids"))
        suffixes = [f".{one}" for one in ids] or [""]
        return [
            _url(
                scheme,
                self.get(name + suffix),
                self.get(f"yarn.resourcemanager.hostname{suffix}"),
                _PORTS[name],
            )
            for suffix in suffixes
        ]

    @property
    def history_server(self) -> str:
        """``scheme://HOST:PORT`` of the web server of the history server."""
        secure = self.get("mapreduce.jobhistory.http.policy") == "HTTPS_ONLY"
        name = f"mapreduce.jobhistory.webapp{'.https' if secure else ''}.address"
        scheme = "https" if secure else "http"
        host = self.get("mapreduce.jobhistory.address").partition(":")[0]
        return _url(scheme, self.get(name), host, _PORTS[name])

    @property
    def history_folders(self) -> tuple[str, str]:
        """The folders of finished jobs: those that are new, and the others."""
        staging = self.get("yarn.app.mapreduce.am.staging-dir", "/tmp/hadoop-yarn/staging")
        return (
            _path(
                self.get(
                    "mapreduce.jobhistory.intermediate-done-dir",
                    f"{staging}/history/done_intermediate",
                )
            ),
            _path(self.get("mapreduce.jobhistory.done-dir", f"{staging}/history/done")),
        )

    def public(self) -> Iterator[tuple[str, str]]:
        """Names and values of properties that are no secrets, without secrets in their values."""
        for name in sorted(self.properties):
            value = self.get(name)
            if not is_secret(name, value):
                yield name, masked_text(value)


def read_site(folder: Path) -> Site:
    """The properties of the site files of a folder.

    Raises
    ------
    DescriptionError
        If there is no such folder or file, if a file is damaged, or if it does not state the
        addresses of the cluster.
    """
    if not folder.is_dir():
        raise DescriptionError(
            f"there is no folder {folder}",
            remedy="set 'conf' to the folder with core-site.xml of an edge node.",
            key="testbed.conf",
        )
    found: dict[str, str] = {}
    for name in FILES:
        if (folder / name).is_file():
            found |= _read(folder / name)
    if not found:
        raise DescriptionError(
            f"{folder} has none of the files {', '.join(FILES)}",
            remedy="set 'conf' to the folder with core-site.xml of an edge node.",
            key="testbed.conf",
        )
    site = Site(folder, found)
    for name, text in (
        ("fs.defaultFS", site.get("fs.defaultFS")),
        ("yarn.resourcemanager.webapp.address", site.resourcemanagers[0]),
        ("mapreduce.jobhistory.webapp.address", site.history_server),
    ):
        if not text or "://:" in text:
            raise DescriptionError(
                f"{folder} does not state {name}",
                remedy="copy the complete client configuration of the cluster.",
                key="testbed.conf",
            )
    return site


def _read(file: Path) -> dict[str, str]:
    try:
        root = ElementTree.parse(file).getroot()
    except (ElementTree.ParseError, UnicodeDecodeError) as error:
        raise DescriptionError(
            f"the file is not a configuration of Hadoop: {error}",
            remedy="copy the file again.",
            file=file,
        ) from error
    except OSError as error:
        raise DescriptionError(
            f"the file cannot be read: {error.strerror}",
            remedy="check its permissions.",
            file=file,
        ) from error
    pairs = ((one.findtext("name"), one.findtext("value")) for one in root.iter("property"))
    return {name.strip(): value or "" for name, value in pairs if name}


def read_names(file: Path) -> dict[str, str]:
    """Host name -> address of a file in the format of ``/etc/hosts``; raises DescriptionError."""
    try:
        rows = [row.partition("#")[0].split() for row in file.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(
            f"the file cannot be read: {error}",
            file=file,
            key="testbed.hosts_file",
            remedy="check its path, its permissions and its encoding (UTF-8).",
        ) from error
    return {name: row[0] for row in rows if row for name in row[1:]}


def _words(text: str) -> Sequence[str]:
    return [word for word in re.split(r"[,\s]+", text) if word]


def _url(scheme: str, given: str, host: str, port: int) -> str:
    """An address as URL; the host of an address for all interfaces is that of the service."""
    named, _, at = given.rpartition(":") if ":" in given else (given, "", "")
    if named in ("", "0.0.0.0"):
        named = host
    return f"{scheme}://{named}:{at or port}"


def _path(text: str) -> str:
    """The path of a folder that may have a scheme and a host."""
    return "/" + text.partition("://")[2].partition("/")[2] if "://" in text else text
