"""Rules of the study file that make a disturbed trial invalid (``invalidate:``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from windtunnel.results.record import Before, Check, Metric
from windtunnel.results.trial_metrics import CPU_STEAL_SHARE

_Look = Callable[[Before | None, Mapping[str, Metric]], float | None]


def _load_before(before: Before | None, metrics: Mapping[str, Metric]) -> float | None:
    return before.load_1min if before else None


def _idle_before(before: Before | None, metrics: Mapping[str, Metric]) -> float | None:
    return before.cpu_idle_share if before else None


def _steal(before: Before | None, metrics: Mapping[str, Metric]) -> float | None:
    found = metrics.get(CPU_STEAL_SHARE.name)
    return found.value if found else None


# rule -> (name of its number; function that returns it; whether more is worse; its format)
RULES: dict[str, tuple[str, _Look, bool, str]] = {
    "load_before_above": ("the load before the trial", _load_before, True, "{:.2f}"),
    "cpu_idle_before_below": ("the idle CPU before the trial", _idle_before, False, "{:.1%}"),
    "steal_above": ("the fraction of stolen CPU time", _steal, True, "{:.1%}"),
}


def apply_rules(
    limits: Mapping[str, float], before: Before | None, metrics: Mapping[str, Metric]
) -> tuple[list[Check], list[str]]:
    """A check for each rule, or a flag if its number is unknown.

    Parameters
    ----------
    limits:
        The limit of each rule.
    before, metrics:
        The state of the machine before the trial, and the metrics of the trial as a whole.
    """
    checks, flags = [], []
    for rule, limit in limits.items():
        noun, look, more_is_worse, form = RULES[rule]
        value = look(before, metrics)
        if value is None:
            flags.append(f"the rule {rule} could not be applied: {noun} is unknown")
            continue
        bound = "at most" if more_is_worse else "at least"
        checks.append(
            Check(
                name=f"rule {rule}: {noun}",
                passed=value <= limit if more_is_worse else value >= limit,
                expected=f"{bound} {form.format(limit)}",
                got=form.format(value),
            )
        )
    return checks, flags
