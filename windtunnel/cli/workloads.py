"""``catalogue workloads``: a description of each workload, its parameters and its metrics."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from windtunnel.workloads.base import Workload


def described(name: str, kind: type[Workload[Any]]) -> dict[str, Any]:
    """A workload as plain data: summary, stresses, parameters, metrics, example.

    ``metrics`` maps each name to its meaning. ``metric_details`` has all facts of the catalogue of
    metrics; a name with parts in braces is one entry.
    """
    schema = kind.parameters_type.model_json_schema()
    required = set(schema.get("required", ()))
    parameters = [
        {
            "name": key,
            "required": key in required,
            "default": None if key in required else field.get("default"),
            "meaning": field.get("description", ""),
        }
        for key, field in schema["properties"].items()
    ]
    return {
        "name": name,
        "summary": kind.summary,
        "stresses": kind.about.stresses,
        "parameters": parameters,
        "metrics": {
            info.name: info.meaning for one in kind.about.metrics for info in one.expanded()
        },
        "metric_details": [
            {"name": one.name, **one.plain(), "meaning": one.explained}
            for one in kind.about.metrics
        ],
        "example": kind.about.example,
    }


def print_workload(found: dict[str, Any]) -> None:
    """Print the description of one workload."""
    console = Console(highlight=False)
    console.print(f"{found['name']}: {found['summary']}", markup=False, style="bold")
    console.print(f"  stresses: {found['stresses']}", markup=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for head in ("  parameter", "default", "meaning"):
        table.add_column(head)
    for entry in found["parameters"]:
        default = "required" if entry["required"] else _default(entry["default"])
        table.add_row(f"  {entry['name']}", default, entry["meaning"])
    console.print(table, markup=False)
    metrics = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for head in ("  metric of its own", "unit", "better", "meaning"):
        metrics.add_column(head)
    for one in found["metric_details"]:
        metrics.add_row(f"  {one['name']}", one["unit"], one["better"] or "", one["meaning"])
    console.print(metrics, markup=False)
    console.print(f"  example: windtunnel run {found['example']}", markup=False)


def _default(value: object) -> str:
    return "" if value in (None, "", {}, []) else json.dumps(value, ensure_ascii=False).strip('"')
