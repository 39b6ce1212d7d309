"""The rules of trust that can be applied to published results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from windtunnel.analysis.evidence import slot
from windtunnel.analysis.formatting import listed, percent, plural, quantity
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.published.case import Case, Point, source_of
from windtunnel.published.table import Row


def confounded(case: Case) -> Iterator[Point]:
    """Settings that change with the levels of a factor for another property."""
    for name, factor in (case.mapped.factors if case.mapped else {}).items():
        found: dict[str, dict[str, str]] = defaultdict(dict)
        for level, sets in factor.levels.items():
            for path, value in sets.items():
                if path.startswith("settings.") and any(
                    not p.startswith("settings.") for p in sets
                ):
                    found[path.removeprefix("settings.")][level] = str(value)
        for setting, values in found.items():
            if len(values) == len(factor.levels) and len(set(values.values())) == 1:
                continue
            yield Point(
                check="confounded",
                rule=8,
                severity="caution",
                subject=f"factor {name}",
                stated=f"effects of {name}",
                stated_source="the study's list of treatments",
                found=f"{setting} also changes: "
                + ", ".join(f"{value} with {level}" for level, value in values.items()),
                found_source="the study's list of treatments",
                means="two properties change at once: the effect is that of both.",
            )
    yield from _applied_apart(case)


def _applied_apart(case: Case) -> Iterator[Point]:
    """Settings that differ between the treatments for which they are listed."""
    described = case.relations.applied_apart
    if described is None:
        return
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in case.tables[described.table].rows:
        if row[described.place] != described.for_all:
            groups[row[described.key]].append(row)
    for name, rows in groups.items():
        first = rows[0]
        other = next((r for r in rows if r[described.value] != first[described.value]), None)
        if other is None or other[described.place] == first[described.place]:
            continue
        stated, found = (
            f"{' '.join(filter(None, (r[described.value], r.cells.get('unit'))))} "
            f"({r[described.place]})"
            for r in (first, other)
        )
        yield Point(
            check="confounded",
            rule=8,
            severity="caution",
            subject=f"setting {name}",
            stated=stated,
            stated_source=source_of(first),
            found=found,
            found_source=source_of(other),
            means="the treatments also differ in this setting: the effect is that of both.",
        )


def missing(case: Case) -> Iterator[Point]:
    """Treatments without a result in the catalogue, or in the imported table."""
    if not case.published:
        return
    have = {trial.treatment.id for trial in case.results.trials}
    withheld = case.mapped.withheld if case.mapped else {}
    where = "this catalogue" if case.catalogue else "the imported table"
    for treatment in case.results.study.treatments:
        if treatment.id in have:
            continue
        kept = withheld.get(treatment.id)
        yield Point(
            check="missing",
            severity="note" if case.catalogue else "caution",
            subject=f"treatment {treatment.id}",
            stated=", ".join(f"{k} {v}" for k, v in treatment.levels.items()),
            stated_source="the study's list of treatments",
            found=f"not in {where}",
            found_source=kept or where,
            means="this treatment cannot be checked or compared here.",
        )


def one_run(case: Case) -> Iterator[Point]:
    """Rule 2: the spread of a cell with one number is unknown."""
    cells = [c for c in case.analysis.cells if c.phase == TOTAL]
    single = [c for c in cells if c.n == 1]
    if not case.published or not single:
        return
    yield Point(
        check="one-run",
        rule=2,
        severity="serious",
        subject=f"{len(single)} of {len(cells)} cells (treatment x workload x metric)",
        stated="differences between single numbers",
        stated_source=listed(list(case.results.study.sources), 2),
        found="n = 1: spread and interval are unknown",
        found_source="the published data",
        means="the data alone cannot distinguish these differences from noise.",
    )


def variation(case: Case) -> Iterator[Point]:
    """Rule 3: cells above the study's own limit that were not measured again."""
    if case.mapped is not None and "variation_limit" not in case.mapped.protocol.model_fields_set:
        return  # the study states no rule
    limit = case.results.study.protocol.variation_limit
    rounds = case.results.study.protocol.rounds
    for cell in case.analysis.cells:
        if not case.published or cell.metric != ELAPSED or cell.cv is None or cell.cv <= limit:
            continue
        if cell.n > rounds:
            continue  # The cell was measured again.
        yield Point(
            check="variation",
            rule=3,
            severity="serious",
            subject=f"{cell.treatment} / {cell.workload} / {cell.phase}: spread of {cell.n} runs",
            stated=f"at most {percent(limit, signed=False)}, else all runs again",
            stated_source="the study's own rule",
            found=f"{percent(cell.cv, signed=False)} (mean {quantity(cell.mean, cell.unit)}, "
            f"standard deviation {quantity(cell.sd, cell.unit)})",
            found_source=_runs_of(case, cell.treatment, cell.workload),
            means="by its own rule the study had to repeat this test; the mean is not reliable.",
        )


def _runs_of(case: Case, treatment: str, workload: str) -> str:
    trials = [t for t in case.results.trials if slot(t) == (workload, treatment)]
    checks = [c.got.partition(": ")[2] for t in trials for c in t.verdict.checks[:1]]
    return listed(list(dict.fromkeys(checks)), 1) or "the published runs"


def resolution(case: Case) -> Iterator[Point]:
    """Runs that are equal to the last printed digit: the spread is hidden, not absent."""
    phases = {
        workload: [name for name in names if name != TOTAL]
        for workload, names in case.analysis.phases.items()
    }
    same = [
        c
        for c in case.analysis.cells
        if c.metric == ELAPSED and c.equal
        if c.phase != TOTAL or not phases.get(c.workload)
    ]
    if not case.published or not same:
        return
    yield Point(
        check="resolution",
        rule=2,
        severity="note",
        subject=f"{plural(len(same), 'cell')}: "
        + listed([f"{c.treatment} / {c.workload} / {c.phase}" for c in same], 3),
        stated="runs that are equal to the last digit",
        stated_source="the published runs",
        found="the spread is below the last digit",
        found_source="recomputed",
        means="times were rounded for print (0.1 min is 6 s), so the spread of these cells is "
        "unknown and not 0.",
    )


def order(case: Case) -> Iterator[Point]:
    """Rule 1: all runs of a treatment before those of the next."""
    trials = [t for t in case.results.trials if not t.warmup]
    starts = {t.started_at for t in trials}
    ran = [t.treatment.id for t in sorted(trials, key=lambda t: t.started_at)]
    treatments = len(set(ran))
    if not case.published or treatments < 2 or len(starts) < len(trials):
        return  # There are no start times, or there is nothing to interleave.
    blocks = 1 + sum(a != b for a, b in pairwise(ran))
    if blocks != treatments or len(ran) == treatments:
        return
    yield Point(
        check="order",
        rule=1,
        severity="caution",
        subject="order of the runs",
        stated=f"effects of {plural(treatments, 'treatment')}",
        stated_source=listed(list(case.results.study.sources), 1),
        found=f"{blocks} blocks of runs, one treatment after the other",
        found_source="start times of the runs",
        means="the effects include any drift over the days (temperature, disks, software).",
    )


def unverified(case: Case) -> Iterator[Point]:
    """Rule 5: no result of a check of the output is published."""
    trials = case.results.trials
    if not case.published or not trials:
        return
    if any(c.name != "published" for t in trials for c in t.verdict.checks):
        return
    yield Point(
        check="unverified",
        rule=5,
        severity="note",
        subject=plural(len(trials), "trial"),
        stated="results",
        stated_source=listed(list(case.results.study.sources), 1),
        found="no checksum, row count or other check of the output is published",
        found_source="the published data",
        means="a job that succeeded with wrong or empty output would not be detected.",
    )


def report_warnings(case: Case) -> Iterator[Point]:
    """The warnings of the report, for measured studies; published studies have other checks."""
    for warning in case.analysis.warnings:
        if case.published and warning.id != "above-physical-limit":
            continue
        yield Point(
            check=f"warnings/{warning.id}",
            rule=warning.rule,
            severity=warning.severity,
            subject=warning.text,
            stated="",
            stated_source="",
            found="",
            found_source="",
            means=warning.advice,
        )
