"""The configuration of a cluster, as clients with Windtunnel's jars can use it.

The cluster's own client, on this machine or on an edge node, has more: classes of the distribution
and variables that its start script defines. Jobs run with the classes of the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from windtunnel.cluster.settings import Value, text_of
from windtunnel.testbeds.attached.site import Site
from windtunnel.testbeds.base import StudyRequest

CODECS = "io.compression.codecs"
_FRAMEWORK = "mapreduce.application.framework.path"
# read by the client to start an application master, or by the latter to start tasks
_NEEDED = (
    _FRAMEWORK,
    "mapreduce.application.classpath",
    "mapreduce.admin.user.env",
    "yarn.app.mapreduce.am.admin.user.env",
    "yarn.app.mapreduce.am.env",
    "yarn.app.mapreduce.am.admin-command-opts",
    "yarn.app.mapreduce.am.command-opts",
)
# variables of the environment, and the system properties of every JVM (java.lang.System)
_OF_JAVA = re.compile(
    r"(env|file|java|jdk|line|native|os|path|stderr|stdout|sun|user)\..+", re.DOTALL
)
_OF_SHELL = re.compile(r"[A-Za-z_]\w*(:?[-+=?].*)?")


def settings_for(site: Site) -> dict[str, str]:
    """The settings with which the client does not need classes that it does not have.

    The client creates all codecs of the list to split a text, and codecs of others, such as LZO,
    are not in Hadoop's jars. The texts of workloads are not compressed, so no result changes.
    """
    given = [one.strip() for one in site.get(CODECS).split(",") if one.strip()]
    kept = [one for one in given if one.startswith("org.apache.hadoop.")]
    return {CODECS: ",".join(kept)} if kept != given else {}


def undefined(request: StudyRequest, site: Site) -> list[str]:
    """The settings of jobs with variables that only the cluster's own client defines."""
    found = (text for one in request.treatments for text in _undefined(one.cluster.settings, site))
    return list(dict.fromkeys(found))


def _undefined(settings: Mapping[str, Value], site: Site) -> Iterator[str]:
    for name in _NEEDED:
        entry = site.conf.entries.get(name)
        place, value = f"settings.{name}", text_of(settings[name]) if name in settings else ""
        if not value and entry is not None:
            place, value = f"conf: {name} ({entry.source})", entry.value
        # the shell that starts a container expands its own variables, such as ${HADOOP_HOME}
        names = [
            one
            for one in site.conf.undefined(value)
            if not _OF_JAVA.fullmatch(one) and (name == _FRAMEWORK or not _OF_SHELL.fullmatch(one))
        ]
        if names:
            words = ", ".join(f"${{{one}}}" for one in names)
            yield (
                f"{place}: Windtunnel's client does not define {words}, so that no job would run; "
                "use the cluster's own client: write 'hadoop: hadoop' in 'testbed' (the program on "
                "PATH), or let the clients run on an edge node ('edge')"
            )
