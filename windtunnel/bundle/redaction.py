"""Redaction: removes the names and the facts that identify the machine and its user."""

from __future__ import annotations

import getpass
import json
import re
import socket
from functools import cache
from pathlib import Path
from typing import Any

from windtunnel.errors import ResultsError

PRIVATE = ("cpu_model", "kernel", "windtunnel_commit")
"""Facts of provenance, of this machine and of others."""
MACHINES = ("machine", "client_machine")
REDACTED = "redacted"
_SHORTEST = 4  # letters of a name of a machine or an account that is searched for
# Names of accounts and machines that name nobody; they are also words of the results.
_COMMON = frozenset(
    (
        *("admin", "client", "cluster", "localhost", "master", "root", "test", "user", "work"),
        *("centos", "debian", "docker", "ec2-user", "ubuntu", "vagrant", "worker"),
        *("hadoop", "hbase", "hdfs", "hive", "kafka", "kudu", "mapred", "ozone", "spark", "trino"),
        *("yarn", "zookeeper"),
    )
)


def redacted(path: Path, content: bytes) -> bytes:
    """A JSON or YAML file of a results folder without names of the machine and the account.

    Parameters
    ----------
    path:
        Relative to the results folder: provenance has facts of the machine in addition.

    Raises
    ------
    ResultsError
        If the file is not UTF-8: names in it would not be found.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ResultsError(
            f"{path} is not UTF-8, so that it cannot be redacted",
            remedy="convert the file to UTF-8, or remove it.",
        ) from None
    if path.suffix != ".json":
        return _without_names(text).encode()
    try:
        data = json.loads(text)
    except ValueError:
        return _without_names(text).encode()  # a damaged file is reported by who reads it
    return json.dumps(_walk(data, path.parts[0] == "provenance"), indent=1).encode()


def _walk(data: Any, provenance: bool, within: str = "") -> Any:
    """The data with redacted values; keys stay."""
    if isinstance(data, dict):
        private = (*PRIVATE, *(["machine"] if within in MACHINES else []))
        return {
            key: REDACTED
            if provenance and key in private and not isinstance(value, dict)
            else _walk(value, provenance, key)
            for key, value in data.items()
        }
    if isinstance(data, list):
        return [_walk(value, provenance, within) for value in data]
    return _without_names(data) if isinstance(data, str) else data


def _without_names(text: str) -> str:
    for pattern in _patterns():
        text = pattern.sub(REDACTED, text)
    return text


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """The home folder anywhere, and names that are no part of a longer word."""
    names = [
        name
        for name in dict.fromkeys((socket.gethostname(), getpass.getuser()))
        if len(name) >= _SHORTEST and name.lower() not in _COMMON
    ]
    return (
        re.compile(re.escape(str(Path.home())) + r"(?![\w-])"),
        *(re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])") for name in names),
    )
