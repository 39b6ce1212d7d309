"""The number of trials that a study needs, from the noise of a pilot or of earlier trials.

The decision uses the spread within treatments and never a difference between them, so that nobody
can stop because a result became significant. An internal pilot whose trials count increases the
rate of false positives only slightly [1]_. The test is the two-sample t test on the logarithm of
the elapsed time: a difference of 5 % is ``log(1.05)`` at every level. Its significance
level is that of the first step of the correction with which the report detects differences:
``ALPHA`` / comparisons.

.. [1] Wittes and Brittain, "The role of internal pilot studies in increasing the efficiency of
   clinical trials", Statistics in Medicine 9 (1990) 65-72.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from windtunnel.errors import InvalidTrialsError
from windtunnel.results.decision import DecisionRecord
from windtunnel.results.record import Trial
from windtunnel.study.plan import Plan

ALPHA = 0.05
_MOST = 1_000_000
# Effects of this many standard deviations need only two trials at any power.
_HUGE_EFFECT = 200.0


@dataclass(frozen=True)
class Noise:
    """Pooled spread of a workload within treatments: sd of the log of the total elapsed time."""

    workload: str
    sd_log: float
    degrees_of_freedom: int
    trials: int


def noise_of(trials: Iterable[Trial]) -> list[Noise]:
    """The noise of each workload with at least two valid trials in a cell."""
    import numpy as np  # 'plan' imports this module and often needs no NumPy

    cells: dict[tuple[str, str], list[float]] = defaultdict(list)
    for trial in trials:
        total_s = sum(phase.elapsed_s for phase in trial.phases if not phase.beside)
        if trial.verdict.valid and not trial.warmup and total_s > 0:
            cells[trial.workload, trial.treatment.id].append(math.log(total_s))
    found = []
    for workload in dict.fromkeys(name for name, _ in cells):
        own = [np.array(logs) for (name, _), logs in cells.items() if name == workload]
        freedom = sum(len(logs) - 1 for logs in own)
        if freedom > 0:
            squares = sum(float(((logs - logs.mean()) ** 2).sum()) for logs in own)
            sd = math.sqrt(squares / freedom)
            found.append(Noise(workload, sd, freedom, sum(map(len, own))))
    return found


def comparisons_of(factors: Mapping[str, Sequence[str]]) -> int:
    """The number of comparisons with a baseline level, over all factors (at least 1).

    They are the family of the report's correction for one workload, phase and metric.
    """
    return max(1, sum(len(levels) - 1 for levels in factors.values() if levels))


def trials_needed(sd_log: float, detect: float, power: float, comparisons: int = 1) -> int | None:
    """The minimum number of trials per treatment (at least two) to detect ``1 + detect``.

    ``comparisons`` is the number for which the p values are corrected. None if more than a million
    trials are needed.
    """
    effect = math.log1p(detect) / sd_log if sd_log > 0 else math.inf
    if effect > _HUGE_EFFECT:
        return 2

    def enough(n: int) -> bool:
        return _power(effect, n, ALPHA / comparisons) >= power

    if not enough(_MOST):
        return None
    low, high = 1, 2  # invariant: low is not enough
    while not enough(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable(sd_log: float, trials: int, power: float, comparisons: int = 1) -> float | None:
    """The minimum detectable effect (ratio minus one) of a number of trials per treatment.

    None without spread, or if no effect is detected with this power.
    """
    from scipy.optimize import brentq

    if sd_log <= 0 or trials < 2:
        return None
    alpha = ALPHA / comparisons
    if _power(_HUGE_EFFECT, trials, alpha) < power:
        return None
    effect = brentq(lambda effect: _power(effect, trials, alpha) - power, 0.0, _HUGE_EFFECT)
    return math.expm1(effect * sd_log)


def _power(effect: float, trials: int, alpha: float) -> float:
    """Power of the t test at ``alpha`` for an effect (in standard deviations) with n trials each.

    For large effects SciPy's noncentral t distribution returns no number for the tail on the wrong
    side, whose probability is negligible: the power is then that of the other tail.
    """
    from statsmodels.stats.power import TTestIndPower  # takes a second to import

    test = TTestIndPower()
    both = test.power(effect, trials, alpha, ratio=1, alternative="two-sided")
    if math.isfinite(both):
        return float(both)
    right = test.power(effect, trials, alpha / 2, ratio=1, alternative="larger")
    return float(right) if math.isfinite(right) else 1.0


def sentence(
    noise: Noise, detect: float, power: float, needed: int | None, comparisons: int = 1
) -> str:
    """ "to detect a difference of 5 % at this noise (sd 3.1 %), you need 11 trials ..."."""
    spread = f"sd {_percent(noise.sd_log, 2)}" if noise.sd_log else "no spread"
    count = "more than a million" if needed is None else str(needed)
    corrected = f" after correction for {comparisons} comparisons" if comparisons > 1 else ""
    return (
        f"to detect a difference of {_percent(detect)} with a power of {_percent(power)}"
        f"{corrected} at this noise ({spread}, {noise.trials} trials of {noise.workload}), you "
        f"need {count} trials per treatment"
    )


def decide(plan: Plan, study_id: str, trials: Iterable[Trial]) -> DecisionRecord:
    """Decide on the number of rounds, from the pilot's trials.

    Raises
    ------
    InvalidTrialsError
        If no cell has two valid trials, because the noise is then unknown.
    """
    protocol = plan.protocol
    assert protocol.detect and protocol.pilot_rounds and protocol.max_rounds
    counted = [trial for trial in trials if trial.round <= protocol.pilot_rounds]
    found = noise_of(counted)
    if not found:
        raise InvalidTrialsError(
            "the pilot has no two valid trials of the same treatment, so that the noise and the "
            "number of rounds are unknown"
        )
    noise = max(found, key=lambda one: one.sd_log)
    comparisons = comparisons_of(plan.factors)
    needed = trials_needed(noise.sd_log, protocol.detect, protocol.power, comparisons)
    rounds = min(max(needed or _MOST, protocol.pilot_rounds), protocol.max_rounds)
    least = detectable(noise.sd_log, rounds, protocol.power, comparisons)
    text = sentence(noise, protocol.detect, protocol.power, needed, comparisons)
    if needed is not None:
        text += f", {about(needed * _round_s(plan, counted))}"
    if needed is None or needed > protocol.max_rounds:
        text += (
            f"; the protocol allows {protocol.max_rounds}, which detect differences of "
            f"{_percent(least or 0)} or more"
        )
    elif needed <= protocol.pilot_rounds:
        text += f"; the {protocol.pilot_rounds} of the pilot are enough"
    return DecisionRecord(
        study_id=study_id,
        decided_at=time.time(),
        detect=protocol.detect,
        power=protocol.power,
        alpha=ALPHA / comparisons,
        workload=noise.workload,
        trials=noise.trials,
        sd_log=noise.sd_log,
        degrees_of_freedom=noise.degrees_of_freedom,
        needed=needed,
        pilot_rounds=protocol.pilot_rounds,
        max_rounds=protocol.max_rounds,
        rounds=rounds,
        detectable=least,
        text=text,
    )


def _round_s(plan: Plan, trials: list[Trial]) -> float:
    """Seconds of a round, from the median of the valid trials, pauses included."""
    walls = [trial.finished_at - trial.started_at for trial in trials if trial.verdict.valid]
    each = statistics.median(walls) + plan.protocol.pause
    return each * len(plan.treatments) * len(plan.workloads)


def _percent(ratio: float, digits: int = 3) -> str:
    """``0.05`` as ``5 %``, without insignificant zeros."""
    return f"{ratio * 100:.{digits}g} %"


def about(seconds: float) -> str:
    """A duration as an estimate: ``about 40 min``."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    if minutes < 90:
        return f"about {minutes} min"
    return f"about {minutes // 60} h {minutes % 60:02d} min"
