"""How many trials it takes: from the noise of a pilot, or of earlier trials.

The decision looks at the spread within treatments and never at a difference between them, so
that nobody can stop because a result became significant. An internal pilot whose trials count
raises the false-alarm rate by little [1]_. The test is the two-sample t test on the log of the
elapsed time: a difference of 5 % is ``log(1.05)`` whatever the level.

.. [1] Wittes and Brittain, "The role of internal pilot studies in increasing the efficiency of
   clinical trials", Statistics in Medicine 9 (1990) 65-72.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from windtunnel.errors import StudyStoppedError
from windtunnel.results.decision import DecisionRecord
from windtunnel.results.record import Trial
from windtunnel.study.plan import Plan

ALPHA = 0.05
_MOST = 1_000_000
# Effects of so many standard deviations need two trials only, whatever the power.
_HUGE_EFFECT = 200.0


@dataclass(frozen=True)
class Noise:
    """Spread of a workload within treatments: sd of log elapsed time (of the total), pooled."""

    workload: str
    sd_log: float
    degrees_of_freedom: int
    trials: int


def noise_of(trials: Iterable[Trial]) -> list[Noise]:
    """The noise of each workload, from valid trials; none where no cell has two of them."""
    import numpy as np  # 'plan' looks in here before it knows of any trial

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


def trials_needed(sd_log: float, detect: float, power: float) -> int | None:
    """Fewest trials per treatment (two at least) that show a ratio of ``1 + detect``.

    None if it is more than a million.
    """
    effect = math.log1p(detect) / sd_log if sd_log > 0 else math.inf
    if effect > _HUGE_EFFECT:
        return 2

    def enough(n: int) -> bool:
        return _power(effect, n) >= power

    if not enough(_MOST):
        return None
    low, high = 1, 2  # low is not enough
    while not enough(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable(sd_log: float, trials: int, power: float) -> float | None:
    """Smallest ratio minus one that so many trials per treatment show; None without spread."""
    from scipy.optimize import brentq

    if sd_log <= 0 or trials < 2:
        return None
    effect = brentq(lambda effect: _power(effect, trials) - power, 0.0, _HUGE_EFFECT)
    return math.expm1(effect * sd_log)


def _power(effect: float, trials: int) -> float:
    """Chance that the t test sees an effect (in standard deviations) with n trials each.

    For large effects SciPy's noncentral t has no number for the tail on the wrong side, which
    is nothing then: the other tail alone is the power.
    """
    from statsmodels.stats.power import TTestIndPower  # takes a second to import

    test = TTestIndPower()
    both = test.power(effect, trials, ALPHA, ratio=1, alternative="two-sided")
    if math.isfinite(both):
        return float(both)
    right = test.power(effect, trials, ALPHA / 2, ratio=1, alternative="larger")
    return float(right) if math.isfinite(right) else 1.0


def sentence(noise: Noise, detect: float, power: float, needed: int | None) -> str:
    """ "to see a 5 % difference at this noise (sd 3.1 %) you need 11 trials per treatment"."""
    spread = f"sd {_share(noise.sd_log, 2)}" if noise.sd_log else "no spread seen"
    count = "more than a million" if needed is None else str(needed)
    return (
        f"to see a {_share(detect)} difference at this noise ({spread}, {noise.trials} trials of "
        f"{noise.workload}) with a chance of {_share(power)} you need {count} trials per treatment"
    )


def decide(plan: Plan, study_id: str, trials: Iterable[Trial]) -> DecisionRecord:
    """Decide on the number of rounds, from the pilot's trials.

    Raises
    ------
    StudyStoppedError
        If no cell has two valid trials: the noise is unknown then.
    """
    protocol = plan.protocol
    assert protocol.detect and protocol.pilot_rounds and protocol.max_rounds
    counted = [trial for trial in trials if trial.round <= protocol.pilot_rounds]
    found = noise_of(counted)
    if not found:
        raise StudyStoppedError(
            "the pilot has no two valid trials of the same treatment: the noise is unknown, and "
            "with it the number of rounds",
            remedy="mend the cause, then run the same command with --retry-invalid.",
        )
    noise = max(found, key=lambda one: one.sd_log)
    needed = trials_needed(noise.sd_log, protocol.detect, protocol.power)
    rounds = min(max(needed or _MOST, protocol.pilot_rounds), protocol.max_rounds)
    least = detectable(noise.sd_log, rounds, protocol.power)
    text = sentence(noise, protocol.detect, protocol.power, needed)
    if needed is not None:
        text += f", {about(needed * _round_s(plan, counted))}"
    if needed is None or needed > protocol.max_rounds:
        text += (
            f", and the protocol allows {protocol.max_rounds}: that many are run, which show "
            f"differences of {_share(least or 0)} and more"
        )
    elif needed <= protocol.pilot_rounds:
        text += f": the pilot's {protocol.pilot_rounds} are enough"
    return DecisionRecord(
        study_id=study_id,
        decided_at=time.time(),
        detect=protocol.detect,
        power=protocol.power,
        alpha=ALPHA,
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
    """Seconds of a round by the median of the valid trials, pauses included."""
    walls = [trial.finished_at - trial.started_at for trial in trials if trial.verdict.valid]
    each = statistics.median(walls) + plan.protocol.pause
    return each * len(plan.treatments) * len(plan.workloads)


def _share(ratio: float, digits: int = 3) -> str:
    """``0.05`` as ``5 %``: no zeros that nobody measured."""
    return f"{ratio * 100:.{digits}g} %"


def about(seconds: float) -> str:
    """An estimate in words: ``about 40 min``."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    if minutes < 90:
        return f"about {minutes} min"
    return f"about {minutes // 60} h {minutes % 60:02d} min"
