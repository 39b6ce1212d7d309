"""The options of the sources of samples of the hosts of an existing cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, PositiveInt, model_validator

from windtunnel.cluster import ROLES, Duration, blame
from windtunnel.cluster.hosts import Part as ClosedModel
from windtunnel.cluster.schema_paths import suggest

Files = Mapping[str, str | None]
_SHORTEST_INTERVAL_S = 1


class SourceOptions(ClosedModel):
    """Base of the options of one source."""

    samples_hosts: ClassVar[bool] = True
    """Whether the source has the CPU, memory, disks and network of the hosts."""
    recorded: ClassVar[frozenset[str]] = frozenset()
    """The options that affect what is measured; the others are places and accounts."""

    def files(self) -> Files:
        """The options that name a file: name -> path."""
        return {}

    def to_record(self) -> dict[str, Any]:
        """The options of :attr:`recorded`."""
        return self.model_dump(mode="json", include=set(self.recorded))


def _check_interval(interval_s: float, default: str) -> None:
    if interval_s < _SHORTEST_INTERVAL_S:
        raise blame("must be at least 1 s", "interval", remedy=f"write 'interval: {default}'.")


def _is_server(url: str) -> bool:
    """Whether a URL names a web server, without user, path and query."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    rest = (parts.path.strip("/"), parts.query, parts.fragment, parts.username)
    spaces = any(one.isspace() for one in url)
    known = parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0
    return known and not spaces and not any(rest)


def _check_user(user: str | None, password_file: str | None) -> None:
    if (password_file is None) != (user is None):
        missing = "user" if user is None else "password_file"
        given = "password_file" if user is None else "user"
        raise blame(f"'{given}' needs '{missing}'", given, remedy=f"add '{missing}'.")


class PrometheusOptions(SourceOptions):
    """A Prometheus server that monitors the hosts of the cluster with its node exporter."""

    recorded = frozenset({"selector", "power", "power_interval", "daemons"})

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

    daemons: Mapping[str, str] = Field(
        {},
        description="Role of daemons -> label matchers of their JMX exporters, such as "
        "{datanode: 'job=\"hdfs-datanode\"'}; adds their CPU and memory. Default: none.",
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
        for key, matchers in (
            ("selector", self.selector),
            *((f"daemons.{role}", one) for role, one in self.daemons.items()),
        ):
            if matchers.startswith("{"):
                raise blame(
                    "must be label matchers without braces", key, remedy="write: 'job=\"node\"'"
                )
        for role in self.daemons:
            if role not in ROLES:
                raise blame(
                    f"there is no role '{role}'",
                    "daemons",
                    remedy=suggest(role, [one.name for one in ROLES]),
                )
        _check_user(self.user, self.password_file)
        return self

    def files(self) -> Files:
        """The option that names a file."""
        return {"password_file": self.password_file}

    def to_record(self) -> dict[str, Any]:
        """As of every source; results of earlier versions have no 'daemons'."""
        found = super().to_record()
        return found if self.daemons else {n: v for n, v in found.items() if n != "daemons"}


class LoginOptions(ClosedModel):
    """Logins by SSH. The SSH configuration of the user, the agent and the known hosts apply."""

    user: str | None = Field(
        None, min_length=1, description="User name; default: that of the SSH configuration."
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

    def files(self) -> Files:
        """The options that name a file."""
        return {"key": self.key, "config": self.config, "known_hosts": self.known_hosts}


class SshOptions(LoginOptions, SourceOptions):
    """Logins by SSH to the hosts of the cluster, which read their counters.

    The SSH configuration of the user, the agent and the known hosts apply.
    """

    recorded = frozenset({"interval"})

    interval: Duration = Field(
        "5 s", description="Time between two samples of a host.", validate_default=True
    )

    @model_validator(mode="after")
    def _polite(self) -> SshOptions:
        _check_interval(self.interval, "5 s")
        return self


class EdgeOptions(LoginOptions):
    """An edge node of the cluster, on which the clients run."""

    host: str = Field(min_length=1, description="Name of the edge node.")
    hadoop: str = Field(
        "hadoop",
        min_length=1,
        description="The program 'hadoop' there, as a path or a name on PATH.",
    )


class PowerOptions(SourceOptions):
    """Power meters of the hosts: their management controllers (BMC), by Redfish or IPMI."""

    samples_hosts = False
    recorded = frozenset({"protocol", "chassis", "sensor", "interval"})

    protocol: Literal["redfish", "ipmi"] = Field(
        description="redfish: HTTPS requests; ipmi: the program 'ipmitool', by RMCP+."
    )
    address: str | None = Field(
        None,
        description="Address of the controllers, with '{host}' for the name of the host up to its "
        "first dot, such as https://{host}-bmc.example (redfish) or {host}-bmc.example (ipmi).",
    )
    addresses: Mapping[str, str] = Field(
        {},
        description="Addresses of controllers by name of the host, for hosts that 'address' does "
        "not fit.",
    )
    user: str | None = Field(
        None,
        min_length=1,
        description="User name on the controllers; the right to read is sufficient.",
    )
    password_file: str | None = Field(
        None, min_length=1, description="File whose first line is the password."
    )
    ca_file: str | None = Field(
        None,
        description="redfish: PEM file of the certificates that are trusted; default: 'ca_file' of "
        "the testbed.",
    )
    chassis: str | None = Field(
        None,
        min_length=1,
        description="redfish: Id of the chassis, for controllers with several that report power.",
    )
    sensor: str | None = Field(
        None,
        min_length=1,
        description="ipmi: name of the sensor of the power, such as 'Pwr Consumption'. Default: "
        "the power reading of DCMI.",
    )
    cipher: PositiveInt | None = Field(
        None, description="ipmi: number of the cipher suite; default: that of ipmitool."
    )
    interval: Duration = Field(
        "10 s",
        description="Time between two readings; not shorter than that of the meters.",
        validate_default=True,
    )

    @model_validator(mode="after")
    def _usable(self) -> PowerOptions:
        _check_interval(self.interval, "10 s")
        _check_user(self.user, self.password_file)
        others = {"redfish": ("sensor", "cipher"), "ipmi": ("ca_file", "chassis")}[self.protocol]
        for name in others:
            if getattr(self, name) is not None:
                raise blame(
                    f"'{name}' is not an option of {self.protocol}", name, remedy="remove it."
                )
        if self.protocol == "ipmi" and self.user is None:
            raise blame(
                "ipmi needs 'user' and 'password_file'",
                "user",
                remedy="add them; a user with the privilege level USER is sufficient.",
            )
        if self.address is None and not self.addresses:
            example = "https://{host}-bmc" if self.protocol == "redfish" else "{host}-bmc"
            raise blame(
                "the addresses of the controllers are missing",
                "address",
                remedy=f"write: address: '{example}'",
            )
        if self.address is not None and "{host}" not in self.address:
            raise blame(
                "must contain '{host}'",
                "address",
                remedy="the address of a single host belongs in 'addresses'.",
            )
        if self.address is not None:
            self._check_address("address", self.address)
        for host, address in self.addresses.items():
            if "{host}" in address:
                raise blame(
                    "'{host}' is for 'address' only",
                    f"addresses.{host}",
                    remedy="write the address.",
                )
            self._check_address(f"addresses.{host}", address)
        return self

    def _check_address(self, key: str, address: str) -> None:
        # without the address in the message: it might contain a password
        like = "HOST or HOST:PORT"
        usable = re.fullmatch(r"[^\s/@]+", address) is not None
        if self.protocol == "redfish":
            like = "https://HOST or https://HOST:PORT"
            usable = _is_server(address.replace("{host}", "host"))
        if not usable:
            raise blame(
                f"is not an address of a controller for {self.protocol}",
                key,
                remedy=f"write {like}, without user and path.",
            )
        if address.startswith("http:") and self.user is not None:
            raise blame("a password is not sent without TLS", key, remedy="write https://.")

    def address_of(self, host: str) -> str | None:
        """The address of the controller of a host; None if there is none."""
        is_number = host.replace(".", "").isdigit()
        short = host if is_number else host.partition(".")[0]
        for name in (host, short):
            if name in self.addresses:
                return self.addresses[name]
        return self.address and self.address.replace("{host}", short)

    def files(self) -> Files:
        """The options that name a file."""
        return {"password_file": self.password_file, "ca_file": self.ca_file}
