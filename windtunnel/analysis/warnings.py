"""The registry of warnings. A new rule is one function in ``rules/`` and one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from windtunnel.analysis.evidence import SEVERITIES, Evidence, ReportWarning
from windtunnel.analysis.rules import (
    attempts,
    conduct,
    cpu_time,
    journal,
    models,
    outliers,
    physics,
    power,
    published,
    spread,
    stock_starts,
    timeouts,
    unreadable,
)
from windtunnel.analysis.rules.failed import rule_failed
from windtunnel.plugins import Registry

Rule = Callable[[Evidence], Iterator[ReportWarning]]


def _admit(name: str, rule: Any) -> None:
    """Refuse an object that is not a rule."""
    if not callable(rule):
        raise ValueError("it is no function from Evidence to warnings")


RULES: Registry[Rule] = Registry(
    "rules",
    "rule",
    {
        "not_randomised": conduct.not_randomised,
        "spread_unknown": spread.spread_unknown,
        "indicative": spread.indicative,
        "variation": spread.variation,
        "outliers": outliers.outliers,
        "no_baseline": spread.no_baseline,
        "incomplete": spread.incomplete,
        "invalid_trials": conduct.invalid_trials,
        "unverified": conduct.unverified,
        "counted_twice": journal.counted_twice,
        "unreadable": unreadable.unreadable,
        "above_limit": physics.above_limit,
        "not_bottleneck": physics.not_bottleneck,
        "limits_unknown": physics.limits_unknown,
        "cache_state": physics.cache_state,
        "cached_reads": physics.cached_reads,
        "load_before": conduct.load_before,
        "speculation": attempts.speculation,
        "core_speed": models.core_speed,
        "stolen_cpu": conduct.stolen_cpu,
        "cpu_time": cpu_time.cpu_time,
        "stock_starts": stock_starts.stock_starts,
        "timeouts": timeouts.timeouts,
        "settings_changed": conduct.settings_changed,
        "drift": conduct.drift,
        "flagged": conduct.flagged,
        "mixed_kinds": conduct.mixed_kinds,
        "energy_mixed": power.energy_mixed,
        "energy_scope": power.energy_scope,
        "energy_unnamed": power.energy_unnamed,
        "as_published": published.as_published,
        "as_observed": published.as_observed,
    },
    _admit,
)


def warnings(evidence: Evidence) -> list[ReportWarning]:
    """All warnings that the evidence raises, the serious ones first."""
    plugged = RULES.plugged()
    raised = [
        warning
        for name, rule in RULES.items()
        for warning in (_guarded(name, rule, evidence) if name in plugged else rule(evidence))
    ]
    return sorted(raised, key=lambda warning: SEVERITIES.index(warning.severity))


def _guarded(name: str, rule: Rule, evidence: Evidence) -> list[ReportWarning]:
    """The warnings of a plug-in's rule; if the rule fails, a warning that states this."""
    try:
        raised = list(rule(evidence))
        if all(warning.severity in SEVERITIES for warning in raised):
            return raised
        said = f"a severity that is none of {', '.join(SEVERITIES)}"
    # whatever its code raises: the other rules still hold
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    return [rule_failed(RULES.describe(name), said)]
