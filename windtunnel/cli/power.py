"""``power``: it lists the power sources of this machine and imports samples of a meter."""

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
        Path | None,
        typer.Argument(
            help="Results folder that receives the samples; default: none, list the power sources.",
            show_default=False,
        ),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV file that the meter wrote.")
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="ROLE=COLUMN",
            help="Column of a role: time, watts or group; repeatable; time and watts are required. "
            "The order is the reverse of that of 'windtunnel import'.",
        ),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE",
            help="Time zone of timestamps that have none: UTC, +02:00 or Europe/Paris.",
        ),
    ] = None,
    time_format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="Format of the timestamps in the notation of strptime; default: ISO 8601.",
            show_default=False,
        ),
    ] = None,
    delimiter: Annotated[
        str, typer.Option(metavar="CHARACTER", help="Delimiter of the columns, or 'tab'.")
    ] = ",",
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Metered group to import; repeatable; default: the only group of the file.",
            show_default=False,
        ),
    ] = None,
    hosts: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of metered hosts; default: unknown.",
            min=1,
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the meter; default: the name of the file.",
            show_default=False,
        ),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Time between samples, such as '10 s'; default: the median in the file.",
            show_default=False,
        ),
    ] = None,
    stamp: Annotated[
        str,
        typer.Option(
            help="Meaning of a timestamp: the 'instant' of the sample, or the 'end' or 'start' of "
            "the period of which the sample is the mean."
        ),
    ] = "instant",
) -> None:
    """List the power sources of this machine, or import metered samples into a results folder."""
    if folder is None:
        _show()
        return
    if csv is None:
        raise UsageError(
            "there is nothing to import",
            remedy="specify the file that the meter wrote: --csv FILE --map ...",
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
    _print_import(record, new=import_power(results, record))


def _show() -> None:
    from windtunnel.probes.power import READERS

    for entry in READERS.values():
        support = entry.support()
        print(f"{entry.name} ({entry.kind}, {entry.how}): {entry.covers}")
        print(f"  {'available' if support.works else 'not available'}: {support.said}")
        if support.remedy:
            print(f"  what to do: {support.remedy}")


def _print_import(record: PowerRecord, *, new: bool) -> None:
    if not new:
        print(f"power/{record.name}: these samples were imported before; nothing was changed")
        return
    count = sum(len(t) for t, _ in record.groups.values())
    print(f"power/{record.name}: {count} samples every {record.period_s:g} s; {record.words}")
    if record.hosts is None:
        print("  note: the energy above idle is unknown without --hosts N")


def _columns(pairs: list[str]) -> dict[str, str]:
    from windtunnel.probes.power.csv_file import ROLES

    columns = {}
    for pair in pairs:
        role, equals, column = pair.partition("=")
        if not equals or role not in ROLES or not column:
            raise UsageError(
                f"--map {pair}: expected ROLE=COLUMN",
                remedy=f"the roles are {', '.join(ROLES)}: --map time=timestamp --map watts=power.",
            )
        columns[role] = column
    for role in ("time", "watts"):
        if role not in columns:
            raise UsageError(f"the role '{role}' has no column", remedy=f"add --map {role}=COLUMN.")
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
        raise UsageError(f"--period: {error}", remedy="write --period '180 s'.") from None
    if seconds <= 0:
        raise UsageError("--period: must be more than zero", remedy="write --period '180 s'.")
    return seconds
