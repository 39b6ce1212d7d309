"""``catalogue workloads``: what each workload does, needs and measures."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from windtunnel.workloads.base import Workload


def described(name: str, kind: type[Workload]) -> dict[str, Any]:
    """A workload as plain data: summary, stresses, parameters, metrics, example."""
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
        "metrics": dict(kind.about.metrics),
        "example": kind.about.example,
    }


def print_workload(found: dict[str, Any]) -> None:
    """One workload for the terminal."""
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
    for head in ("  metric of its own", "meaning"):
        metrics.add_column(head)
    for name, meaning in found["metrics"].items():
        metrics.add_row(f"  {name}", meaning)
    console.print(metrics, markup=False)
    console.print(f"  example: windtunnel run {found['example']}", markup=False)


def _default(value: object) -> str:
    return "" if value in (None, "", {}, []) else json.dumps(value, ensure_ascii=False).strip('"')
