"""Section "Elapsed time by data size": the fitted line of each phase, and its residuals."""

from __future__ import annotations

import math
from typing import Any

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.formatting import digits, listed, percent, quantity
from windtunnel.analysis.observations import TOTAL
from windtunnel.analysis.scaling.data_size import SizeFit, size_fits
from windtunnel.report.sections.base import Section, Table, column

ANSWERED = 3
"""Number of lines in the report's first sentence."""
SURE = 0.05
"""If p is below this value, the report states that the times do not lie on a line."""


def section(analysis: Analysis) -> Section | None:
    """None if no factor sets the size of the data at three levels or more."""
    found = analysis.once(size_fits)
    if not found:
        return None
    return Section(
        id="sizes",
        title="Elapsed time by data size",
        lead="Model: elapsed time = fixed part + size / rate, fitted to all trials of a phase "
        "(least squares, relative to the mean of each level).",
        said=[_sentence(fit) for fit in found if fit.phase != TOTAL],
        charts=("sizes",),
        tables=[_lines(found), _residuals(found)],
        data=[_data(fit) for fit in found],
        answer=_answer(analysis, found),
    )


def _answer(analysis: Analysis, found: list[SizeFit]) -> str | None:
    """The lines of the phases if size is the only factor of the study."""
    if len(analysis.study.factors) > 1:
        return None
    timed = [fit for fit in found if fit.phase != TOTAL] or found
    lines = [f"{name(fit)} takes {_line(fit)}" for fit in timed[:ANSWERED]]
    bent = [name(fit) for fit in timed if fit.bend_p is not None and fit.bend_p < SURE]
    return "; ".join(lines) + (f"; not linear: {listed(bent)}" if bent else "")


def name(fit: SizeFit) -> str:
    """``transfer put``, with the levels of the other factors, if any."""
    others = ", ".join(f"{factor} {level}" for factor, level in fit.others.items())
    head = fit.workload if fit.phase == fit.workload else f"{fit.workload} {fit.phase}"
    return head + (f" ({others})" if others else "")


def _sentence(fit: SizeFit) -> str:
    worst = fit.worst
    text = (
        f"{name(fit)}: {_line(fit)}; "
        f"the largest residual is {percent(worst.residual)}, at {worst.level}"
    )
    return f"{text}; {verdict(fit)}"


def _line(fit: SizeFit) -> str:
    """``0.18 s [0.05, 0.30] plus size / 270 MB/s [250 MB/s, 290 MB/s]``."""
    fixed = f"{digits(fit.fixed_s)} s{_seconds(fit)}"
    return f"{fixed} plus size / {quantity(fit.rate_bytes_s, 'bytes/s')}{_rates(fit)}"


def verdict(fit: SizeFit) -> str:
    """Whether the times lie on a line, as a sentence."""
    if fit.bend_p is None:
        if any(point.n > 1 for point in fit.points):
            return "the times of each size are equal, so a deviation from a line cannot be tested"
        return "one trial per size cannot show whether the times lie on a line"
    if fit.bend_p < SURE:
        return f"the times do not lie on a line (p = {fit.bend_p:.2g})"
    return f"no deviation from a line was detected (p = {fit.bend_p:.2g})"


def _seconds(fit: SizeFit) -> str:
    if fit.fixed_interval is None:
        return " (interval unknown)"
    low, high = fit.fixed_interval
    return f" [{digits(low)}, {digits(high)}]"


def _rates(fit: SizeFit) -> str:
    if fit.rate_interval is None:
        return " (interval unknown)"
    low, high = fit.rate_interval
    top = quantity(high, "bytes/s") if math.isfinite(high) else "unbounded"
    return f" [{quantity(low, 'bytes/s')}, {top}]"


def _lines(found: list[SizeFit]) -> Table:
    rows = [
        (
            name(fit),
            digits(fit.fixed_s) + " s",
            _seconds(fit).strip(" ()"),
            quantity(fit.rate_bytes_s, "bytes/s"),
            _rates(fit).strip(" ()"),
            "unknown" if fit.bend_p is None else f"{fit.bend_p:.2g}",
        )
        for fit in found
    ]
    names = ("phase", "fixed part", "95 % interval", "rate", "95 % interval", "p, lack of fit")
    hint = (
        f"p below {SURE}: the times are not linear, and neither number applies beyond the "
        "measured sizes"
    )
    return Table("Lines by phase", column(*names), rows, hint=hint)


def _residuals(found: list[SizeFit]) -> Table:
    rows = [
        (
            name(fit),
            point.level,
            str(point.n),
            quantity(point.size_bytes, "bytes"),
            quantity(point.mean_s, "s"),
            quantity(point.fitted_s, "s"),
            percent(point.residual),
        )
        for fit in found
        for point in fit.points
    ]
    names = ("phase", "level", "n", "size", "mean", "line", "residual")
    return Table("Residuals by level", column(*names, text=2), rows)


def _data(fit: SizeFit) -> dict[str, Any]:
    rates = fit.rate_interval
    return {
        "factor": fit.factor,
        "workload": fit.workload,
        "phase": fit.phase,
        "others": dict(fit.others),
        "fixed_s": fit.fixed_s,
        "fixed_interval_s": fit.fixed_interval,
        "rate_bytes_s": fit.rate_bytes_s,
        # JSON has no infinity: None means unbounded
        "rate_interval_bytes_s": rates and [v if math.isfinite(v) else None for v in rates],
        "lack_of_fit_p": fit.bend_p,
        "points": [
            {
                "level": point.level,
                "size_bytes": point.size_bytes,
                "n": point.n,
                "mean_s": point.mean_s,
                "fitted_s": point.fitted_s,
                "residual": point.residual,
            }
            for point in fit.points
        ],
    }
