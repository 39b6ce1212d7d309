"""Factorial studies with known shares of variance, put through the program's own analysis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from windtunnel.analysis.effects.anova import Anova, anova
from windtunnel.analysis.effects.cells import Key, Sample
from windtunnel.analysis.statistics.variance_explained import share_intervals
from windtunnel.results.record import ProtocolRecord, StudyRecord, Treatment

FACTORS = ("a", "b", "c")
WHERE = ("terasort", "total")


def factorial(levels: int = 2, factors: tuple[str, ...] = FACTORS) -> StudyRecord:
    """The record of a full factorial, without trials."""
    names = [str(level) for level in range(levels)]
    grid = itertools.product(names, repeat=len(factors))
    treatments = [
        Treatment(id="-".join(row), levels=dict(zip(factors, row, strict=True))) for row in grid
    ]
    return study_of(treatments, dict.fromkeys(factors, names))


def study_of(treatments: list[Treatment], factors: dict[str, list[str]]) -> StudyRecord:
    """A record with these treatments."""
    return StudyRecord(
        id="made-up",
        name="made up",
        testbed="local",
        created_at=0.0,
        fingerprint="f00d",
        factors=factors,
        baseline={name: levels[0] for name, levels in factors.items()},
        treatments=treatments,
        protocol=ProtocolRecord(rounds=1, seed=1, trial_time_limit_s=60),
    )


def table_of(
    study: StudyRecord,
    effects: dict[tuple[str, ...], float],
    rounds: int,
    noise: float,
    rng: np.random.Generator,
    by_round: float = 0.0,
) -> dict[Key, Sample]:
    """Elapsed times in which each effect moves log time by +- its size (levels "0" and "1")."""
    shared = rng.normal(0, by_round, rounds)
    table: dict[Key, Sample] = {}
    for treatment in study.treatments:
        sign = {f: 1.0 if level == "1" else -1.0 for f, level in treatment.levels.items()}
        move = sum(
            size * math.prod(sign[factor] for factor in names) for names, size in effects.items()
        )
        logs = math.log(100) + move + shared + rng.normal(0, noise, rounds)
        values = [float(value) for value in np.exp(logs)]
        sample = Sample("s", values, list(range(1, rounds + 1)))
        table[(treatment.id, *WHERE, "elapsed")] = sample
    return table


def many(
    rounds: int, effects: dict[tuple[str, ...], float], draws: int, seed: int, noise: float = 0.05
) -> Iterator[Anova]:
    """The analyses of many made-up 2^3 studies."""
    rng = np.random.default_rng(seed)
    study = factorial()
    for _ in range(draws):
        found = anova(study, table_of(study, effects, rounds, noise, rng, by_round=0.03), *WHERE)
        assert found is not None
        yield found


def share_coverage(
    rounds: int, draws: int = 300, seed: int = 5, noise: float = 0.05
) -> list[tuple[str, float, float]]:
    """(term, its true share, how often the interval held it) for a 2^3 study.

    The sums of squares are drawn as what they are, (non)central chi-squared: that ``anova``
    makes such sums of trials is tested apart.
    """
    rng = np.random.default_rng(seed)
    effects = {"a": 0.10, "b": 0.05, "a x b": 0.03, "c": 0.0, "a x c": 0.0, "b x c": 0.0}
    effects["higher"] = 0.0
    trials, error_df = 8 * rounds, 7 * (rounds - 1)
    noncentral = np.array([trials * (size / noise) ** 2 for size in effects.values()])
    true = noncentral / (noncentral.sum() + trials)
    hits = np.zeros(len(effects))
    for _ in range(draws):
        squares = noise**2 * rng.noncentral_chisquare(1, noncentral)
        error = noise**2 * float(rng.chisquare(error_df))
        spans = share_intervals(squares.tolist(), [1] * len(effects), error, error_df, trials)
        assert spans is not None
        hits += [low <= share <= high for (low, high), share in zip(spans, true, strict=True)]
    return list(zip(effects, true.tolist(), (hits / draws).tolist(), strict=True))


def null_alarms(rounds: int, draws: int = 100, seed: int = 6) -> float:
    """How often any term of a study without any effect is called clear."""
    alarms = [any(t.clear for t in found.terms) for found in many(rounds, {}, draws, seed)]
    return sum(alarms) / draws
