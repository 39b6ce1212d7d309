"""Names of settings that do not exist, or that a present version ignores."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import resources

from windtunnel.cluster.settings import deprecated, property_names, unknown_settings
from windtunnel.published.case import Case, Point, source_of, sources_in_words
from windtunnel.published.checks.listings import NAME
from windtunnel.published.judged import place
from windtunnel.published.profile import Column, Profile
from windtunnel.published.table import Row

_KERNEL = ("net", "vm", "kernel", "fs")
ALIKE = 0.93
OWN = ("mapreduce.", "yarn.", "dfs.")
"""Prefixes that only Hadoop uses."""
PRESENT = 3
"""A list with this many present names of Hadoop is one of a present version."""
HADOOP_3 = "2018"
"""Hadoop 3 appeared in December 2017: earlier studies can have properties that it removed."""
_OLDER = re.compile(r"hadoop\s*-?[012]\.|\bcdh\s*[345]\b|\bhdp\s*[12]\b|\bmrv?1\b|0\.20", re.I)


@cache
def kernel_parameters() -> frozenset[str]:
    """Names of kernel parameters, from the catalogue."""
    text = resources.files("windtunnel.catalogue").joinpath("kernel_parameters.txt").read_text()
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


@cache
def _similar(name: str) -> str | None:
    """The known name that differs from an unknown one by a letter or two, None without one."""
    first = name.partition(".")[0]
    known = property_names()
    if first in _KERNEL and name.count(".") < 6:
        known = known | kernel_parameters()
    if name in known:
        return None
    near = [
        k for k in known if k.partition(".")[0][:2] == first[:2] and k.count(".") == name.count(".")
    ]
    found = get_close_matches(name, near, n=1, cutoff=ALIKE)
    return found[0] if found else None


def _sibling(name: str, written: Mapping[str, object]) -> str | None:
    """A known name of the same table that differs from an unknown one by a letter or a dot."""
    known = property_names() | kernel_parameters()
    if name in known:
        return None
    others = [n for n in written if n in known]
    found = get_close_matches(name, others, n=1, cutoff=ALIKE)
    return found[0] if found else None


def misspelt(case: Case) -> Iterator[Point]:
    """Names of Hadoop's properties and kernel parameters that do not exist, but almost."""
    for profile in case.profiles.values():
        for column, rows in _written(profile):
            for name, found in rows.items():
                near = _similar(name) or _sibling(name, rows)
                if near is None:
                    continue
                written = rows.get(near, [])
                yield Point(
                    check="spelling",
                    rule=8,
                    severity="caution",
                    subject=f"name of a setting: {name}",
                    stated=f"{name} ({_where(profile, found[0], name)})",
                    stated_source=sources_in_words(source_of(r) for r in found),
                    found=f"{near}"
                    + (f" ({_where(profile, written[0], near)})" if written else ""),
                    found_source=source_of(written[0])
                    if written
                    else "names of Hadoop 3 and of the kernel",
                    means="an unknown name is rejected or ignored and changes nothing: this "
                    "setting was not in effect.",
                    cells=tuple(place(r, column.name) for r in found),
                )


def _written(profile: Profile) -> Iterator[tuple[Column, dict[str, list[Row]]]]:
    """The names of settings in each column, with their rows."""
    for column in profile.labels:
        rows: dict[str, list[Row]] = defaultdict(list)
        for row in profile.table.rows:
            if NAME.fullmatch(row[column.name]):
                rows[row[column.name]].append(row)
        yield column, rows


def _where(profile: Profile, row: Row, name: str) -> str:
    """Where the name is written: the words next to it that are no values, else the line."""
    words = [row[c.name] for c in profile.labels if c.name not in ("value", "unit")]
    words = [w for w in words if w not in ("", name) and not re.match(r"[\d(+-]", w)]
    return ", ".join(words[:2]) or f"line {row.line}"


def unknown(case: Case) -> Iterator[Point]:
    """Names that Hadoop 3 does not have, in lists that otherwise have its names."""
    for profile in case.profiles.values():
        for column, rows in _written(profile):
            present = [n for n in rows if n.startswith(OWN) and n in property_names()]
            if len(present) < PRESENT:
                continue
            for name, found in rows.items():
                if name in property_names() or _similar(name) or _sibling(name, rows):
                    continue
                if point := _unknown(case, name, found, column):
                    yield point


def _unknown(case: Case, name: str, rows: Sequence[Row], column: Column) -> Point | None:
    replaced = deprecated().get(name)
    if replaced is not None:
        if any(new in property_names() for new in replaced):
            return None  # Hadoop still reads the old name.
        found = f"{listed_names(replaced)} was its later name, and YARN has no daemon that reads it"
        means = "MapReduce 1 had this setting: YARN ignores it, so it was not in effect."
    elif name.startswith(OWN) and _recent(case) and unknown_settings({name: ""}):
        found = "no property of Hadoop 3 has this name"
        means = "an unknown name is ignored and changes nothing, unless another program reads it."
    else:
        return None
    return Point(
        check="spelling",
        rule=8,
        severity="note",
        subject=f"name of a setting: {name}",
        stated=name,
        stated_source=sources_in_words(source_of(r) for r in rows),
        found=found,
        found_source="names of Hadoop 3",
        means=means,
        cells=tuple(place(r, column.name) for r in rows),
    )


def listed_names(names: Sequence[str]) -> str:
    """The later names of a setting."""
    return " or ".join(names)


def _recent(case: Case) -> bool:
    """Whether the study can be about Hadoop 3: it is not older and names no older version."""
    date = str(case.mapped.published or "") if case.mapped else ""
    if date[:4] and date[:4] < HADOOP_3:
        return False
    texts = [case.mapped.question or "", *case.mapped.notes] if case.mapped else []
    cells = (
        row[label.name]
        for profile in case.profiles.values()
        if len(profile.table.rows) <= 1000
        for label in profile.labels
        for row in profile.table.rows
    )
    return not any(_OLDER.search(text) for text in (*texts, *cells))
