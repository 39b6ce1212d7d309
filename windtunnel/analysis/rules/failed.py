"""The warning about a rule of another package that could not be applied."""

from __future__ import annotations

from windtunnel.analysis.evidence import ReportWarning


def rule_failed(rule: str, why: str) -> ReportWarning:
    """The warning that the result of such a rule is unknown."""
    return ReportWarning(
        id="rule-failed",
        severity="caution",
        text=f"{rule} could not be applied: {why}",
        advice="update or uninstall the plug-in; until then the result of its rule is unknown.",
    )
