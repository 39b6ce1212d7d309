"""Checks and the verdict that results from them, for every workload."""

from __future__ import annotations

from windtunnel.results.record import Check, Verdict


def check(name: str, expected: str, got: str) -> Check:
    """A check that both are equal."""
    return Check(name=name, passed=expected == got, expected=expected, got=got)


def verdict(checks: list[Check]) -> Verdict:
    """Valid if all checks passed; otherwise the reason has the expected and the actual values."""
    failed = [check for check in checks if not check.passed]
    reason = "; ".join(f"{c.name}: expected {c.expected}, got {c.got}" for c in failed)
    return Verdict(valid=not failed, reason=reason, checks=checks)
