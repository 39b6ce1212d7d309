"""Which settings of a cluster its description has: those that are valid on other testbeds, too.

A switch is no more portable than the folder, the address or the class that it needs: without them,
daemons or clients do not start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from windtunnel.cluster.settings import engine_of

PLACE = "a place or an account"

# Settings of the place, not of the behaviour: on another testbed they would be wrong.
_OF_THE_PLACE = re.compile(
    r"address|bind-host|hostname|\.hosts|hosts\.|principal|keytab|kerberos|auth|security|ssl|tls|"
    r"https?[._-]|\.dirs?$|-dirs?$|\.dirs?\.|path|uri|url|quorum|zk|zookeeper|nameservice|\.ha\.|"
    r"ha\.(namenodes|rm-ids)|\bacl|acls|proxyuser|user|group|admin|topology|script|classpath|"
    r"-env|\.env|env\.|keystore|truststore|fs\.defaultfs|domain|socket|cluster-id|protection|"
    r"encrypt|access\.token|executor|cgroups|policy|provider|log-|\.log|logs|java\.home|interface|"
    r"tmp|temp|"
    r"webapp|web-proxy|registry|timeline|rm-ids|configuration\.store",
    re.IGNORECASE,
)

# Settings that belong together: the description has all or none of them.
_TOGETHER: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), reason)
    for pattern, reason in (
        (
            r"yarn\.scheduler\.capacity\.(root|queue-mappings|mapping-rule|user-limit|multi-node"
            r"|minimum-user-limit|workflow-priority-mappings)\b.*"
            r"|yarn\.scheduler\.queue-placement-rules"
            r"|yarn\.resourcemanager\.application-tag-based-placement\b.*"
            r"|mapreduce\.job\.queuename|mapred\.job\.queue\.name",
            "queues belong to the cluster; clusters that Windtunnel starts have only the queue "
            "'default'",
        ),
        (
            r"yarn\.node-labels\..*|mapreduce\.[\w.]+\.node-label-expression",
            "node labels belong to the cluster",
        ),
        (
            r"yarn\.resourcemanager\.(recovery|store)\..*",
            "the store of the ResourceManager's state belongs to the cluster",
        ),
        (
            r"yarn\.nodemanager\.aux-services(\..*)?",
            "services in NodeManagers need the jars of the cluster; Windtunnel starts that of "
            "MapReduce",
        ),
        (
            r"dfs\.client\.read\.shortcircuit|dfs\.datanode\.max\.locked\.memory",
            "Hadoop's published jars do not contain the native library",
        ),
        (
            r"dfs\.datanode\.du\.reserved(\..*)?|dfs\.datanode\.failed\.volumes\.tolerated",
            "disks of another testbed have other sizes and another number",
        ),
        (
            r"dfs\.namenode\.startup\.delay\.block\.deletion\.sec",
            "the blocks of finished trials would remain on the disks for this time",
        ),
    )
)

_CLASS = re.compile(r"([a-z]\w*\.)+[A-Z][\w$]*")
# HBase and Hive have classes below org.apache.hadoop that Hadoop's jars do not contain
_OF_HADOOP = re.compile(r"org\.apache\.hadoop\.(?!hbase\.|hive\.)|java\.")


def reason_against(name: str, value: str) -> str:
    """Why a description does not have a setting; empty if it has the setting."""
    for pattern, reason in _TOGETHER:
        if pattern.fullmatch(name):
            return reason
    if _OF_THE_PLACE.search(name):
        return PLACE
    if engine_of(name) is None and any(_foreign_classes(value)):
        return "Hadoop's jars do not contain a class of the value"
    return PLACE if _names_a_place(value) else ""


def _names_a_place(value: str) -> bool:
    """Whether a value contains a folder, an address or a variable of the place."""
    return bool(re.search(r"(^|[\s,=:])/[\w.-]+|://|\$\{|\w:\d{2,5}\b|\n", value)) or not value


def _foreign_classes(value: str) -> Iterator[str]:
    """The classes that are not Hadoop's, of a value that is a class or a list of classes.

    A list is not shortened: a shorter one differs from that in force on the cluster, so that the
    testbed ``attached`` would refuse the description.
    """
    words = [word for word in re.split(r"[\s,]+", value) if word]
    if all(_CLASS.fullmatch(word) for word in words):
        yield from (word for word in words if not _OF_HADOOP.match(word))
