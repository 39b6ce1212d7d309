"""The pages of reproductions: one for each study, and one on all studies."""

from __future__ import annotations

import math
from collections.abc import Sequence

from windtunnel.analysis.formatting import plural
from windtunnel.analysis.subjects.claims import CANNOT, GRADES, Evidence, Row, counts
from windtunnel.report.charts.forest import Change
from windtunnel.report.page import Chart, Part, Remark, forest_chart, page
from windtunnel.report.reproduction import (
    RULE,
    Study,
    features_table,
    ordered,
    published_words,
    table,
)
from windtunnel.report.sections.base import Column, Table, column

DRAWN = 10
_CAPTION = (
    "A row with the name of a claim is the published value, without an interval. Below it: "
    "measured or predicted, with the 95 % interval. Measured claims first, then the largest "
    "published effects."
)


def study_page(study: Study) -> str:
    """The page of one study as HTML text."""
    parts = [
        Part("What the study found", study.found, chart=_chart(study.rows)),
        _claims(study, "Claims that can be tested here", testable=True),
        _features(study),
        _claims(study, "Claims that cannot be tested here", testable=False),
        _reviewed(study),
        Part(
            "What decides",
            "The bottleneck at full size that the physics model predicts: that of the treatment, "
            "and that of the baseline if it differs.",
            tables=[_bottlenecks(study.rows)],
        ),
        Part(
            "What was measured here",
            "" if study.runs else "Nothing was measured yet.",
            [Remark("caution", "failed", text) for text in study.failed],
            tables=[_runs(study)] if study.runs else [],
            listed=study.similarity,
            listed_title="Similarity of the scale models",
        ),
        Part("Deviations", listed=study.deviations, listed_title="Published study and runs here"),
        Part("The rule of the verdicts", RULE, listed=study.fits, listed_title="Fits of the model"),
    ]
    return page(
        eyebrow="Windtunnel reproduction",
        title=study.name,
        question=study.question,
        answer=f"{counts(study.rows)}.",
        parts=[part for part in parts if part is not None],
    )


def _claims(study: Study, title: str, *, testable: bool) -> Part | None:
    """A table for each topic; those of claims that cannot be tested are folded."""
    rows = [row for row in ordered(study.rows) if (row.grade != CANNOT) == testable]
    topics = dict.fromkeys(row.topic for row in study.rows)
    own = {topic: [row for row in rows if row.topic == topic] for topic in topics}
    tables = [
        table(found, f"{_title(topic)}: {plural(len(found), 'claim')}", folded=not testable)
        for topic, found in own.items()
        if found
    ]
    lead = f"{counts(rows)}." if testable else "The reason follows each claim."
    return Part(title, lead, tables=tables) if rows else None


def _title(topic: str) -> str:
    return {"cpu": "CPU"}.get(topic, topic[0].upper() + topic[1:])


def _reviewed(study: Study) -> Part:
    remarks = [
        Remark(
            "serious" if point.severity == "serious" else "caution",
            point.severity,
            point.text,
            point.means,
        )
        for point in study.points
    ]
    lead = f"Points of 'windtunnel review': {len(remarks) or 'none'}."
    return Part("Problems of the published numbers", lead, remarks)


def _features(study: Study) -> Part | None:
    if not study.features:
        return None
    cells = [cell for row in study.features for cell in row.cells]
    done = sum(cell.measured for cell in cells)
    return Part(
        "The table of features",
        f"{done} of {len(cells)} cells are measured.",
        tables=[features_table(study.features)],
    )


def _bottlenecks(rows: Sequence[Row]) -> Table:
    cells = [
        (row.id, row.predicted.words, row.predicted.bottleneck, row.predicted.note)
        for row in rows
        if row.predicted is not None
    ]
    return Table("Predicted ratios and bottlenecks", column(*_BINDS, text=4), cells)


_BINDS = ("claim", "predicted", "bottleneck", "note")


def _runs(study: Study) -> Table:
    cells = [(name, str(trials), said) for name, trials, said in study.runs]
    heads = (Column("run"), Column("valid trials", numeric=True), Column("its answer", wraps=True))
    return Table("Runs on this machine", heads, cells)


def _chart(rows: Sequence[Row]) -> Chart | None:
    """Published, measured and predicted changes of the claims with an interval."""
    known = [r for r in rows if r.published is not None and _intervals(r)]
    known.sort(key=lambda r: (r.measured is None, -abs(_log(r.published))))
    drawn: list[tuple[str, Change]] = []
    said = []
    for place, row in enumerate(known[:DRAWN]):
        assert row.published is not None
        drawn.append((row.id, Change(row.published - 1, None, None)))
        said.append(f"{row.id}: published x{row.published:.3g}")
        for name, found in _intervals(row):
            assert found.low is not None and found.high is not None
            # Labels are keys of the chart: zero-width spaces make equal words different.
            label = f"{name} here" if name == "measured" else name
            change = Change(found.ratio - 1, found.low - 1, found.high - 1)
            drawn.append((label + "\N{ZERO WIDTH SPACE}" * (place + 1), change))
            said.append(f"{name} {found.words}")
    if not drawn:
        return None
    return forest_chart(drawn, title="change of the treatment", words=said, caption=_CAPTION)


def _intervals(row: Row) -> list[tuple[str, Evidence]]:
    both = (("measured", row.measured), ("predicted", row.predicted))
    return [(name, found) for name, found in both if found is not None and found.low is not None]


# --- over all studies ------------------------------------------------------------------------


def overview(studies: Sequence[Study]) -> Table:
    """One row for each topic, with the size and the certainty of the published effects."""
    cells = []
    for topic, group in _by_topic(studies).items():
        own = [row for _, row in group]
        name, top = group[0]
        decided = sum(row.grade in GRADES[:3] for row in own)
        confirmed = sum(row.grade in GRADES[:2] for row in own)
        cells.append(
            (
                _title(topic),
                published_words(top),
                top.measured.words if top.measured else "",
                top.predicted.words if top.predicted else "",
                f"{confirmed} of {decided} ({len(own)})",
                f"{name}: {top.says}",
            )
        )
    heads = (
        Column("factor", weight=3),
        Column("largest published", numeric=True, weight=3),
        Column("measured here", numeric=True, weight=2),
        Column("predicted", numeric=True, weight=2),
        Column("confirmed", numeric=True, weight=3),
        Column("claim with the largest effect", weight=1, wraps=True),
    )
    hint = (
        "Confirmed: claims with the verdict same size or same direction, of those that are "
        "confirmed or contradicted. In parentheses: the number of all claims with evidence."
    )
    return Table("What matters in a Hadoop cluster", heads, cells, hint=hint)


def _by_topic(studies: Sequence[Study]) -> dict[str, list[tuple[str, Row]]]:
    """The claims about times and sizes with evidence, the largest effects first."""
    found: dict[str, list[tuple[str, Row]]] = {}
    for study in studies:
        for row in study.rows:
            if row.published is not None and (_intervals(row) or row.measured):
                found.setdefault(row.topic, []).append((study.name, row))
    for group in found.values():
        group.sort(key=lambda pair: -abs(_log(pair[1].published)))
    return dict(sorted(found.items(), key=lambda item: -abs(_log(item[1][0][1].published))))


def _ranking(studies: Sequence[Study]) -> str:
    """The factors by their largest effect, in one sentence."""
    said = [
        f"{_title(topic)} {published_words(group[0][1])}"
        for topic, group in _by_topic(studies).items()
    ]
    return f"The largest published effects: {', '.join(said)}. " if said else ""


def _log(ratio: float | None) -> float:
    return math.log(ratio) if ratio else 0.0


def all_page(studies: Sequence[Study]) -> str:
    """The page on all studies as HTML text."""
    rows = [row for study in studies for row in study.rows]
    return page(
        eyebrow="Windtunnel reproduction",
        title="What matters in a Hadoop cluster",
        question="By how much does each factor change the time, and with what certainty?",
        answer=f"{_ranking(studies)}{counts(rows)}.",
        parts=[
            Part(
                "By factor, the largest effect first",
                "Only claims with a published number and with a measurement or a prediction.",
                tables=[overview(studies)],
            ),
            *(
                Part(
                    study.name,
                    f"{study.question} {counts(study.rows)}.",
                    chart=_chart(study.rows),
                    tables=[_grades(study)],
                )
                for study in studies
            ),
            Part("The rule of the verdicts", RULE),
        ],
    )


def _grades(study: Study) -> Table:
    topics = dict.fromkeys(row.topic for row in study.rows)
    cells = [
        (topic, *(str(sum(r.topic == topic and r.grade == g for r in study.rows)) for g in GRADES))
        for topic in topics
    ]
    return Table(f"Verdicts of {study.name}", column("topic", *GRADES), cells)
