"""Times of a row: the elapsed time between its moments, and the samples in its window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from windtunnel.published.case import Point, source_of
from windtunnel.published.judged import figure, place, spans
from windtunnel.published.profile import Column, Profile, cut
from windtunnel.published.table import Row

ELAPSED = "elapsed"
_UNITS = {1e-3: "ms", 1.0: "s", 60.0: "min", 3600.0: "h", 86400.0: "d"}
_DAY = 86400


def _pair_of_moments(profile: Profile) -> tuple[Column, Column] | None:
    """The declared start and end, or the only columns with such names."""
    declared = {c.role: c for c in profile.moments if c.role}
    if "start" in declared and "finish" in declared:
        return declared["start"], declared["finish"]
    starts = [c for c in profile.moments if c.has("start", "begin", "from", "started")]
    ends = [c for c in profile.moments if c.has("end", "finish", "stop", "to", "ended", "finished")]
    return (starts[0], ends[0]) if len(starts) == len(ends) == 1 else None


def elapsed(profile: Profile) -> Iterator[Point]:
    """Finish - start = elapsed, within the resolution of the stamps."""
    pair = _pair_of_moments(profile)
    if pair is None:
        return
    times = [
        c
        for c in profile.numbers
        if c.dimension == "s" and not c.has("cpu", "interval", "granularity", "period")
    ]
    for row in profile.table.rows:
        begin, end = (profile.moment(row, c) for c in pair)
        if begin is None or end is None:
            continue
        found, slack = end[0] - begin[0], max(begin[1], end[1])
        cells = [place(row, c.name) for c in pair]
        if found < 0:
            text = f"{found:,.0f} s from {pair[0].name} {cut(row[pair[0].name])}"
            yield _time_point(profile, row, pair, text, "the end is before the start.", cells)
            continue
        for column in _elapsed_columns(times):
            stated = spans(profile, row, [column])
            if stated is None:
                continue
            if not stated[0].low - slack <= found <= stated[0].high + slack:
                text = f"{_duration(found, column)} from {pair[0].name} and {pair[1].name}"
                means = "the elapsed time is not the difference of the time stamps."
                yield _time_point(
                    profile, row, pair, text, means, [place(row, column.name), *cells], column
                )


def _duration(seconds: float, column: Column) -> str:
    """A time in the unit of its column, from a day also in days and hours: ``30 h (1 d 6 h)``."""
    unit = _UNITS.get(column.factor) if not column.unit_column and not column.in_cell else None
    text = f"{figure(seconds / column.factor)} {unit}" if unit else f"{seconds:,.0f} s"
    if seconds < _DAY:
        return text
    days, rest = divmod(seconds, _DAY)
    return f"{text} ({days:,.0f} d {rest / 3600:.0f} h)"


def _elapsed_columns(times: Sequence[Column]) -> list[Column]:
    """The column of the elapsed time: the declared one, the only one with such a name, or the only
    column of times.

    Others, such as those of a set-up or of a part, are shorter than the time between the stamps.
    """
    declared = [column for column in times if column.role == ELAPSED]
    if declared:
        return declared
    for word in ("elapsed", "duration", "wall", "runtime", "total", "time"):
        named = [column for column in times if column.has(word)]
        if len(named) == 1:
            return named
    return list(times) if len(times) == 1 else []


def _time_point(
    profile: Profile,
    row: Row,
    pair: tuple[Column, Column],
    found: str,
    means: str,
    cells: list[str],
    column: Column | None = None,
) -> Point:
    name = column.name if column else pair[1].name
    return Point(
        check="relations",
        severity="serious",
        subject=f"{name} = {pair[1].name} - {pair[0].name}: {profile.label(row)}",
        stated=f"{name} {cut(row[name])}",
        stated_source=source_of(row),
        found=found,
        found_source=source_of(row),
        means=means,
        cells=tuple(cells),
    )


def windows(profile: Profile) -> Iterator[Point]:
    """Number of samples x interval = length of the window, with or without the last interval."""
    pair = _pair_of_moments(profile)
    samples = [c for c in profile.numbers if c.has("sample")]
    intervals = [c for c in profile.numbers if c.has("interval", "granularity", "period")]
    if pair is None or len(samples) != 1:
        return
    steps: list[tuple[Row, float, float]] = []
    for row in profile.table.rows:
        begin, end = (profile.moment(row, c) for c in pair)
        count = spans(profile, row, samples)
        if begin and end and count and count[0].value > 1:
            steps.append((row, count[0].value, end[0] - begin[0]))
    if intervals:
        wanted = {
            r.line: s[0].value for r, _, _ in steps if (s := spans(profile, r, intervals[:1]))
        }
    else:
        each = sorted(length / (count - 1) for _, count, length in steps)
        usual = each[len(each) // 2] if len(each) >= 4 else None
        wanted = {r.line: usual for r, _, _ in steps if usual}
    for row, number, length in steps:
        step = wanted.get(row.line)
        if step and not (number - 2) * step - 1 <= length <= (number + 1) * step + 1:
            yield Point(
                check="relations",
                severity="serious",
                subject=f"samples x interval = length of the window: {profile.label(row)}",
                stated=f"{samples[0].name} {row[samples[0].name]}",
                stated_source=source_of(row),
                found=f"{length / step + 1:.0f} samples at {step:g} s in {length / 3600:.2f} h",
                found_source=source_of(row),
                means="samples are missing, or the window is not that of the samples.",
                cells=(place(row, samples[0].name), *(place(row, c.name) for c in pair)),
            )
