"""Checks and the verdict that they add up to, for every workload."""

from __future__ import annotations

from windtunnel.results.record import Check, Verdict


def check(name: str, expected: str, got: str) -> Check:
    """A check that both are the same."""
    return Check(name=name, passed=expected == got, expected=expected, got=got)


def verdict(checks: list[Check]) -> Verdict:
    """Valid if all are passed, else with what was expected and got."""
    failed = [check for check in checks if not check.passed]
    reason = "; ".join(f"{c.name}: expected {c.expected}, got {c.got}" for c in failed)
    return Verdict(valid=not failed, reason=reason, checks=checks)
