"""The options of the testbed ``attached``."""

from __future__ import annotations

import getpass
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, field_validator, model_validator

from windtunnel.cluster import Duration, Fraction, blame
from windtunnel.cluster.hosts import Part as ClosedModel
from windtunnel.cluster.settings import affects
from windtunnel.testbeds.base import TestbedOptions

QUEUE, OLD_QUEUE = "mapreduce.job.queuename", "mapred.job.queue.name"
_SETTINGS = "settings."
_FEWEST_CONTAINERS = 3
# Options that do not affect what is measured, mainly places on this machine.
_PLACES = {"hosts_file", "keytab", "krb5_conf", "ca_file", "apply_within"}

_PROMETHEUS_PLACES = {"url", "user", "password_file"}


def daemon_settings(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Of the changes of a description, the settings that daemons read: name -> value."""
    found = {
        path.removeprefix(_SETTINGS): value
        for path, value in changes.items()
        if path.startswith(_SETTINGS)
    }
    return {name: value for name, value in found.items() if affects(name) != "client"}


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


class PrometheusOptions(ClosedModel):
    """A Prometheus server that monitors the hosts of the cluster with its node exporter."""

    url: str = Field(description="URL of the server, such as http://prometheus:9090.")
    selector: str = Field(
        "",
        description="Label matchers of the node exporters of the cluster, such as 'job=\"node\"'. "
        "Default: all node exporters of the server.",
    )
    user: str | None = Field(None, description="User name, for servers that require a password.")
    password_file: str | None = Field(
        None, description="File whose first line is the password; requires TLS."
    )
    power: str | None = Field(
        None,
        description="PromQL query for the electrical power of each host in watts, such as "
        "ipmi_dcmi_power_consumption_watts. Default: no power.",
    )
    power_interval: Duration | None = Field(
        None,
        description="Time between two readings of the power meters; default: that of the node "
        "exporter.",
    )

    @model_validator(mode="after")
    def _usable(self) -> PrometheusOptions:
        if not self.url.startswith(("http://", "https://")):
            raise blame(
                f"'{self.url}' is not the URL of a web server",
                "url",
                remedy="write http://HOST:PORT or https://HOST:PORT.",
            )
        if "@" in self.url.partition("://")[2].partition("/")[0]:
            raise blame(
                "must not contain a user",
                "url",
                remedy="write 'user' and 'password_file' in 'prometheus'.",
            )
        if self.selector.startswith("{"):
            raise blame(
                "must be label matchers without braces", "selector", remedy="write: 'job=\"node\"'"
            )
        if (self.password_file is None) != (self.user is None):
            missing = "user" if self.user is None else "password_file"
            given = "password_file" if self.user is None else "user"
            raise blame(f"'{given}' needs '{missing}'", given, remedy=f"add '{missing}'.")
        return self


class SshOptions(ClosedModel):
    """Logins by SSH to the hosts of the cluster, which read their counters.

    The SSH configuration of the user, the agent and the known hosts apply.
    """

    user: str | None = Field(
        None, description="User name on the hosts; default: that of the SSH configuration."
    )
    port: PositiveInt | None = Field(
        None, description="Port; default: that of the SSH configuration, or 22."
    )
    key: str | None = Field(
        None, description="Private key; default: the keys of the agent and of ~/.ssh."
    )
    config: str | None = Field(
        None, description="Configuration of the SSH client; default: ~/.ssh/config."
    )
    known_hosts: str | None = Field(
        None, description="Keys of the hosts; default: ~/.ssh/known_hosts."
    )
    jump: str | None = Field(
        None,
        description="Host through which the others are reached, as [USER@]HOST[:PORT]; several are "
        "separated by commas.",
    )
    interval: Duration = Field(
        "5 s", description="Time between two samples of a host.", validate_default=True
    )

    @model_validator(mode="after")
    def _polite(self) -> SshOptions:
        if self.interval < 1:
            raise blame("must be at least 1 s", "interval", remedy="write 'interval: 5 s'.")
        return self

    def files(self) -> dict[str, str | None]:
        """The options that name a file."""
        return {"key": self.key, "config": self.config, "known_hosts": self.known_hosts}


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
        description="User name on a cluster without Kerberos; default: the user of this program.",
    )
    hadoop: str | None = Field(
        None,
        description="The cluster's own program 'hadoop', as a path or a name on PATH, as client; "
        "default: the jars that Windtunnel fetched.",
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
        if self.prometheus is not None and self.ssh is not None:
            raise blame(
                "'ssh' and 'prometheus' both sample the hosts", "ssh", remedy="remove one of them."
            )
        return self

    @property
    def account(self) -> str:
        """The name of the user on the cluster."""
        if self.principal:
            return self.principal.partition("@")[0].partition("/")[0]
        return self.user or getpass.getuser()

    @property
    def samples_hosts(self) -> bool:
        """Whether there is a source of samples of the hosts."""
        return self.prometheus is not None or self.ssh is not None

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
        if self.prometheus is None:
            del found["prometheus"]
        else:
            found["prometheus"] = {
                name: value
                for name, value in found["prometheus"].items()
                if name not in _PROMETHEUS_PLACES
            }
        if self.ssh is None:
            del found["ssh"]
        else:
            found["ssh"] = {"interval": found["ssh"]["interval"]}
        return {name: value for name, value in found.items() if name not in _PLACES}
