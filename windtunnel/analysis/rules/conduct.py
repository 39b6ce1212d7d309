"""Rules on how the study was run: order, verification, disturbance, settings, drift."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from statistics import median

from windtunnel.analysis.effects.common_rounds import PAIRED_FROM
from windtunnel.analysis.evidence import Evidence, ReportWarning, slot
from windtunnel.analysis.formatting import flat, listed, percent, plural
from windtunnel.analysis.observations import total_elapsed
from windtunnel.analysis.statistics.trend import common_slope
from windtunnel.results.record import Trial

CHANCE = 0.05
STOLEN_AT_MOST = 0.05
"""Maximum fraction of the CPU that other virtual machines may use during a trial."""
DRIFT_AT_LEAST = 0.03
"""A trend is reported if it is significant and changes the result by this much over the study."""
LOAD_MARGIN = 1.0
"""Number of runnable processes above the typical load that is always accepted."""
SATURATED = "saturated"
"""Flag of a trial whose workload did not reach its target rate (rule 11)."""
_OWN_VERSION = {"machine.windtunnel", "machine.windtunnel_commit"}
_LONG = 12  # characters; as git shows a commit
MAD_LIMIT = 3.5
"""Modified z score of an outlier: Iglewicz & Hoaglin (1993), How to detect and handle outliers."""


def not_randomised(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 1: treatments run in random interleaved rounds."""
    trials = [t for t in evidence.results.trials if not t.warmup and t.attempt == 1 and not t.extra]
    rounds: dict[int, list[Trial]] = defaultdict(list)
    for trial in trials:
        rounds[trial.round].append(trial)
    slots = {slot(t) for t in trials}
    if not evidence.measured or len(slots) < 2 or len(rounds) < 2:
        return
    ran = [slot(t) for t in sorted(trials, key=lambda t: t.started_at)]
    blocks = 1 + sum(a != b for a, b in pairwise(ran))
    if blocks == len(slots):
        yield ReportWarning(
            id="order-not-randomised",
            rule=1,
            severity="serious",
            text="all trials of one treatment ran before those of the next: a drift of the "
            "machine cannot be distinguished from an effect",
            advice="run the trials with 'windtunnel run', which interleaves them in random order "
            "(protocol.seed).",
        )
        return
    orders = {
        tuple(slot(t) for t in sorted(done, key=lambda t: (t.position, t.started_at)))
        for done in rounds.values()
        if len(done) == len(slots)
    }
    whole = sum(len(done) == len(slots) for done in rounds.values())
    if len(orders) == 1 and whole > 1:
        luck = math.exp(-math.lgamma(len(slots) + 1) * (whole - 1))
        by_chance = f"probability in a random order: {luck:.2g}"
        yield ReportWarning(
            id="order-not-randomised",
            rule=1,
            severity="serious" if luck < CHANCE else "note",
            text=f"every round ran in the same order ({by_chance}): a difference may be caused "
            "by the position in the round",
            advice="use another protocol.seed, or more rounds.",
        )


def stolen_cpu(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 8: CPU time that other virtual machines use (steal time) disturbs the measurement."""
    shares = {
        trial.id: trial.metrics["cpu_steal_share"].value
        for trial in evidence.counted
        if "cpu_steal_share" in trial.metrics
    }
    hit = [name for name, share in shares.items() if share > STOLEN_AT_MOST]
    if hit:
        worst = max(shares.values())
        yield ReportWarning(
            id="cpu-stolen",
            rule=8,
            severity="caution",
            text=f"other virtual machines on the physical host used more than "
            f"{percent(STOLEN_AT_MOST, signed=False)} of the CPU in {plural(len(hit), 'trial')} "
            f"(maximum {percent(worst, signed=False)})",
            advice="the absolute times of these trials are too long; ratios within a round are "
            "less affected. Measure on a dedicated machine, or add rounds.",
        )


def invalid_trials(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 5: invalid trials are stored, reported with their reasons and never averaged.

    A trial that ended because of its fault is an outcome: the section "Faults" has it.
    """
    invalid = [t for t in evidence.results.trials if not t.answers]
    if not invalid:
        return
    reasons = Counter(t.verdict.reason or "no reason recorded" for t in invalid)
    ran = len(evidence.results.trials)
    yield ReportWarning(
        id="invalid-trials",
        rule=5,
        severity="serious" if len(invalid) * 2 >= ran else "caution",
        text=f"{plural(len(invalid), 'invalid trial')} of {ran}, excluded from all results: "
        + listed([f"{reason} ({count}x)" for reason, count in reasons.most_common()]),
        advice="read the reasons; if one treatment fails more often than the others, the results "
        "of its valid trials may be too good.",
    )


def unverified(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 5: a trial counts only if its output was verified."""
    bare = [t.id for t in evidence.counted if t.kind == "measured" and not t.verdict.checks]
    if bare:
        yield ReportWarning(
            id="unverified",
            rule=5,
            severity="serious",
            text=f"the output of {plural(len(bare), 'trial')} was not verified ({listed(bare, 3)})",
            advice="use a workload that verifies its output; a job that writes no output can "
            "succeed, and is fast.",
        )


def load_before(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 8: no other work may run; the load before a trial must be similar in all trials."""
    known = [t for t in evidence.counted if t.before is not None]
    loads = [t.before.load_1min for t in known if t.before is not None]
    if len(known) < 3:
        return
    typical = median(loads)
    spread = median(abs(load - typical) for load in loads) / 0.6745
    bound = typical + max(LOAD_MARGIN, MAD_LIMIT * spread)
    busy = [(t, load) for t, load in zip(known, loads, strict=True) if load > bound]
    if busy:
        names = listed([f"{t.id}: {load:.1f}" for t, load in busy])
        yield ReportWarning(
            id="load-before-start",
            rule=8,
            severity="caution",
            text=f"the load before the start was far above the median {typical:.1f} in {names}",
            advice="stop other work on the machine, or add a pause between trials; the trials "
            "remain in the results, check them in the chart of trials.",
        )


def settings_changed(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 8: only the treatment changes within a study, and the provenance is recorded."""
    if not evidence.measured:
        return
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    missing = [t.id for t in evidence.counted if not t.provenance]
    for trial in evidence.counted:
        if trial.provenance:
            found[slot(trial)].add(trial.provenance)
    several = {cell: hashes for cell, hashes in found.items() if len(hashes) > 1}
    if several:
        mixed = [evidence.place(treatment, workload) for workload, treatment in several]
        changes = _changes(evidence, several.values())
        own = bool(changes) and set(changes) <= _OWN_VERSION
        what = "only Windtunnel itself" if own else "versions, settings or the machine"
        values = listed([_change(path, values) for path, values in changes.items()])
        yield ReportWarning(
            id="settings-changed",
            rule=8,
            severity="caution" if own else "serious",
            text=f"{what} changed between trials of {listed(mixed)}"
            + (f" ({values})" if values else ""),
            advice="compare the provenance of these trials and run the study again in a new "
            "folder; do not change settings or software during a study.",
        )
    if missing:
        yield ReportWarning(
            id="provenance-missing",
            rule=8,
            severity="caution",
            text=f"no provenance for {plural(len(missing), 'trial')} ({listed(missing, 3)})",
            advice="the software and settings of these trials cannot be checked; run the study "
            "again to record them.",
        )


def _changes(evidence: Evidence, mixed: Collection[set[str]]) -> dict[str, list[str]]:
    """Path in the provenance -> the different values, of trials that should have equal ones."""
    trials = {
        t.provenance: t for t in evidence.counted if t.provenance
    }  # in the order of the study
    needed = set[str]().union(*mixed)
    facts = {
        key: flat(evidence.results.known_provenance(t))
        for key, t in trials.items()
        if key in needed
    }
    changes: dict[str, list[str]] = {}
    for hashes in mixed:
        own = [known for key, known in facts.items() if key in hashes]
        for path in dict.fromkeys(path for known in own for path in known):
            values = list(dict.fromkeys(known.get(path, "not stated") for known in own))
            if len(values) > 1:
                changes.setdefault(path, values)
    return changes


def _change(path: str, values: Sequence[str]) -> str:
    """``machine.python: 3.11.7 / 3.12.1``; only the path if the values begin equally."""
    short = [value if len(value) <= _LONG else f"{value[:_LONG]}..." for value in values]
    return f"{path}: {' / '.join(short)}" if len(set(short)) == len(short) else path


def drift(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rules 1 and 7: a trend over the rounds within the treatments."""
    slope, p, span = trend(evidence.counted)
    if p is None or p >= CHANCE or abs(slope * span) < DRIFT_AT_LEAST:
        return
    change = math.expm1(slope * span)
    yield ReportWarning(
        id="drift",
        rule=1,
        severity="caution",
        text=f"elapsed time drifts by {percent(change)} from the first round to the last "
        f"(p = {p:.2g})",
        advice="add warm-up trials (protocol.warmup), and check caches, free disk space and "
        f"temperature; {_consequence(evidence.counted)}.",
    )


def _consequence(trials: Sequence[Trial]) -> str:
    """The consequence of a drift for the effects, which depends on the rounds of the cells."""
    rounds: dict[tuple[str, str], list[int]] = defaultdict(list)
    for trial in trials:
        rounds[slot(trial)].append(trial.round)
    every = [sorted(numbers) for numbers in rounds.values()]
    if any(numbers != every[0] for numbers in every):
        return (
            "the treatments have different rounds, so the drift changes their means differently; "
            "an effect is computed from the rounds that both treatments have, if their times "
            "have a trend"
        )
    if len(every[0]) >= PAIRED_FROM and len(set(every[0])) == len(every[0]):
        return "all treatments have the same rounds, and differences within rounds are without it"
    return "the drift affects all treatments equally and widens the intervals"


def trend(trials: Sequence[Trial]) -> tuple[float, float | None, float]:
    """Slope of log(elapsed) per round within slots, its p value, and the span in rounds.

    A slot is a workload at a treatment. p is None where there are too few trials.
    """
    groups: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for trial in trials:
        elapsed = total_elapsed(trial)
        if elapsed is not None and elapsed > 0:
            groups[slot(trial)].append((float(trial.round), math.log(elapsed)))
    if not groups:
        return 0.0, None, 0.0
    rounds = [row[0] for rows in groups.values() for row in rows]
    slope, p = common_slope(list(groups.values()))
    return slope, p, max(rounds) - min(rounds)


def flagged(evidence: Evidence) -> Iterator[ReportWarning]:
    """Flags that the testbed or the workload set on a trial; rule 11: one is "saturated"."""
    flags: dict[str, list[str]] = defaultdict(list)
    for trial in evidence.results.trials:
        for flag in trial.flags:
            flags[flag].append(trial.id)
    for flag, ids in flags.items():
        yield ReportWarning(
            id="trial-flag",
            rule=11 if flag == SATURATED else None,
            severity="caution",
            text=f"{flag} ({plural(len(ids), 'trial')}: {listed(ids, 3)})",
            advice="check these trials before you use their numbers.",
        )


def mixed_kinds(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rules 9 and 10: predicted, published and measured numbers are not averaged together."""
    kinds = sorted({t.kind for t in evidence.counted})
    if len(kinds) > 1:
        yield ReportWarning(
            id="mixed-kinds",
            rule=9,
            severity="serious",
            text=f"the study contains {' and '.join(kinds)} trials",
            advice="store each kind of trial in a separate folder and compare the folders.",
        )
