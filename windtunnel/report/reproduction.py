"""The report of a reproduction: claims with verdicts as table, text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.text import Text

from windtunnel.analysis.subjects.claims import CANNOT, Row, counts
from windtunnel.analysis.subjects.features import FeatureRow, systems
from windtunnel.report.columns import print_table
from windtunnel.report.export import finite
from windtunnel.report.sections.base import Column, Table

SCHEMA = "windtunnel.reproduction/1"
ROWS_SHOWN = 30
RULE = (
    "A ratio is the amount of the treatment divided by that of its baseline. Same size: within the "
    "tolerance of the claim; same direction: the interval excludes 1 on the side of the published "
    "ratio; contradicted: the interval excludes 1 on the opposite side, or it lies completely "
    "outside the tolerance without the published direction. A measurement has priority over a "
    "prediction. If it does not decide a claim, the prediction decides. Intervals have 95 %. "
    "Predictions of treatments to which the model was fitted come from a fit to the other study."
)
_FEATURES = (
    "Each cell was measured on this machine. A ratio is a time divided by that of the first "
    "system, or of what the row names, with its 95 % interval. A time after a fault is compared "
    "with the trials without one."
)


@dataclass(frozen=True)
class Point:
    """A contradiction inside the published study: its severity, subject and meaning."""

    severity: str
    text: str
    means: str


@dataclass(frozen=True)
class Study:
    """The content of the page of one study.

    ``runs`` are (name, valid trials, answer of its report); ``similarity`` are the lines of the
    groups that do not match; ``failed`` are runs that did not end, with the reason; ``features`` is
    the table of features.
    """

    name: str
    question: str
    found: str
    rows: Sequence[Row]
    points: Sequence[Point] = ()
    runs: Sequence[tuple[str, int, str]] = ()
    similarity: Sequence[str] = ()
    deviations: Sequence[str] = ()
    fits: Sequence[str] = ()
    failed: Sequence[str] = field(default=())
    features: Sequence[FeatureRow] = ()


def table(
    rows: Sequence[Row], caption: str = "Claims", *, reasons: bool = True, folded: bool = False
) -> Table:
    """One row for each claim: published, measured, predicted, verdict with or without reasons."""
    cells = [
        (
            row.id,
            _statement(row) if reasons else "",
            _short(row),
            published_words(row),
            row.measured.words if row.measured else "",
            row.predicted.words if row.predicted else "",
        )
        for row in rows
    ]
    heads = (
        Column("claim", weight=3),
        Column("what it says", weight=1, wraps=True),
        Column("verdict", weight=4),
        Column("published", numeric=True, weight=3),
        Column("measured here", numeric=True, weight=3),
        Column("predicted", numeric=True, weight=2),
    )
    filled = [place for place in range(len(heads)) if any(cell[place] for cell in cells)]
    return Table(
        caption,
        [heads[place] for place in filled],
        [[cell[place] for place in filled] for cell in cells],
        hint="" if reasons else "What each claim says and the reasons: --claim NAME, or the page.",
        folded=folded,
    )


def _statement(row: Row) -> str:
    """What the claim says, and the reason of its verdict."""
    reason = f" {row.reason[0].upper()}{row.reason[1:]}." if row.reason else ""
    return f"{row.says}.{reason}"


def features_table(rows: Sequence[FeatureRow]) -> Table:
    """One row for each feature and what is measured of it, one column for each system."""
    names = systems(rows)
    cells = []
    for row in rows:
        for of in dict.fromkeys(cell.of for cell in row.cells):
            own = {cell.system: cell.words for cell in row.cells if cell.of == of}
            cells.append([row.name, of, *(own.get(name, "") for name in names)])
    heads = [
        Column("feature", group=True, wraps=True, weight=3),
        Column("measured", wraps=True, weight=3),
        *(Column(name, wraps=True, weight=2) for name in names),
    ]
    return Table("Features, as measured here", heads, cells, hint=_FEATURES)


def grade_words(row: Row) -> str:
    """``same size (predicted)``, or the grade with its reason."""
    if row.based_on:
        later = "; not measured yet" if row.command and row.measured is None else ""
        return f"{row.grade} ({row.based_on}{later})"
    return f"{row.grade}: {row.reason}" if row.reason else row.grade


def _short(row: Row) -> str:
    return f"{row.grade} ({row.based_on})" if row.based_on else row.grade


def published_words(row: Row) -> str:
    """The published ratio, or why there is none."""
    if row.published is not None:
        return f"x{row.published:.3g}"
    return "not in catalogue" if row.withheld else "no ratio"


def lines(row: Row) -> Iterator[str]:
    """One claim with its evidence, its command and what it needs."""
    yield f"{row.id} ({row.topic}): {row.says}"
    yield f"  source:    {row.source}"
    yield f"  published: {published_words(row)}, tolerance {row.tolerance * 100:.0f} %"
    for name, found in (("measured", row.measured), ("predicted", row.predicted)):
        if found is None:
            continue
        trials = f", n = {found.n} and {found.n_baseline}" if found.n else ""
        binds = f"; bottleneck: {found.bottleneck}" if found.bottleneck else ""
        note = f"; {found.note}" if found.note else ""
        yield f"  {name + ':':10} {found.words}{trials}{binds}{note}"
    yield f"  verdict:   {grade_words(row)}"
    for line in row.deviations:
        yield f"  deviation: {line}"


def print_study(study: Study, console: Console, *, full: bool) -> None:
    """The counts, the table of the rows with evidence first, and the rule."""
    console.print(Text(f"{study.name}: {counts(study.rows)}.", style="bold"))
    rows = ordered(study.rows)
    shown = rows if full else ([row for row in rows if row.grade != CANNOT] or rows)
    print_table(table(shown, reasons=False), console, len(rows) if full else ROWS_SHOWN)
    if left := len(rows) - len(shown):
        console.print(
            Text(f"Not shown: {left} claims that cannot be tested here. --full prints them.")
        )
    features = [row for row in study.features if full or any(c.measured for c in row.cells)]
    if features:
        print_table(features_table(features), console)
    for line in (*(f"failed: {text}" for text in study.failed), RULE):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def ordered(rows: Sequence[Row]) -> list[Row]:
    """Measured rows first, then predicted ones, then the others."""
    return sorted(
        rows, key=lambda r: (r.measured is None, r.predicted is None, r.published is None)
    )


def to_json(study: Study) -> dict[str, Any]:
    """The reproduction as plain data."""
    made: dict[str, Any] = finite(
        {
            "schema": SCHEMA,
            "study": study.name,
            "question": study.question,
            "answer": counts(study.rows),
            "rule": RULE,
            "claims": [asdict(row) for row in study.rows],
            "review": [asdict(point) for point in study.points],
            "runs": [{"run": r, "trials": n, "answer": a} for r, n, a in study.runs],
            "similarity": list(study.similarity),
            "deviations": list(study.deviations),
            "fits": list(study.fits),
            "failed": list(study.failed),
            "features": [asdict(row) for row in study.features],
        }
    )
    return made
