"""The balance of a cluster as tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from windtunnel.report.columns import print_table, text_block
from windtunnel.report.sections.base import Column, Table

_LEAST = 0.0005  # smaller changes are printed as none


def print_balance(found: Mapping[str, Any], console: Console) -> None:
    """Print the parts of a host, the utilisation by phase, and the steps."""
    one = found["per_host"]
    said = (
        f"Each worker of {found['cluster']}: {one['cores']:.0f} cores, "
        f"{one['memory_bytes'] / 2**30:.0f} GiB, {one['disks']:.0f} data disks, "
        f"data rate of the NICs {one['nic_bytes_s'] * 8e-9:.3g} Gb/s"
    )
    if one["oversubscription"] is not None:
        said += f"; racks oversubscribed {one['oversubscription']:.2g} to 1"
    console.print(text_block(f"{said}.", console.width, "bold"))
    unused = found["never_used"]
    text = f"Resources below 30 % utilisation in every phase: {', '.join(unused) or 'none'}."
    console.print(text_block(text, console.width))
    print_table(_phases(found), console, rows_shown=40)
    print_table(_steps(found), console, rows_shown=60)
    for line in found["assumed"]:
        console.print(text_block(f"assumed: {line}", console.width, "dim"))
    console.print(text_block(f"constants: {found['fit']}", console.width, "dim"))


def _phases(found: Mapping[str, Any]) -> Table:
    parts = ("cpu", "disk", "network", "start-up")
    names = ("workload", "phase", "time", *parts, "bottleneck")
    columns = [Column(name, name in ("time", *parts)) for name in names]
    rows = [
        [
            row["workload"],
            row["phase"],
            f"{row['elapsed_s']:,.0f} s",
            *(f"{row['utilisation'][part]:.0%}" for part in parts),
            row["bottleneck"],
        ]
        for row in found["phases"]
    ]
    hint = "Predicted: the time that each part would take alone, as a fraction of the phase."
    return Table("Utilisation by phase", columns, rows, hint=hint)


def _steps(found: Mapping[str, Any]) -> Table:
    columns = [Column("step", group=True), Column("workload"), Column("change of time", True)]
    columns += [Column("90 % interval", True), Column("price", True)]
    columns += [Column("time saved, % per 1000", True)]
    rows = []
    for row in found["steps"]:
        price, gain = row["price"], ""
        if price and abs(row["change"]) >= _LEAST:
            gain = f"{-100.0 * row['change'] / price * 1000.0:.2g}"
        rows.append(
            [
                row["step"],
                row["workload"],
                f"{row['change']:+.1%}" if abs(row["change"]) >= _LEAST else "none",
                f"[{row['low']:+.1%}, {row['high']:+.1%}]",
                f"{price:,.0f} {row['currency']}" if price else "not stated",
                gain or "-",
            ]
        )
    hint = (
        "Predicted; the interval has the uncertainty of the model's constants only. Time saved: "
        "percent of the time for each 1000 units of the currency of the price."
    )
    return Table("Predicted effect of one step of each part", columns, rows, hint=hint)


def print_alternatives(found: Mapping[str, Any], console: Console) -> None:
    """Print what each cluster costs, and the time of each workload against the first cluster."""
    print_table(_clusters(found), console, rows_shown=40)
    for one in found["clusters"][1:]:
        print_table(_against(found, one["cluster"]), console, rows_shown=40)
    console.print(text_block(f"constants: {found['fit']}", console.width, "dim"))


def _clusters(found: Mapping[str, Any]) -> Table:
    names = ("workers", "disk capacity", "price")
    columns = [Column("cluster"), *(Column(name, True) for name in names)]
    rows = [
        [
            row["cluster"],
            str(row["workers"]),
            "not stated"
            if row["capacity_bytes"] is None
            else f"{row['capacity_bytes'] / 1e12:,.0f} TB",
            _money(row["price"], row["currency"]),
        ]
        for row in found["clusters"]
    ]
    hint = "Disk capacity: all data disks together, before replication. Price: all hosts."
    return Table("What each cluster has and costs", columns, rows, hint=hint)


def _against(found: Mapping[str, Any], name: str) -> Table:
    """One cluster against the reference: a row for each workload."""
    reference = found["reference"]
    before = {r["workload"]: r for r in found["workloads"] if r["cluster"] == reference}
    columns = [Column("workload"), Column("reference", True), Column("time", True)]
    columns += [Column(text, True) for text in ("change", "90 % interval", "equal price")]
    rows = [
        [
            row["workload"],
            f"{before[row['workload']]['elapsed_s']:,.0f} s",
            f"{row['elapsed_s']:,.0f} s{'' if row['inside'] else ' *'}",
            f"{row['change']:+.1%}" if abs(row["change"]) >= _LEAST else "none",
            f"[{row['low']:+.1%}, {row['high']:+.1%}]",
            _money(row["equal_price"], found["clusters"][0]["currency"]),
        ]
        for row in found["workloads"]
        if row["cluster"] == name
    ]
    hint = (
        "Predicted. Equal price: the price at which price x time equals that of the first cluster; "
        "a cluster with a lower price costs less for the same work. *: outside the values on "
        "which the model was fitted."
    )
    return Table(f"{name} against {reference}", columns, rows, hint=hint)


def _money(amount: float | None, currency: str) -> str:
    return f"{amount:,.0f} {currency}" if amount else "not stated"
