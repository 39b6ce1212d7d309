"""Facts from tables (CSV) that others collected: published studies, spreadsheets of operators.

The header decides what a table holds: ``key, value`` (kernel parameters), ``setting, value``
(values of start-up files), ``item, value`` (settings of Hadoop), ``port`` (open ports).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from windtunnel.audit.configuration import Configuration, Property, number_of
from windtunnel.audit.facts import HostFacts
from windtunnel.audit.rules.kernel import known_parameters
from windtunnel.cluster.settings import site_of, unknown_settings
from windtunnel.errors import DescriptionError

Row = Mapping[str, str]
_MAX_ROWS = 100_000
_KEY = re.compile(r"[A-Za-z][\w.-]*")
_NAME = re.compile(r"[a-z][a-z0-9]*([._-][A-Za-z0-9]+)+")
_NO_VALUE = re.compile(
    r"(?i)(default|varies|not (set|known)|n/?a|unknown)|.*\bdefault\b.*|varies .*"
)


def read_table(path: Path) -> tuple[list[HostFacts], list[Configuration]]:
    """The facts and configurations of a table; one of each is usually empty.

    Raises
    ------
    DescriptionError
        If the file cannot be read or has none of the known headers.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row, _ in zip(csv.DictReader(file), range(_MAX_ROWS), strict=False)]
    except OSError as error:
        raise DescriptionError(
            f"cannot be read: {error.strerror}", file=path, remedy="check the path."
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DescriptionError(f"not CSV: {error}", file=path, remedy="save it as CSV.") from None
    kept = [{k: (v or "").strip() for k, v in row.items() if isinstance(k, str)} for row in rows]
    columns = set(kept[0]) if kept else set()
    if "port" in columns:
        return _grouped(kept, ("host",), path, _ports), []
    if {"key", "value"} <= columns:
        return _grouped(kept, ("variant", "host"), path, _parameters), []
    if {"setting", "value"} <= columns:
        return _grouped(kept, ("variant", "host"), path, _boot), []
    if {"item", "value"} <= columns:
        return [], _configurations(kept, path)
    raise DescriptionError(
        f"its columns are not those of a table for audit: {', '.join(sorted(columns)) or 'none'}",
        file=path,
        line=1,
        remedy="name the columns 'key, value' (kernel parameters), 'setting, value' (start-up "
        "files), 'item, value' (settings of Hadoop) or 'host, port' (open ports).",
    )


def _groups(rows: Sequence[Row], names: Sequence[str], path: Path) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        name = " ".join(row[one] for one in names if row.get(one)) or path.stem
        found.setdefault(name, []).append(row)
    return found


def _grouped(rows: Sequence[Row], names: Sequence[str], path: Path, facts: Any) -> list[HostFacts]:
    groups = _groups(rows, names, path)
    return [HostFacts(name, facts(own, path), True, str(path)) for name, own in groups.items()]


def _parameters(rows: Sequence[Row], path: Path) -> dict[str, dict[str, Any]]:
    """What a file sets; the last value of each parameter counts as in force."""
    settings = [
        {"file": path.name, "line": number, "key": row["key"], "value": row["value"]}
        for number, row in enumerate(rows, 1)
        if _KEY.fullmatch(row["key"])
    ]
    names, families = known_parameters()
    values = {
        str(row["key"]): row["value"]
        for row in settings
        if row["key"] in names or families.fullmatch(str(row["key"]))
    }
    return {
        "sysctl": {"value": values},
        "sysctl_files": {"value": {"settings": settings, "unreadable": []}},
    }


def _boot(rows: Sequence[Row], path: Path) -> dict[str, dict[str, Any]]:
    """What a start-up file sets counts as in force."""
    facts: dict[str, dict[str, Any]] = {}
    nics: dict[str, dict[str, Any]] = {}
    for row in rows:
        setting, value = row["setting"], row["value"]
        nic = re.fullmatch(r"(\w+) (mtu|txqueuelen)", setting)
        if "scaling_governor" in setting:
            facts["governors"] = {"value": {value: _cpus(setting)}}
        elif match := re.search(r"transparent_hugepage/(enabled|defrag)", setting):
            facts[f"thp_{match[1]}"] = {"value": value}
        elif nic and value.isdigit():
            port = {"name": nic[1], "physical": True, "state": "up", "speed_mbit_s": None}
            nics.setdefault(nic[1], port)[nic[2]] = int(value)
    if nics:
        facts["nics"] = {"value": list(nics.values())}
    return facts


def _cpus(setting: str) -> int:
    """The number of CPUs in ``cpu0..47``; 1 if none is stated."""
    match = re.search(r"cpu(\d+)\.\.(\d+)", setting)
    return int(match[2]) - int(match[1]) + 1 if match else 1


def _ports(rows: Sequence[Row], path: Path) -> dict[str, dict[str, Any]]:
    """Open ports, whose interface and process are not stated."""
    listening = [
        {
            "protocol": row.get("protocol") or "TCP",
            "port": int(row["port"]),
            "address": row.get("interface") or None,
            "process": row.get("process") or None,
            "user": row.get("user") or None,
            "purpose": row.get("purpose", ""),
        }
        for row in rows
        if row["port"].isdigit() and int(row["port"]) <= 65535
    ]
    return {"listening": {"value": listening}}


def _configurations(rows: Sequence[Row], path: Path) -> list[Configuration]:
    """One configuration for each campaign and step; rows that are no setting are passed over."""
    found = []
    for name, own in _groups(rows, ("campaign", "tuning_step"), path).items():
        entries = []
        for number, row in enumerate(own, 1):
            item = _hadoop_name(row["item"].split(" ")[0])
            value = row["value"]
            if not _NAME.fullmatch(item) or "." not in item or not value:
                continue
            if _NO_VALUE.fullmatch(value):
                continue
            file = site_of(item)
            entries.append(Property(item, _plain(item, value, row.get("unit", "")), file, number))
        if entries:
            found.append(Configuration(f"{path.stem} {name}", tuple(entries), partial=True))
    return found


def _hadoop_name(item: str) -> str:
    """Hadoop's name for one of Cloudera Manager, which has ``_`` for points and hyphens."""
    if "." in item:
        return item
    name = item.replace("_", ".")
    said = next(iter(unknown_settings({name: ""})), "")
    near = said.partition("did you mean '")[2].rstrip("'?")
    return near if re.sub("[.-]", "_", near) == item else name


def _plain(name: str, value: str, unit: str) -> str:
    """A value with its unit as Hadoop writes it: MiB for names with ``mb``, else bytes."""
    text = value.lower() if value.lower() in ("true", "false") else value
    if unit.upper() not in ("", "KB", "MB", "GB"):
        return text
    size = number_of(f"{text}{unit[:1]}" if unit else text)
    if size is None or (not unit and not re.search(r"[a-zA-Z]", text)):
        return text
    in_mib = name.endswith("mb")
    return f"{size / 2**20 if in_mib else size:.0f}"
