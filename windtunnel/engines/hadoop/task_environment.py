"""Environment variables that settings give to the containers of MapReduce."""

from __future__ import annotations

import re
from collections.abc import Mapping

# MRJobConfig of Hadoop 3: a value is a list of NAME=VALUE; a property can also end with the name.
_ENVIRONMENTS = (
    "mapred.child.env",
    "mapreduce.map.env",
    "mapreduce.reduce.env",
    "mapreduce.admin.user.env",
    "yarn.app.mapreduce.am.env",
    "yarn.app.mapreduce.am.admin.user.env",
)
_JAVA_HOME = re.compile(r"(?:^|,)\s*JAVA_HOME\s*=")


def own_java(settings: Mapping[str, object]) -> list[str]:
    """The settings that start containers with another Java than that of their NodeManager."""
    return [
        name
        for name, value in settings.items()
        if (name in _ENVIRONMENTS and _JAVA_HOME.search(str(value)))
        or name in {f"{one}.JAVA_HOME" for one in _ENVIRONMENTS}
    ]
