"""The web addresses of a cluster's daemons, from its client configuration."""

from __future__ import annotations

from dataclasses import dataclass, field

from windtunnel.inspection.site_files import ClientConfiguration

_ANY = ("0.0.0.0", "")


@dataclass
class Endpoints:
    """Base URLs of web servers; several for a pair of servers. ``source`` states where from."""

    namenodes: list[str] = field(default_factory=list)
    resourcemanagers: list[str] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    source: dict[str, str] = field(default_factory=dict)


def endpoints(conf: ClientConfiguration, *, others: bool = True) -> Endpoints:
    """The addresses as Hadoop's own clients determine them, without any request.

    Without ``others``, the NameNodes are those of the default file system only: a configuration
    can name further clusters.
    """
    found = Endpoints()
    _namenodes(conf, found, others=others)
    _resourcemanagers(conf, found)
    _history(conf, found)
    return found


def default_file_system_host(conf: ClientConfiguration) -> str | None:
    """The host of ``fs.defaultFS``, or the name of its pair; None without one."""
    place = (conf.given("fs.defaultFS") or "").partition("://")[2].split("/")[0]
    return place.rpartition(":")[0] or place or None


def _url(address: str, secure: bool, host: str | None) -> str | None:
    """A base URL; an address that names no host gets ``host``."""
    name, _, port = address.strip().rpartition(":")
    if not port.isdigit() or port == "0" or "${" in name:
        return None
    if name in _ANY:
        name = host or ""
    return f"{'https' if secure else 'http'}://{name}:{port}" if name else None


def _namenodes(conf: ClientConfiguration, found: Endpoints, *, others: bool) -> None:
    secure = (conf.get("dfs.http.policy") or "").upper() == "HTTPS_ONLY"
    key = f"dfs.namenode.{'https' if secure else 'http'}-address"
    default = default_file_system_host(conf)
    services = _words(conf.given("dfs.nameservices")) if others else [default or ""]
    suffixes = [
        f".{service}{f'.{node}' if node else ''}"
        for service in services
        for node in _words(conf.given(f"dfs.ha.namenodes.{service}")) or [""]
        if others or node or conf.given(f"{key}.{service}")
    ]
    for suffix in (*suffixes, ""):
        given = conf.given(key + suffix)
        rpc = conf.given(f"dfs.namenode.rpc-address{suffix}") or ""
        host = rpc.rpartition(":")[0] or default
        if given is None and suffix == "" and (found.namenodes or host is None):
            continue
        address = given or f"0.0.0.0:{(conf.get(key) or ':9870').rpartition(':')[2]}"
        url = _url(address, secure, host)
        if url and url not in found.namenodes:
            found.namenodes.append(url)
            found.source[url] = (
                f"{key}{suffix}" if given else "fs.defaultFS and Hadoop's default port"
            )


def _resourcemanagers(conf: ClientConfiguration, found: Endpoints) -> None:
    secure = (conf.get("yarn.http.policy") or "").upper() == "HTTPS_ONLY"
    kind = "https.address" if secure else "address"
    key = f"yarn.resourcemanager.webapp.{kind}"
    port = "8090" if secure else "8088"
    for suffix in (
        *(f".{one}" for one in _words(conf.given("yarn.resourcemanager.ha.rm-ids"))),
        "",
    ):
        given = conf.given(key + suffix)
        name = f"yarn.resourcemanager.hostname{suffix}"
        host = conf.given(name)
        if host is None:
            rpc = conf.given(f"yarn.resourcemanager.address{suffix}") or ""
            host = rpc.rpartition(":")[0] or None
        if given is None and host is None:
            continue
        url = _url(given or f"0.0.0.0:{port}", secure, host)
        if (
            url
            and url not in found.resourcemanagers
            and not (suffix == "" and found.resourcemanagers)
        ):
            found.resourcemanagers.append(url)
            found.source[url] = f"{key}{suffix}" if given else name


def _history(conf: ClientConfiguration, found: Endpoints) -> None:
    secure = (conf.get("mapreduce.jobhistory.http.policy") or "").upper() == "HTTPS_ONLY"
    key = f"mapreduce.jobhistory.webapp{'.https' if secure else ''}.address"
    rpc = conf.given("mapreduce.jobhistory.address") or ""
    given = conf.given(key)
    if given is None and not rpc:
        return
    address = given or f"0.0.0.0:{'19890' if secure else '19888'}"
    url = _url(address, secure, rpc.rpartition(":")[0] or None)
    if url:
        found.history.append(url)
        found.source[url] = key if given else "mapreduce.jobhistory.address"


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]
