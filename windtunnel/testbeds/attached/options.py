"""The options of the testbed ``attached``."""

from __future__ import annotations

import getpass
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, NonNegativeInt, PositiveInt, field_validator, model_validator

from windtunnel.cluster import Duration, Fraction, blame
from windtunnel.cluster.hosts import Part as ClosedModel
from windtunnel.cluster.settings import affects
from windtunnel.testbeds.attached.source_options import (
    EdgeOptions,
    PowerOptions,
    PrometheusOptions,
    SourceOptions,
    SshOptions,
)
from windtunnel.testbeds.base import TestbedOptions

QUEUE, OLD_QUEUE = "mapreduce.job.queuename", "mapred.job.queue.name"
_SETTINGS = "settings."
_FEWEST_CONTAINERS = 3
# Options that do not affect what is measured, mainly places on this machine.
_PLACES = {"hosts_file", "keytab", "krb5_conf", "ca_file", "apply_within"}


def daemon_settings(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Of the changes of a description, the settings that daemons read: name -> value."""
    found = {
        path.removeprefix(_SETTINGS): value
        for path, value in changes.items()
        if path.startswith(_SETTINGS)
    }
    return {name: value for name, value in found.items() if affects(name) != "client"}


def _absolute_files(files: Mapping[str, str | None]) -> dict[str, str]:
    given = {name: path for name, path in files.items() if path}
    return {name: str(Path(path).expanduser().absolute()) for name, path in given.items()}


class Limits(ClosedModel):
    """The abort rule: limits beyond which the study pauses, or ends its own job."""

    pending_containers: NonNegativeInt = Field(
        0, description="Largest number of containers for which other tenants may wait."
    )
    pending_for: Duration = Field(
        "30 s",
        description="Time for which more pending containers are tolerated.",
        validate_default=True,
    )
    free_space: Fraction = Field(
        "15 %",
        description="Smallest free fraction of the capacity of HDFS.",
        validate_default=True,
    )
    missing_blocks: NonNegativeInt = Field(
        0, description="Largest increase of the missing blocks since the start."
    )
    under_replicated: NonNegativeInt = Field(
        1000, description="Largest increase of the under-replicated blocks since the start."
    )
    lost_nodes: NonNegativeInt = Field(
        0, description="Largest number of DataNodes or NodeManagers lost since the start."
    )
    interval: Duration = Field(
        "5 s", description="Interval of the requests.", validate_default=True
    )
    patience: Duration = Field(
        "30 min",
        description="Longest pause; then the study stops, and can be resumed.",
        validate_default=True,
    )
    other_containers: NonNegativeInt | None = Field(
        None,
        description="Largest mean number of containers of other tenants during a trial; with more, "
        "the trial is invalid. Default: no limit.",
    )

    @model_validator(mode="after")
    def _polite(self) -> Limits:
        if self.interval < 1:
            raise blame("must be at least 1 s", "interval", remedy="write 'interval: 5 s'.")
        return self


class AttachedOptions(TestbedOptions):
    """Options of the testbed ``attached``."""

    kind: Literal["attached"] = "attached"
    conf: str = Field(
        description="Folder with the client configuration of the cluster (core-site.xml, "
        "hdfs-site.xml, yarn-site.xml, mapred-site.xml)."
    )
    queue: str = Field(
        "default",
        description="Queue of the jobs, unless a treatment sets mapreduce.job.queuename.",
    )
    folder: str | None = Field(
        None,
        description="Folder of the cluster's file system in which the study creates a folder of "
        "its own; default: /user/USER/windtunnel.",
    )
    containers: PositiveInt = Field(
        20,
        description="Largest number of concurrent containers of the study, with the application "
        "master.",
    )
    user: str | None = Field(
        None,
        description="User name on a cluster without Kerberos; default: the user of `edge`, "
        "otherwise the user of this program.",
    )
    hadoop: str | None = Field(
        None,
        description="The cluster's own program 'hadoop', as a path or a name on PATH, as client; "
        "default: the jars that Windtunnel fetched.",
    )
    edge: EdgeOptions | None = Field(
        None,
        description="Edge node on which the clients run, by SSH. Default: this machine.",
    )
    hosts_file: str | None = Field(
        None,
        description="File with names and addresses of the cluster's hosts, in the format of "
        "/etc/hosts, for names that this machine cannot resolve.",
    )
    principal: str | None = Field(None, description="Kerberos principal; needs a keytab.")
    keytab: str | None = Field(
        None, description="Keytab of the principal; default: the ticket cache of the user."
    )
    krb5_conf: str | None = Field(
        None, description="Kerberos configuration; default: that of this machine."
    )
    ca_file: str | None = Field(
        None, description="PEM file of the certificates that are trusted; default: the system's."
    )
    apply: Literal["by-hand"] | None = Field(
        None,
        description="by-hand: treatments may change settings of daemons. An operator makes the "
        "change; the study waits until it is in force. Default: such treatments are refused.",
    )
    apply_within: Duration = Field(
        "2 h",
        description="Longest time for a change by hand; then the study stops, and can be resumed.",
        validate_default=True,
    )
    prometheus: PrometheusOptions | None = Field(
        None,
        description="Server with samples of the hosts. Default: the load of the hosts is unknown.",
    )
    ssh: SshOptions | None = Field(
        None,
        description="Logins to the hosts, for samples without a Prometheus server. '{}' has all "
        "defaults. Default: no logins.",
    )
    power: PowerOptions | None = Field(
        None, description="Power meters of the hosts. Default: no power."
    )
    limits: Limits = Field(
        default_factory=lambda: Limits.model_validate({}),
        description="The abort rule: limits beyond which the study pauses, or ends its own job.",
    )

    @model_validator(mode="before")
    @classmethod
    def _has_conf(cls, given: object) -> object:
        if isinstance(given, dict) and not given.get("conf"):
            raise blame(
                "the testbed 'attached' requires the option 'conf', the folder with the client "
                "configuration of the cluster",
                remedy="write: testbed: {kind: attached, conf: /etc/hadoop/conf}",
            )
        return given

    @field_validator("folder")
    @classmethod
    def _absolute(cls, folder: str | None) -> str | None:
        if folder is not None and (not folder.startswith("/") or not folder.strip("/")):
            raise ValueError("must be an absolute path below the root, such as /user/me/windtunnel")
        return folder and folder.rstrip("/")

    @field_validator("containers")
    @classmethod
    def _enough(cls, containers: int) -> int:
        if containers < _FEWEST_CONTAINERS:
            raise ValueError("must be at least 3: the application master, one map, one reduce")
        return containers

    @model_validator(mode="after")
    def _together(self) -> AttachedOptions:
        if (self.principal is None) != (self.keytab is None):
            missing, given = (
                ("keytab", "principal") if self.keytab is None else ("principal", "keytab")
            )
            raise blame(f"'{given}' needs '{missing}'", given, remedy=f"add '{missing}'.")
        for name in ("hadoop", "keytab"):
            if self.edge is not None and getattr(self, name) is not None:
                raise blame(
                    f"'edge' does not work with '{name}': the clients run on the edge node",
                    "edge",
                    remedy=f"remove '{name}'; on the edge node, the clients use the program "
                    "'edge.hadoop' and the ticket cache of the user there.",
                )
        if self.prometheus is not None and self.ssh is not None:
            raise blame(
                "'ssh' and 'prometheus' both sample the hosts", "ssh", remedy="remove one of them."
            )
        if self.power is not None and self.prometheus is not None and self.prometheus.power:
            raise blame(
                "'power' and 'prometheus.power' both have the power of the hosts",
                "power",
                remedy="remove one of them.",
            )
        return self

    @property
    def account(self) -> str:
        """The name of the user on the cluster."""
        if self.principal:
            return self.principal.partition("@")[0].partition("/")[0]
        login = self.edge.user if self.edge is not None else None
        return self.user or login or getpass.getuser()

    def with_absolute_paths(self) -> AttachedOptions:
        """The same options, for a process in another working directory."""
        names = ["conf", "hosts_file", "keytab", "krb5_conf", "ca_file"]
        names += ["hadoop"] if "/" in (self.hadoop or "") else []  # else a name on PATH
        update: dict[str, Any] = _absolute_files({name: getattr(self, name) for name in names})
        for name, one in {**self.sources, "edge": self.edge}.items():
            if one is not None:
                update[name] = one.model_copy(update=_absolute_files(one.files()))
        return self.model_copy(update=update)

    @property
    def own_jars(self) -> bool:
        """Whether the clients run with Windtunnel's jars, and not with those of the cluster."""
        return not self.hadoop and self.edge is None

    @property
    def samples_hosts(self) -> bool:
        """Whether there is a source of samples of the hosts."""
        return any(one.samples_hosts for one in self.sources.values())

    @property
    def sources(self) -> Mapping[str, SourceOptions]:
        """The sources of samples of the hosts that are given: name of the option -> options."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: one for name, one in given.items() if isinstance(one, SourceOptions)}

    @property
    def has_power(self) -> bool:
        """Whether a source has the power of the hosts."""
        return self.power is not None or (
            self.prometheus is not None and bool(self.prometheus.power)
        )

    @property
    def parent(self) -> str:
        """The folder of the cluster's file system in which each run creates its own folder."""
        return self.folder or f"/user/{self.account}/windtunnel"

    @property
    def conf_folder(self) -> Path:
        """The folder with the client configuration."""
        return Path(self.conf).expanduser().absolute()

    def queue_of(self, settings: Mapping[str, Any]) -> str:
        """The queue of the jobs of a treatment with these settings."""
        return str(settings.get(QUEUE, settings.get(OLD_QUEUE, self.queue)))

    def block_of(self, changes: Mapping[str, Any]) -> str:
        """A text that is equal for treatments without a change by hand between them."""
        if self.apply is None:
            return ""
        return json.dumps(daemon_settings(changes), sort_keys=True, default=str)

    def words(self) -> str:
        """The main options as text."""
        hand = ", daemons are changed by hand" if self.apply else ""
        return f"conf {self.conf}, queue {self.queue}, at most {self.containers} containers{hand}"

    def to_record(self) -> dict[str, Any]:
        """The options that affect what is measured, without paths of this machine."""
        found = super().to_record()
        if self.apply is None:  # results of earlier versions have no such option
            del found["apply"]
        if self.edge is None:
            del found["edge"]
        else:
            found["edge"] = {"hadoop": self.edge.hadoop}
        # results of earlier versions have no options of sources that are not given
        for name, field in type(self).model_fields.items():
            if any(_is_source(kind) for kind in get_args(field.annotation)):
                del found[name]
        found |= {name: one.to_record() for name, one in self.sources.items()}
        return {name: value for name, value in found.items() if name not in _PLACES}


def _is_source(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, SourceOptions)
