"""Power samples from a CSV file: exports of DCM, PDUs, IPMI loggers, spreadsheets.

Settings that would shift the samples relative to the trials are not guessed: the columns, the
time zone of the clock, the meaning of the watts of a sample. Errors are reported with file, line
and column.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from itertools import pairwise
from pathlib import Path
from statistics import median
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from windtunnel.cluster.schema_paths import suggest
from windtunnel.errors import DescriptionError, UsageError
from windtunnel.results.power import Array, PowerRecord, Stamp

ROLES = ("time", "watts", "group")
ONE_GROUP = "all hosts"


@dataclass(frozen=True)
class Layout:
    """The layout of a file.

    ``columns`` maps ``time``, ``watts`` and, if there is one, ``group`` to the file's columns.
    ``zone`` is the zone of times without an offset; ``time_format`` is that of strptime (None:
    ISO 8601). ``groups`` are the selected groups (empty: the only group of the file).
    """

    columns: Mapping[str, str]
    zone: tzinfo | None = None
    time_format: str | None = None
    delimiter: str = ","
    groups: tuple[str, ...] = ()


@dataclass
class _Group:
    """Samples of one group in the order of the file, with the line of each."""

    t: list[float] = field(default_factory=list)
    watts: list[float] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def read_csv(
    path: Path,
    layout: Layout,
    *,
    source: str,
    stamp: Stamp = "instant",
    period_s: float | None = None,
    hosts: int | None = None,
) -> PowerRecord:
    """Metered samples from a CSV file; rows without watts are gaps.

    ``period_s`` is the time between samples; None: its median in the file.

    Raises
    ------
    DescriptionError
        If the file or a row of it cannot be read (file, line, column).
    UsageError
        If the file contains several groups and none was selected, or lacks a selected one.
    """
    found: dict[str, _Group] = {}
    for line, row in _rows(path, layout):
        _add(found, path, line, row, layout)
    if not any(group.t for group in found.values()):
        raise DescriptionError(
            "there is no row with watts", file=path, remedy="export the samples again"
        )
    chosen = _chosen(found, layout, path)
    groups = {name: _sorted(path, chosen[name]) for name in sorted(chosen)}
    steps = [step for t, _ in groups.values() for step in np.diff(t).tolist()]
    if period_s is None and not steps:
        raise DescriptionError(
            "the file has only one sample, so the time between samples is unknown",
            file=path,
            remedy="specify the time between samples with --period, such as --period '180 s'",
        )
    return PowerRecord(
        kind="metered",
        source=source,
        stamp=stamp,
        period_s=median(steps) if period_s is None else period_s,
        hosts=hosts,
        groups=groups,
    )


def parse_zone(text: str) -> tzinfo:
    """``UTC``, ``+02:00`` or a name such as ``Europe/Paris``.

    Raises
    ------
    UsageError
        Any other text; abbreviations such as PST are ambiguous.
    """
    if text.upper() in ("UTC", "Z"):
        return UTC
    if text[:1] in "+-":
        try:
            offset = datetime.fromisoformat(f"2000-01-01T00:00{text}").utcoffset()
        except ValueError:
            offset = None
        if offset is not None:
            return timezone(offset)
    elif "/" in text:
        try:
            return ZoneInfo(text)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass
    raise UsageError(
        f"--zone {text}: no such time zone",
        remedy="write UTC, an offset such as +02:00, or a name such as Europe/Paris.",
    )


def _rows(path: Path, layout: Layout) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number (from 1, of the row's end) and the cells of the selected columns."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=layout.delimiter, strict=True)
            head = [name.strip() for name in next(reader, [])]
            places = _places(path, head, layout)
            for cells in reader:
                if not any(cell.strip() for cell in cells):
                    continue
                if len(cells) != len(head):
                    raise DescriptionError(
                        f"the row has {len(cells)} cells, the header has {len(head)}",
                        file=path,
                        line=reader.line_num,
                        remedy="quote cells that contain the delimiter, or specify --delimiter",
                    )
                yield (
                    reader.line_num,
                    {role: cells[place].strip() for role, place in places.items()},
                )
    except UnicodeDecodeError:
        raise DescriptionError("not UTF-8", file=path, remedy="save it as UTF-8") from None
    except csv.Error as error:
        raise DescriptionError(f"not CSV: {error}", file=path, remedy="export it again") from None
    except OSError as error:
        raise DescriptionError(
            str(error.strerror or error), file=path, remedy="specify a readable CSV file"
        ) from None


def _places(path: Path, head: Sequence[str], layout: Layout) -> dict[str, int]:
    if not any(head):
        raise DescriptionError(
            "the file is empty", file=path, remedy="specify a CSV file with a header line"
        )
    for role, column in layout.columns.items():
        if column not in head:
            raise DescriptionError(
                f"there is no column '{column}' for {role}",
                file=path,
                line=1,
                remedy=suggest(column, head, "column"),
            )
    return {role: head.index(column) for role, column in layout.columns.items()}


def _add(
    found: dict[str, _Group], path: Path, line: int, row: Mapping[str, str], layout: Layout
) -> None:
    name = row.get("group", ONE_GROUP)
    group = found.setdefault(name, _Group())
    if not row["watts"]:
        return
    t = _instant(path, line, row["time"], layout, group.t[-1] if group.t else -math.inf)
    group.t.append(t)
    group.watts.append(_watts(path, line, row["watts"], layout))
    group.lines.append(line)


def _watts(path: Path, line: int, text: str, layout: Layout) -> float:
    try:
        watts = float(text)
    except ValueError:
        watts = math.nan
    if not math.isfinite(watts) or watts < 0:
        raise DescriptionError(
            f"'{text}' is not a number of watts",
            file=path,
            line=line,
            key=layout.columns["watts"],
            remedy="write plain numbers such as 2938.5; leave the cell empty if there is none",
        )
    return watts


def _instant(path: Path, line: int, text: str, layout: Layout, last: float) -> float:
    """Epoch seconds. If the clock repeats an hour, the previous row determines which one it is."""

    def wrong(message: str, remedy: str) -> DescriptionError:
        key = layout.columns["time"]
        return DescriptionError(message, file=path, line=line, key=key, remedy=remedy)

    try:
        if layout.time_format is None:
            when = datetime.fromisoformat(text)
        else:
            when = datetime.strptime(text, layout.time_format)  # noqa: DTZ007 - zone comes below
    except ValueError:
        like = layout.time_format or "ISO 8601, such as 2014-10-01 07:57:00"
        raise wrong(
            f"'{text}' is not a time ({like})", "specify the format with --time-format"
        ) from None
    if when.tzinfo is not None:
        return when.timestamp()
    if layout.zone is None:
        raise wrong(
            f"'{text}' has no time zone",
            "specify the time zone of the meter's clock: --zone Europe/Paris, --zone -08:00",
        )
    first, second = (when.replace(tzinfo=layout.zone, fold=fold) for fold in (0, 1))
    offsets = [w.utcoffset() or timedelta() for w in (first, second)]
    if offsets[0] < offsets[1]:
        raise wrong(f"the time '{text}' does not exist in {layout.zone}", "specify another --zone")
    return (second if first.timestamp() <= last else first).timestamp()


def _chosen(found: Mapping[str, _Group], layout: Layout, path: Path) -> dict[str, _Group]:
    filled = {name: group for name, group in found.items() if group.t}
    if not layout.groups:
        if len(filled) > 1:
            raise UsageError(
                f"{path} contains {len(filled)} groups: {', '.join(sorted(filled))}",
                remedy="select groups with --group NAME (repeat it for each group); groups that "
                "share hosts would count these hosts twice.",
            )
        return filled
    for name in layout.groups:
        if name not in filled:
            raise UsageError(
                f"{path} contains no samples of a group '{name}'",
                remedy=f"{suggest(name, sorted(filled), 'group')}.",
            )
    return {name: filled[name] for name in layout.groups}


def _sorted(path: Path, group: _Group) -> tuple[Array, Array]:
    """Instants and watts in order of time."""
    order = sorted(range(len(group.t)), key=group.t.__getitem__)
    for one, other in pairwise(order):
        if group.t[one] == group.t[other]:
            first, second = sorted((group.lines[one], group.lines[other]))
            raise DescriptionError(
                f"the instant is the same as on line {first}",
                file=path,
                line=second,
                remedy="if the file has several groups, specify their column: --map group=COLUMN",
            )
    t = np.array([group.t[i] for i in order])
    return t, np.array([group.watts[i] for i in order])
