"""Scaling: speed-up and efficiency by level, two laws, and where more stops paying."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from windtunnel.analysis import Analysis
from windtunnel.analysis.laws import LEVELS_ADVISED, Estimate, Fit, parameters
from windtunnel.analysis.observations import TOTAL
from windtunnel.analysis.scaling import DOUBLING_PAYS, Point, Scaling, scalings
from windtunnel.analysis.words import digits, percent, plural, quantity
from windtunnel.report.sections.base import Section, Table, column

SAID = 6


def section(analysis: Analysis) -> Section | None:
    """None where no factor counts anything."""
    found = analysis.once(scalings)
    if not found:
        return None
    totals = [s for s in found if s.phase == TOTAL]
    few = [s for s in totals if s.usl is None or len(s.points) < LEVELS_ADVISED]
    return Section(
        id="scaling",
        title="Scaling",
        lead="Speed-up: elapsed time at the smallest level over that at the level (geometric "
        "means). Efficiency: speed-up over how many times as many units there are.",
        said=[_sentence(s) for s in totals[:SAID]],
        charts=("scaling",),
        tables=[_points(totals), *([_fits(found)] if any(s.amdahl for s in found) else [])],
        hint=f"fits of fewer than {LEVELS_ADVISED} levels are indicative" if few else "",
        data=[_data(s) for s in found],
    )


def name(scaling: Scaling) -> str:
    """``workers, terasort``, with the levels of the other factors where there are any."""
    others = ", ".join(f"{factor} {level}" for factor, level in scaling.others.items())
    return f"{scaling.factor}, {scaling.workload}" + (f" ({others})" if others else "")


def _sentence(scaling: Scaling) -> str:
    first, last = scaling.base, scaling.points[-1]
    times = digits(last.count / first.count)
    text = (
        f"{name(scaling)}: {first.level} -> {last.level} "
        f"({times} times as {'much' if scaling.amount else 'many'}) is "
        f"{digits(last.speed_up)} times as fast{_span(last)}, "
        f"efficiency {percent(last.efficiency, signed=False)}"
    )
    return "; ".join([text, *_laws(scaling)])


def _laws(scaling: Scaling) -> list[str]:
    """What the fits say, or why there is none."""
    if scaling.amdahl is None and len(scaling.points) > parameters("Amdahl"):
        return ["neither law describes these times"]
    if scaling.amdahl is None:
        levels = plural(len(scaling.points), "level")
        return [f"{levels} cannot tell how it goes on: Amdahl's law needs 3, Gunther's 4"]
    amdahl, usl = scaling.amdahl, scaling.usl
    said = [f"by Amdahl's law {_share(amdahl.serial)} of the work does not scale"]
    if usl is None:
        said.append(f"Gunther's law cannot be fitted to these {len(scaling.points)} levels")
    best = usl if usl is not None and usl.error < amdahl.error else amdahl
    said.append(_stop(scaling, best))
    if usl is not None and usl.peak is not None and math.isfinite(usl.peak.high):
        said.append(f"by Gunther's law the time is shortest at {_count(scaling, usl.peak)}")
    return said


def _stop(scaling: Scaling, best: Fit) -> str:
    gain = percent(DOUBLING_PAYS, signed=False)
    stop, largest = best.stops_paying(DOUBLING_PAYS), scaling.points[-1].count
    if stop.value > 64 * largest:
        return f"every doubling up to {digits(64 * largest)} gains {gain} or more ({best.law})"
    where = _count(scaling, stop)
    # a doubling is measured if both its ends are
    beyond = ", beyond what was measured" if 2 * stop.value > largest else ""
    return f"a doubling gains less than {gain} from {where} on ({best.law}{beyond})"


def _count(scaling: Scaling, estimate: Estimate) -> str:
    unit = f" times {scaling.base.level}" if scaling.amount else ""
    high = digits(estimate.high) if math.isfinite(estimate.high) else "no end"
    return f"{digits(estimate.value)}{unit} [{digits(estimate.low)}, {high}]"


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
    names = ("factor, workload", "level", "n", "mean total", "speed-up", "95 %", "efficiency")
    return Table("Speed-up by level", column(*names, text=2), rows)


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
        hint=f"a law needs a level more than it has parameters: Amdahl {parameters('Amdahl') + 1}, "
        f"USL (Universal Scalability Law) {parameters('USL') + 1}; residuals: relative standard "
        "deviation of the trials around the curve",
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
    """JSON has no infinity: None stands for "without end"."""
    return {key: v if math.isfinite(v) else None for key, v in asdict(estimate).items()}
