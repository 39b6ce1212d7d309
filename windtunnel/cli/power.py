"""``power``: which readers of power work here; import of what a meter recorded."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.errors import UsageError

if TYPE_CHECKING:
    from windtunnel.results.power import PowerRecord, Stamp

EXAMPLE = (
    "Example: windtunnel power my-results --csv dcm.csv --map time=timestamp --map watts=power "
    "--zone Europe/Paris --hosts 8"
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=EXAMPLE)(power)


def power(
    folder: Annotated[
        Path | None, typer.Argument(help="Results folder; left out: show the readers of power.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="What a meter recorded.")] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="ROLE=COLUMN", help="Column of time, watts, group."),
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="Zone of times without one: UTC, +02:00, Europe/Paris.")
    ] = None,
    time_format: Annotated[
        str | None, typer.Option(help="Form of the times, as strptime has it; else ISO 8601.")
    ] = None,
    delimiter: Annotated[str, typer.Option(help="What stands between cells.")] = ",",
    group: Annotated[
        list[str] | None, typer.Option(help="Metered group to import, if the file has several.")
    ] = None,
    hosts: Annotated[int | None, typer.Option(help="How many hosts were metered.", min=1)] = None,
    source: Annotated[
        str | None, typer.Option(help="Name of the meter; left out: the file's name.")
    ] = None,
    period: Annotated[
        str | None, typer.Option(help="Time between samples; left out: the median in the file.")
    ] = None,
    stamp: Annotated[
        str,
        typer.Option(
            help="A sample is the power at its 'instant', or the mean of the period "
            "that has its 'end' or its 'start' there."
        ),
    ] = "instant",
) -> None:
    """Show the readers of power, or import metered samples into a results folder."""
    if folder is None:
        _show()
        return
    if csv is None:
        raise UsageError(
            "there is nothing to import", remedy="give the meter's file: --csv FILE --map ..."
        )
    from windtunnel.probes.power.csv_file import Layout, parse_zone, read_csv
    from windtunnel.results.folder import read_results
    from windtunnel.study.power_import import import_power

    results = read_results(folder)
    layout = Layout(
        columns=_columns(map_ or []),
        zone=None if zone is None else parse_zone(zone),
        time_format=time_format,
        delimiter=_delimiter(delimiter),
        groups=tuple(dict.fromkeys(group or [])),
    )
    record = read_csv(
        csv,
        layout,
        source=source or csv.name,
        stamp=_stamp(stamp),
        period_s=None if period is None else _period(period),
        hosts=hosts,
    )
    _tell(record, new=import_power(results, record))


def _show() -> None:
    from windtunnel.probes.power import READERS

    for entry in READERS.values():
        support = entry.support()
        print(f"{entry.name} ({entry.kind}, {entry.how}): {entry.covers}")
        print(f"  {'works here' if support.works else 'not here'}: {support.said}")
        if support.remedy:
            print(f"  what to do: {support.remedy}")


def _tell(record: PowerRecord, *, new: bool) -> None:
    if not new:
        print(f"power/{record.name}: these samples are there already; nothing was changed")
        return
    count = sum(len(t) for t, _ in record.groups.values())
    print(f"power/{record.name}: {count} samples every {record.period_s:g} s; {record.words}")
    if record.hosts is None:
        print("  note: without --hosts N the energy above idle stays unknown")


def _columns(pairs: list[str]) -> dict[str, str]:
    from windtunnel.probes.power.csv_file import ROLES

    columns = {}
    for pair in pairs:
        role, equals, column = pair.partition("=")
        if not equals or role not in ROLES or not column:
            raise UsageError(
                f"--map {pair}: not ROLE=COLUMN",
                remedy=f"roles are {', '.join(ROLES)}: --map time=timestamp --map watts=power.",
            )
        columns[role] = column
    for role in ("time", "watts"):
        if role not in columns:
            raise UsageError(f"no column of {role}", remedy=f"give --map {role}=COLUMN.")
    return columns


def _stamp(text: str) -> Stamp:
    from windtunnel.results.power import STAMPS

    if text not in STAMPS:
        raise UsageError(f"--stamp {text}: unknown", remedy=f"use {', '.join(STAMPS)}.")
    return text


def _delimiter(text: str) -> str:
    found = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(found) != 1:
        raise UsageError(
            f"--delimiter '{text}': must be one character", remedy="use ',', ';' or tab."
        )
    return found


def _period(text: str) -> float:
    from windtunnel.cluster import QuantityError, parse_duration

    try:
        seconds = parse_duration(text)
    except QuantityError as error:
        raise UsageError(f"--period: {error}", remedy="such as --period '180 s'.") from None
    if seconds <= 0:
        raise UsageError("--period: must be more than zero", remedy="such as --period '180 s'.")
    return seconds
