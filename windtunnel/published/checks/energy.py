"""Stated energy against the power samples and against the energy of the jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from windtunnel.analysis.cost.power_curve import PowerCurve
from windtunnel.analysis.formatting import percent
from windtunnel.published.case import Case, Point, source_of
from windtunnel.published.numbers import NumberError, printed
from windtunnel.published.relations import StatedEnergy
from windtunnel.published.table import Row
from windtunnel.results.power import read_power
from windtunnel.results.record import Trial

KWH = 3.6e6
REST_AT_MOST = 0.10
"""Accepted fraction of the metered time without a job: the gaps between jobs."""
WATTS_WITHIN = 0.01
"""Accepted difference of a mean power: one sample more or less at the ends of the window."""
DELTA_WITHIN = 2.0
"""Percentage points by which gaps between jobs may change a difference of energies."""


def _stated(case: Case, described: StatedEnergy) -> Iterator[Row]:
    """Rows with an energy, a power and a duration; the first one of each treatment."""
    seen = set()
    for row in case.tables[described.table].rows:
        columns = (described.kwh, described.watts, described.hours)
        numbers = [_number(row[column]) for column in columns]
        if None not in numbers and numbers[-1] and row[described.treatment] not in seen:
            seen.add(row[described.treatment])
            yield row


def _number(text: str) -> float | None:
    """The number of a cell; None if it has none."""
    try:
        return printed(text).value
    except NumberError:
        return None


@dataclass(frozen=True, slots=True)
class EnergyRow:
    """Energy of one treatment in kWh, and the hours that it covers; None if unknown.

    ``stated`` is the printed energy, ``product`` the printed power x the printed time, ``jobs``
    the integral of the power samples over the reported jobs.
    """

    treatment: str
    label: str
    stated: float
    product: float
    jobs: float | None
    hours: float
    job_hours: float


def energy_table(case: Case) -> list[EnergyRow]:
    """The study's recomputed table of energies; empty if it has none."""
    described = case.relations.energy
    if described is None:
        return []
    joules = _job_joules(case)
    return [
        EnergyRow(
            treatment=row[described.treatment],
            label=row[described.label],
            stated=float(row[described.kwh]),
            product=float(row[described.watts]) * float(row[described.hours]) / 1000,
            jobs=None if (found := joules.get(row[described.treatment])) is None else found / KWH,
            hours=float(row[described.hours]),
            job_hours=_job_seconds(case, row[described.treatment]) / 3600,
        )
        for row in _stated(case, described)
    ]


def of_jobs(case: Case) -> Iterator[Point]:
    """The metered time against the time of the jobs, and the effect on a comparison."""
    described = case.relations.energy
    if described is None:
        return
    rows = {row[described.treatment]: row for row in _stated(case, described)}
    joules = _job_joules(case)
    for treatment, row in rows.items():
        hours, jobs = float(row[described.hours]), _job_seconds(case, treatment) / 3600
        if not jobs or 1 - jobs / hours <= REST_AT_MOST:
            continue
        rest = hours - jobs
        watts = _watts_of_the_rest(float(row[described.kwh]), joules.get(treatment), rest)
        yield Point(
            check="energy-of-jobs",
            rule=10,
            severity="caution",
            subject=f"{treatment} ({row[described.label]}): metered time",
            stated=f"{hours:g} h",
            stated_source=source_of(row),
            found=f"{jobs:.2f} h of reported jobs, {rest:.2f} h "
            f"({percent(rest / hours, signed=False)}) without a reported job{watts}",
            found_source="elapsed times of the jobs, power samples",
            means="the stated energy includes more than the reported jobs, and this part differs "
            "between treatments. Power well above idle means that other work ran at that time.",
        )
    yield from _deltas(described, rows, joules)


def _watts_of_the_rest(kwh: float, joules: float | None, hours: float) -> str:
    """``, at 2,860 W``: the energy outside the jobs, divided by the time without a job."""
    if joules is None or hours <= 0:
        return ""
    return f", at {(kwh * KWH - joules) / (hours * 3600):,.0f} W on average"


def _deltas(
    described: StatedEnergy, rows: dict[str, Row], joules: dict[str, float]
) -> Iterator[Point]:
    for treatment, row in rows.items():
        named = row[described.reference]
        reference = described.references.get(named, "")
        if treatment == reference or treatment not in joules or reference not in joules:
            continue
        stated = _number(row[described.delta_pct])
        if stated is None:
            continue
        found = 100 * (joules[treatment] / joules[reference] - 1)
        if abs(stated - found) <= max(DELTA_WITHIN, 0.1 * abs(found)):
            continue
        yield Point(
            check="energy-of-jobs",
            rule=10,
            severity="serious",
            subject=f"energy of {row[described.label]} against {named}",
            stated=f"{stated:+.1f} %",
            stated_source=source_of(row),
            found=f"{found:+.1f} % ({joules[treatment] / KWH:.2f} and "
            f"{joules[reference] / KWH:.2f} kWh during the jobs)",
            found_source="power samples integrated over the jobs",
            means="the stated difference is not that of the reported jobs: the metered time "
            "includes more than these jobs.",
        )


def _job_seconds(case: Case, treatment: str) -> float:
    trials = (t for t in case.results.trials if t.treatment.id == treatment)
    return sum(phase.elapsed_s for trial in trials for phase in trial.phases)


def _job_joules(case: Case) -> dict[str, float]:
    """Metered energy of all jobs by treatment, if every job has one."""
    found: dict[str, float] = {}
    curves = _curves(case)
    for treatment in {t.treatment.id for t in case.results.trials}:
        phases = [p for t in case.results.trials if t.treatment.id == treatment for p in t.phases]
        parts = [
            curve.energy(p.started_at, p.started_at + p.elapsed_s)
            for p in phases
            for curve in curves
        ]
        known = [part for part in parts if part is not None]
        if known and len(known) == len(parts):
            found[treatment] = sum(known)
    return found


def of_samples(case: Case) -> Iterator[Point]:
    """The mean power of all windows of the stated length that contain a treatment's jobs."""
    described = case.relations.energy
    curves = _curves(case)
    if described is None or not curves:
        return
    for row in _stated(case, described):
        seconds, watts = float(row[described.hours]) * 3600, printed(row[described.watts])
        trials = [t for t in case.results.trials if t.treatment.id == row[described.treatment]]
        if not trials:
            continue
        means = list(_means(trials, curves, seconds))
        slack = WATTS_WITHIN * watts.value
        if not means or (min(means) - slack <= watts.high and watts.low <= max(means) + slack):
            continue
        nearest = min(means, key=lambda mean: abs(mean - watts.value))
        yield Point(
            check="energy-samples",
            rule=10,
            severity="serious",
            subject=f"{row[described.treatment]} ({row[described.label]}): mean power",
            stated=f"{watts.value:,.0f} W over {seconds / 3600:g} h",
            stated_source=source_of(row),
            found=f"{nearest:,.0f} W in the nearest window of that length",
            found_source="power samples",
            means="no window of the stated length that contains the jobs has the stated mean "
            "power.",
        )


def _means(trials: list[Trial], curves: list[PowerCurve], seconds: float) -> Iterator[float]:
    """Mean watts of the windows of this length that contain all trials, or as many as possible."""
    first, last = min(t.started_at for t in trials), max(t.finished_at for t in trials)
    step = curves[0].period_s
    low, high = sorted((last - seconds, first))
    for number in range(int((high - low) // step) + 3):
        begin = low + (number - 1) * step
        joules = [curve.energy(begin, begin + seconds) for curve in curves]
        known = [part for part in joules if part is not None]
        if known and len(known) == len(joules):
            yield sum(known) / seconds


def _curves(case: Case) -> list[PowerCurve]:
    return [
        PowerCurve(t, watts, record.stamp, record.period_s)
        for record in read_power(case.results.path)
        if record.period_s > 0
        for t, watts in record.groups.values()
    ]
