"""The registry of warnings. A new rule is one function in ``rules/`` and one entry here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from windtunnel.analysis.evidence import SEVERITIES, Evidence, ReportWarning
from windtunnel.analysis.rules import (
    conduct,
    journal,
    outliers,
    physics,
    power,
    published,
    recorded,
    spread,
)

Rule = Callable[[Evidence], Iterator[ReportWarning]]

RULES: tuple[Rule, ...] = (
    conduct.not_randomised,
    spread.spread_unknown,
    spread.indicative,
    spread.variation,
    outliers.outliers,
    spread.no_baseline,
    spread.incomplete,
    conduct.invalid_trials,
    conduct.unverified,
    journal.counted_twice,
    recorded.unreadable,
    physics.above_limit,
    physics.not_bottleneck,
    physics.limits_unknown,
    physics.cache_state,
    physics.cached_reads,
    conduct.load_before,
    conduct.stolen_cpu,
    conduct.settings_changed,
    conduct.drift,
    conduct.flagged,
    conduct.mixed_kinds,
    power.energy_mixed,
    power.energy_scope,
    power.energy_unnamed,
    published.as_published,
)


def warnings(evidence: Evidence) -> list[ReportWarning]:
    """All warnings that the evidence raises, the serious ones first."""
    raised = [warning for rule in RULES for warning in rule(evidence)]
    return sorted(raised, key=lambda warning: SEVERITIES.index(warning.severity))
