"""Rules, stated before the study, by which a disturbed trial is invalid (``invalidate:``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from windtunnel.results.record import Check, Trial

_Look = Callable[[Trial], float | None]


def _load_before(trial: Trial) -> float | None:
    return trial.before.load_1min if trial.before else None


def _idle_before(trial: Trial) -> float | None:
    return trial.before.cpu_idle_share if trial.before else None


def _steal(trial: Trial) -> float | None:
    found = trial.metrics.get("cpu_steal_share")
    return found.value if found else None


# rule -> (what it looks at, in words; how to get it; whether more is worse; how it is written)
RULES: dict[str, tuple[str, _Look, bool, str]] = {
    "load_before_above": ("the load before the trial", _load_before, True, "{:.2f}"),
    "cpu_idle_before_below": ("the idle share before the trial", _idle_before, False, "{:.1%}"),
    "steal_above": ("the share of stolen CPU time", _steal, True, "{:.1%}"),
}


def judged(trial: Trial, limits: Mapping[str, float]) -> Trial:
    """The trial after the rules: each leaves a check, or a flag where its number is unknown.

    A trial that is invalid already keeps its reason.
    """
    if not trial.verdict.valid:
        return trial
    checks, flags = [*trial.verdict.checks], [*trial.flags]
    for rule, limit in limits.items():
        noun, look, more_is_worse, form = RULES[rule]
        value = look(trial)
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
    failed = [check for check in checks if not check.passed]
    verdict = trial.verdict.model_copy(
        update={
            "valid": not failed,
            "reason": "; ".join(f"{c.name}: {c.got}, not {c.expected}" for c in failed),
            "checks": checks,
        }
    )
    return trial.model_copy(update={"verdict": verdict, "flags": flags})
