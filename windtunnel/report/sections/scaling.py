"""Section "Scaling": speed-up and efficiency by level, fitted laws, and diminishing returns."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import digits, percent, plural, quantity
from windtunnel.analysis.observations import TOTAL
from windtunnel.analysis.scaling.laws import LEVELS_ADVISED, Estimate, Fit, parameters
from windtunnel.analysis.scaling.speedup import DOUBLING_PAYS, Point, Scaling, scalings
from windtunnel.report.sections.base import Section, Table, column
from windtunnel.report.sections.known import INTERVALS_UNKNOWN, without_unknown

SAID = 6


def section(analysis: Analysis) -> Section | None:
    """None if no factor is a count or an amount of resources."""
    found = analysis.once(scalings)
    if not found:
        return None
    totals = [s for s in found if s.phase == TOTAL]
    few = [s for s in totals if s.usl is None or len(s.points) < LEVELS_ADVISED]
    known = not totals or any(p.low is not None for s in totals for p in s.points[1:])
    return Section(
        id="scaling",
        title="Scaling",
        lead="Speed-up: elapsed time at the smallest level divided by elapsed time at the level "
        "(geometric means). Efficiency: speed-up divided by the increase of resources."
        + ("" if known else f" {INTERVALS_UNKNOWN.capitalize()}."),
        said=[_sentence(s, known=known) for s in totals[:SAID]],
        charts=("scaling",),
        tables=[_points(totals), *([_fits(found)] if any(s.amdahl for s in found) else [])],
        hint=f"fits of fewer than {LEVELS_ADVISED} levels are indicative" if few else "",
        data=[_data(s) for s in found],
    )


def name(scaling: Scaling) -> str:
    """``workers, terasort``, with the levels of the other factors, if any."""
    others = ", ".join(f"{factor} {level}" for factor, level in scaling.others.items())
    return f"{scaling.factor}, {scaling.workload}" + (f" ({others})" if others else "")


def _sentence(scaling: Scaling, *, known: bool) -> str:
    first, last = scaling.base, scaling.points[-1]
    times = digits(last.count / first.count)
    text = (
        f"{name(scaling)}: {first.level} -> {last.level} "
        f"({times} times as {'much' if scaling.amount else 'many'}) is "
        f"{digits(last.speed_up)} times as fast{_span(last) if known else ''}, "
        f"efficiency {percent(last.efficiency, signed=False)}"
    )
    return "; ".join([text, *_laws(scaling)])


def _laws(scaling: Scaling) -> list[str]:
    """The results of the fits, or the reason why there is none."""
    if scaling.amdahl is None and len(scaling.points) > parameters("Amdahl"):
        return ["neither Amdahl's law nor the Universal Scalability Law (USL) fits these times"]
    if scaling.amdahl is None:
        levels = plural(len(scaling.points), "level")
        return [
            f"{levels} are too few for a fit: Amdahl's law needs 3 levels, the Universal "
            "Scalability Law (USL) 4"
        ]
    amdahl, usl = scaling.amdahl, scaling.usl
    said = [f"by Amdahl's law {_share(amdahl.serial)} of the work does not scale"]
    if usl is None:
        said.append(f"the USL cannot be fitted to these {len(scaling.points)} levels")
    best = usl if usl is not None and usl.error < amdahl.error else amdahl
    said.append(_stop(scaling, best))
    if usl is not None and usl.peak is not None and math.isfinite(usl.peak.high):
        said.append(f"by the USL the time is shortest at {_count(scaling, usl.peak)}")
    return said


def _stop(scaling: Scaling, best: Fit) -> str:
    gain = percent(DOUBLING_PAYS, signed=False)
    stop, largest = best.stops_paying(DOUBLING_PAYS), scaling.points[-1].count
    if stop.value > 64 * largest:
        most = digits(64 * largest)
        if stop.low > 64 * largest:
            return f"every doubling up to {most} increases the speed by {gain} or more ({best.law})"
        beyond = ", beyond the measured levels" if 2 * stop.low > largest else ""
        return (
            f"up to {most} no limit was found from which a doubling increases the speed by less "
            f"than {gain}; it may be as low as {digits(stop.low)}{_unit(scaling)} (95 %, "
            f"{best.law}{beyond})"
        )
    where = _count(scaling, stop)
    # a doubling is measured if both its ends are
    beyond = ", beyond the measured levels" if 2 * stop.value > largest else ""
    lead = f"from {where} on, a doubling increases the speed by less than {gain}"
    return f"{lead} ({best.law}{beyond})"


def _count(scaling: Scaling, estimate: Estimate) -> str:
    high = digits(estimate.high) if math.isfinite(estimate.high) else "unbounded"
    return f"{digits(estimate.value)}{_unit(scaling)} [{digits(estimate.low)}, {high}]"


def _unit(scaling: Scaling) -> str:
    return f" times {scaling.base.level}" if scaling.amount else ""


def _share(estimate: Estimate) -> str:
    low, high = (percent(v, signed=False).removesuffix(" %") for v in (estimate.low, estimate.high))
    return f"{percent(estimate.value, signed=False)} [{low}, {high}]"


def _span(point: Point) -> str:
    if point.low is None or point.high is None:
        return " (interval unknown)"
    return f" [{digits(point.low)}, {digits(point.high)}]"


def _points(found: list[Scaling]) -> Table:
    rows = [
        (
            name(scaling),
            point.level,
            str(point.n),
            quantity(point.mean_s, "s"),
            digits(point.speed_up),
            _span(point).strip(" ()") if point is not scaling.base else "",
            percent(point.efficiency, signed=False),
        )
        for scaling in found
        for point in scaling.points
    ]
    names = (
        "factor, workload",
        "level",
        "n",
        "mean total",
        "speed-up",
        "95 % interval",
        "efficiency",
    )
    return without_unknown(
        Table("Speed-up by level", column(*names, text=2), rows), "95 % interval"
    )


def _fits(found: list[Scaling]) -> Table:
    rows = []
    for scaling in found:
        for law in (scaling.amdahl, scaling.usl):
            if law is None:
                continue
            peak = _count(scaling, law.peak) if law.peak else ""
            usl = law.law == "USL"
            rows.append(
                (
                    name(scaling),
                    scaling.phase,
                    law.law,
                    _share(law.serial),
                    _small(law.coherency) if usl else "",
                    peak if peak and law.peak and math.isfinite(law.peak.value) else "",
                    percent(law.error, signed=False),
                )
            )
    names = ("factor, workload", "phase", "law", "serial or contention", "coherency")
    return Table(
        "Laws fitted to the elapsed times (95 % intervals by parametric bootstrap)",
        column(*names, "shortest time at", "residuals", text=3),
        rows,
        hint=f"A fit of Amdahl's law needs {parameters('Amdahl') + 1} levels, a fit of the "
        f"Universal Scalability Law (USL, Gunther) {parameters('USL') + 1}. Residuals: relative "
        "standard deviation of the trials from the curve",
    )


def _small(estimate: Estimate) -> str:
    return f"{estimate.value:.2g} [{estimate.low:.2g}, {estimate.high:.2g}]"


def _data(scaling: Scaling) -> dict[str, Any]:
    return {
        "factor": scaling.factor,
        "workload": scaling.workload,
        "phase": scaling.phase,
        "others": dict(scaling.others),
        "amount": scaling.amount,
        "points": [asdict(point) for point in scaling.points],
        "laws": [_law(fit) for fit in (scaling.amdahl, scaling.usl) if fit is not None],
    }


def _law(fit: Fit) -> dict[str, Any]:
    stop = fit.stops_paying(DOUBLING_PAYS)
    return {
        "law": fit.law,
        "t1_s": _finite(fit.t1),
        "serial": _finite(fit.serial),
        "coherency": _finite(fit.coherency),
        "peak": _finite(fit.peak) if fit.peak else None,
        "doubling_gains_less_than_10_percent_from": _finite(stop),
        "residual_sd": fit.error,
    }


def _finite(estimate: Estimate) -> dict[str, float | None]:
    """The numbers for JSON, which has no infinity: None means unbounded."""
    return {key: v if math.isfinite(v) else None for key, v in asdict(estimate).items()}
