"""A folder of client configuration: its properties, and the addresses of the daemons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.cluster.secrets import is_secret, masked_text
from windtunnel.errors import DescriptionError
from windtunnel.inspection.endpoints import endpoints
from windtunnel.inspection.site_files import ClientConfiguration, read_configuration

_FILES = ("core-site.xml", "hdfs-site.xml", "yarn-site.xml")  # at least one is needed
_QUEUES = "capacity-scheduler.xml"  # only the ResourceManager reads it


@dataclass(frozen=True)
class Site:
    """The properties of a configuration folder, and ``scheme://HOST:PORT`` of the web servers.

    ``namenodes`` are those of the default file system.
    """

    conf: ClientConfiguration
    namenodes: Sequence[str]
    resourcemanagers: Sequence[str]
    history_server: str

    @property
    def folder(self) -> Path:
        """The folder."""
        return self.conf.folder

    def get(self, name: str, default: str = "") -> str:
        """The value of a property of the files, with its variables replaced."""
        value = self.conf.given(name)
        return default if value is None else value

    @property
    def secure(self) -> bool:
        """Whether the cluster uses Kerberos."""
        return self.get("hadoop.security.authentication", "simple").lower() == "kerberos"

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
        for name, entry in sorted(self.conf.entries.items()):
            value = self.get(name)
            if not entry.source.startswith(_QUEUES) and not is_secret(name, value):
                yield name, masked_text(value)


def read_site(folder: Path) -> Site:
    """The properties of the site files of a folder.

    Raises
    ------
    DescriptionError
        If there is no such folder or file, if a file is damaged, or if it does not state the
        addresses of the cluster.
    """
    problem = None
    if not folder.is_dir():
        problem = f"there is no folder {folder}"
    elif not any((folder / name).is_file() for name in _FILES):
        problem = f"{folder} has none of the files {', '.join(_FILES)}"
    if problem:
        raise DescriptionError(
            problem,
            remedy="set 'conf' to the folder with core-site.xml of an edge node.",
            key="testbed.conf",
        )
    conf = read_configuration(folder, below=False)
    found = endpoints(conf, others=False)
    for name, given in (
        ("fs.defaultFS", conf.given("fs.defaultFS") and found.namenodes),
        ("yarn.resourcemanager.webapp.address", found.resourcemanagers),
        ("mapreduce.jobhistory.webapp.address", found.history),
    ):
        if not given:
            raise DescriptionError(
                f"{folder} does not state {name}",
                remedy="copy the complete client configuration of the cluster.",
                key="testbed.conf",
            )
    return Site(conf, found.namenodes, found.resourcemanagers, found.history[0])


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


def _path(text: str) -> str:
    """The path of a folder that may have a scheme and a host."""
    return "/" + text.partition("://")[2].partition("/")[2] if "://" in text else text
