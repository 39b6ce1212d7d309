"""Facts from the web servers of a cluster's daemons; every request only reads.

Sources: WebHDFS and JMX of HDFS ("Metrics" in Hadoop's documentation: NameNodeInfo, DataNodeInfo),
ResourceManager REST API's, History Server REST API's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.rest import RestClient
from windtunnel.hosts.rest.active import active_namenode, active_resourcemanager
from windtunnel.inspection.endpoints import Endpoints
from windtunnel.inspection.facts import ClusterFacts, HostFacts, Volume
from windtunnel.inspection.queues import child_queues
from windtunnel.inspection.site_files import Entry

_PARALLEL = 8
_REDACTED = "<redacted>"  # what daemons print instead of passwords
_OF_QUEUES = (
    *("capacity", "maxCapacity", "usedCapacity", "state", "numPendingApplications"),
    *("schedulingPolicy", "minResources", "maxResources", "numPendingApps"),  # FairScheduler
)
_DAEMON_CONFIGURATION = {  # whose configuration is in force for a property
    "namenode": ("dfs.namenode.", "dfs.", "fs.", "hadoop.", "net.", "io.", "ipc."),
    "resourcemanager": ("yarn.resourcemanager.", "yarn.scheduler.", "yarn."),
    "historyserver": ("mapreduce.jobhistory.",),
}


def read_services(client: RestClient, where: Endpoints, into: ClusterFacts) -> None:
    """Read every daemon that answers; what does not answer is listed in ``unread``."""
    namenode = _tried(into, lambda: active_namenode(client, where.namenodes), where.namenodes)
    if namenode:
        _each(into, namenode, _read_namenode, client)
    for url in where.namenodes:
        if namenode and url != namenode:
            _tried(into, lambda url=url: _standby(client, url, into), [url])  # type: ignore[misc]
    rm = _tried(
        into, lambda: active_resourcemanager(client, where.resourcemanagers), where.resourcemanagers
    )
    if rm:
        _each(into, rm, _read_resourcemanager, client)
    elif where.resourcemanagers:
        _configured(into, where, "resourcemanager", where.resourcemanagers[0])
    for url in where.history:
        _each(into, url, _read_history, client)
    _read_workers(client, into)


def _configured(into: ClusterFacts, where: Endpoints, role: str, url: str) -> None:
    """A role of a host that did not answer, as the configuration states it."""
    source = where.source.get(url, "command line")
    into.host(str(urlsplit(url).hostname)).roles[role] = f"{source}; it did not answer"


def _tried(into: ClusterFacts, action: Callable[[], str | None], urls: Iterable[str]) -> str | None:
    """The result of an action; None, and the reason in ``unread``, if it failed."""
    if not list(urls):
        return None
    try:
        return action()
    except ClusterAccessError as error:
        into.unread.append(f"{error.message}; {error.remedy}")
        return None


def _each(
    into: ClusterFacts,
    url: str,
    action: Callable[[RestClient, str, ClusterFacts], None],
    client: RestClient,
) -> None:
    try:
        action(client, url, into)
    except ClusterAccessError as error:
        into.unread.append(f"{error.message}; {error.remedy}")


def _beans(client: RestClient, url: str, into: ClusterFacts) -> dict[str, dict[str, Any]]:
    """Bean name -> attributes, of a daemon's ``/jmx``."""
    found = client.get_json(f"{url}/jmx").get("beans")
    into.read.append(f"{url}/jmx")
    beans = found if isinstance(found, list) else []
    return {str(bean.get("name")): bean for bean in beans if isinstance(bean, dict)}


def _machine(host: HostFacts, beans: Mapping[str, Mapping[str, Any]], source: str) -> None:
    """Processors, memory, operating system and Java, as the daemon's virtual machine has them."""
    system = beans.get("java.lang:type=OperatingSystem", {})
    source = f"{source} OperatingSystem"
    host.add("cores", system.get("AvailableProcessors"), source)
    memory = system.get("TotalPhysicalMemorySize") or system.get("TotalMemorySize")
    host.add("memory_bytes", memory, source)
    name, version = system.get("Name"), system.get("Version")
    if name and version:
        host.add("os", f"{name} {version}", source)
    runtime = beans.get("java.lang:type=Runtime", {})
    host.add("java", _java(runtime), source.replace("OperatingSystem", "Runtime"))


def _java(runtime: Mapping[str, Any]) -> str | None:
    properties = runtime.get("SystemProperties")
    for pair in properties if isinstance(properties, list) else []:
        if isinstance(pair, dict) and pair.get("key") == "java.version":
            return str(pair.get("value"))
    version = runtime.get("SpecVersion")
    return str(version) if version else None


def _read_namenode(client: RestClient, url: str, into: ClusterFacts) -> None:
    beans = _beans(client, url, into)
    info = beans.get("Hadoop:service=NameNode,name=NameNodeInfo", {})
    source = f"{url}/jmx NameNodeInfo"
    host = into.host(str(urlsplit(url).hostname))
    host.roles["namenode"] = source
    _machine(host, beans, f"{url}/jmx")
    into.add("hadoop", info.get("SoftwareVersion"), source)
    host.add("namenode_version", info.get("SoftwareVersion"), source)
    heap = beans.get("java.lang:type=Memory", {}).get("HeapMemoryUsage")
    if isinstance(heap, dict):
        host.add("namenode_heap_bytes", heap.get("max"), f"{url}/jmx Memory")
    into.add("cluster_id", info.get("ClusterId"), source)
    into.add("capacity_bytes", info.get("Total"), source)
    into.add("free_bytes", info.get("Free"), source)
    for key, alive in (("LiveNodes", True), ("DeadNodes", False), ("DecomNodes", False)):
        for name, node in _nodes(info.get(key)):
            if alive:
                _datanode(into, name, node, source)
            elif key == "DeadNodes":
                into.notes.append(f"DataNode {name} is dead ({source})")
    state = beans.get("Hadoop:service=NameNode,name=FSNamesystem", {})
    into.add("files", state.get("FilesTotal"), f"{url}/jmx FSNamesystem")
    for key in ("MissingBlocks", "UnderReplicatedBlocks"):
        if state.get(key):
            into.notes.append(f"HDFS has {state[key]} {key} ({url}/jmx FSNamesystem)")
    if info.get("Safemode"):
        into.notes.append(f"the NameNode is in safe mode ({source})")
    _settings(client, url, "namenode", into)


def _standby(client: RestClient, url: str, into: ClusterFacts) -> None:
    host = into.host(str(urlsplit(url).hostname))
    host.roles["standby namenode"] = f"{url}/jmx"
    beans = _beans(client, url, into)
    info = beans.get("Hadoop:service=NameNode,name=NameNodeInfo", {})
    host.add("namenode_version", info.get("SoftwareVersion"), f"{url}/jmx NameNodeInfo")
    _machine(host, beans, f"{url}/jmx")


def _nodes(text: object) -> list[tuple[str, dict[str, Any]]]:
    """``HOST[:PORT]`` and facts of the nodes in the text of a bean, which is JSON."""
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return []
    return [(name, node) for name, node in found.items() if isinstance(node, dict)]


def _datanode(into: ClusterFacts, name: str, node: Mapping[str, Any], source: str) -> None:
    host = into.host(name.rpartition(":")[0] or name)
    host.roles["datanode"] = source
    host.add("capacity_bytes", node.get("capacity"), source)
    host.add("rack", node.get("location"), source)
    host.add("hadoop", node.get("version"), source)
    host.add("datanode_version", node.get("version"), source)
    host.add("datanode_url", datanode_url(host.name, node), source)


def datanode_url(host: str, node: Mapping[str, Any]) -> str | None:
    """The web address of a DataNode from its entry in ``LiveNodes`` of the NameNode."""
    secure = str(node.get("infoSecureAddr") or "")
    address = secure if secure and not secure.endswith(":0") else str(node.get("infoAddr") or "")
    port = address.rpartition(":")[2]
    if not port.isdigit() or port == "0":
        return None
    return f"{'https' if address == secure else 'http'}://{host}:{port}"


def _read_resourcemanager(client: RestClient, url: str, into: ClusterFacts) -> None:
    base = f"{url}/ws/v1/cluster"
    info = client.get_json(f"{base}/info").get("clusterInfo", {})
    into.read.append(f"{base}/info")
    host = into.host(str(urlsplit(url).hostname))
    host.roles["resourcemanager"] = f"{base}/info"
    into.add("hadoop", info.get("hadoopVersion"), f"{base}/info")
    host.add("resourcemanager_version", info.get("hadoopVersion"), f"{base}/info")
    into.add("yarn_started", info.get("startedOn"), f"{base}/info")
    nodes = client.get_json(f"{base}/nodes").get("nodes") or {}
    into.read.append(f"{base}/nodes")
    for node in nodes.get("node", []):
        _nodemanager(into, node, f"{base}/nodes")
    scheduler = client.get_json(f"{base}/scheduler").get("scheduler", {}).get("schedulerInfo", {})
    into.read.append(f"{base}/scheduler")
    into.add("scheduler", scheduler.get("type"), f"{base}/scheduler")
    into.queues.extend(_queues(scheduler))
    _machine(host, _beans(client, url, into), f"{url}/jmx")
    _settings(client, url, "resourcemanager", into)


def _queues(queue: Mapping[str, Any], above: str = "") -> list[dict[str, object]]:
    """The queues of a scheduler, the leaves and the inner ones."""
    name = str(queue.get("queuePath") or queue.get("queueName") or above)
    own: dict[str, object] = {"name": name}
    for key in _OF_QUEUES:
        if key in queue:
            own[key] = queue[key]
    found = [own] if len(own) > 1 else []
    for child in child_queues(queue):
        found += _queues(child, name)
    return found


def _nodemanager(into: ClusterFacts, node: Mapping[str, Any], source: str) -> None:
    host = into.host(str(node.get("nodeHostName") or str(node.get("id")).partition(":")[0]))
    if node.get("state") in ("LOST", "SHUTDOWN", "DECOMMISSIONED"):
        into.notes.append(f"NodeManager {host.name} is {node['state']} ({source})")
        if not host.roles:
            del into.hosts[host.name]
        return
    host.roles["nodemanager"] = source
    host.add("rack", node.get("rack"), source)
    host.add("hadoop", node.get("version"), source)
    host.add("nodemanager_version", node.get("version"), source)
    memory = int(node.get("usedMemoryMB", 0)) + int(node.get("availMemoryMB", 0))
    cores = int(node.get("usedVirtualCores", 0)) + int(node.get("availableVirtualCores", 0))
    host.add("yarn_memory_bytes", memory << 20, source)
    host.add("yarn_vcores", cores, source)
    host.labels = tuple(sorted(str(label) for label in node.get("nodeLabels") or []))
    host.add("nodemanager_url", nodemanager_url(host.name, node, source), source)


def nodemanager_url(host: str, node: Mapping[str, Any], resourcemanager: str) -> str | None:
    """The web address of a NodeManager from its entry in the list of the ResourceManager.

    ``resourcemanager`` is the URL of that list: both servers have the same scheme.
    """
    port = str(node.get("nodeHTTPAddress") or "").rpartition(":")[2]
    scheme = resourcemanager.partition("://")[0]
    return f"{scheme}://{host}:{port}" if port.isdigit() else None


def _read_history(client: RestClient, url: str, into: ClusterFacts) -> None:
    info = client.get_json(f"{url}/ws/v1/history/info").get("historyInfo", {})
    into.read.append(f"{url}/ws/v1/history/info")
    host = into.host(str(urlsplit(url).hostname))
    host.roles["historyserver"] = f"{url}/ws/v1/history/info"
    into.add("hadoop", info.get("hadoopVersion"), f"{url}/ws/v1/history/info")
    host.add("historyserver_version", info.get("hadoopVersion"), f"{url}/ws/v1/history/info")
    _machine(host, _beans(client, url, into), f"{url}/jmx")
    _settings(client, url, "historyserver", into)


def _settings(client: RestClient, url: str, role: str, into: ClusterFacts) -> None:
    """The properties of a daemon that come from a file; it redacts passwords itself."""
    try:
        found = client.get_json(f"{url}/conf", {"format": "json"}).get("properties")
    except ClusterAccessError as error:
        into.unread.append(f"{error.message}; {error.remedy}")
        return
    into.read.append(f"{url}/conf")
    for one in found if isinstance(found, list) else []:
        if not isinstance(one, dict) or "key" not in one or one.get("value") is None:
            continue
        resource = str(one.get("resource", ""))
        if resource.endswith("-default.xml") or resource in ("", "programmatically"):
            continue
        name = str(one["key"])
        value = str(one["value"])
        if name.startswith(_DAEMON_CONFIGURATION[role]) and value != _REDACTED:
            earlier = into.settings.get(name)
            if earlier is not None and earlier.value not in (value, "") and "://" in earlier.source:
                continue  # the first daemon in the order of responsibility
            if earlier is not None and earlier.value != value:
                into.notes.append(
                    f"{name} differs: {earlier.source} has another value than the {role} "
                    f"({url}/conf), which is used"
                )
            into.settings[name] = Entry(name, value, f"{url}/conf")


def _read_workers(client: RestClient, into: ClusterFacts) -> None:
    """The machine and the disks of every worker: one request per daemon, some in parallel."""

    def one(host: HostFacts) -> None:
        for role in ("datanode", "nodemanager"):
            url = host.value(f"{role}_url")
            if url is None or (role == "nodemanager" and "cores" in host.facts):
                continue
            try:
                beans = _beans(client, str(url), into)
            except ClusterAccessError as error:
                into.unread.append(f"{error.message}; {error.remedy}")
                continue
            _machine(host, beans, f"{url}/jmx")
            if role == "datanode":
                host.volumes = _volumes(beans, f"{url}/jmx")

    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(one, list(into.hosts.values())))


def _volumes(beans: Mapping[str, Mapping[str, Any]], source: str) -> list[Volume]:
    info = beans.get("Hadoop:service=DataNode,name=DataNodeInfo", {})
    found = []
    for path, volume in _nodes(info.get("VolumeInfo")):
        size = sum(
            int(volume.get(key) or 0)
            for key in ("freeSpace", "usedSpace", "reservedSpace", "reservedSpaceForReplicas")
        )
        kind = str(volume.get("storageType") or UNKNOWN_KIND)
        found.append(Volume(path, kind, size, f"{source} DataNodeInfo.VolumeInfo"))
    return found


UNKNOWN_KIND = "DISK"
