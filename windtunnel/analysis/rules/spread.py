"""Rules on the number of trials, their variation, and the baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from windtunnel.analysis.effects.effects import baseline_of
from windtunnel.analysis.evidence import Evidence, ReportWarning, slot
from windtunnel.analysis.formatting import listed, percent, plural
from windtunnel.analysis.observations import TOTAL
from windtunnel.analysis.statistics.summary import INDICATIVE_BELOW
from windtunnel.results.decision import rounds_of
from windtunnel.results.noisy_cells import noisy_cells
from windtunnel.results.record import Trial

_ALL_AGAIN = "all again"


def spread_unknown(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 2: with one trial the spread is unknown."""
    single = [
        c for c in evidence.elapsed_cells() if c.n == 1 and c.ci_low is None and c.phase == TOTAL
    ]
    if single:
        names = listed([evidence.place(c.treatment, c.workload) for c in single])
        yield ReportWarning(
            id="spread-unknown",
            rule=2,
            severity="serious",
            text=f"only one valid trial: the spread is unknown ({names})",
            advice="run at least 3 rounds, preferably 5; with one trial, a difference cannot be "
            "distinguished from chance.",
        )


def indicative(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 2: with fewer than five trials a result is indicative."""
    few = [c for c in evidence.elapsed_cells() if 1 < c.n < INDICATIVE_BELOW and c.phase == TOTAL]
    if few:
        counts = sorted({c.n for c in few})
        span = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        yield ReportWarning(
            id="indicative",
            rule=2,
            severity="caution",
            text=f"{span} valid trials per cell: results are indicative",
            advice=f"for firm results, set protocol.rounds to {INDICATIVE_BELOW} or more and "
            "run the study in a new folder.",
        )


def variation(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 3: the coefficient of variation of a cell exceeds the limit.

    Reference phases are excluded: no extra round is run because of them.
    """
    protocol = evidence.results.study.protocol
    references = {(t.workload, p.name) for t in evidence.counted for p in t.phases if p.beside}
    wild = [
        c
        for c in evidence.elapsed_cells()
        if c.cv is not None and c.cv > protocol.variation_limit
        if (c.workload, c.phase) not in references
    ]
    if not wild:
        return
    wild.sort(key=lambda c: -(c.cv or 0))
    names = listed(
        [
            f"{evidence.place(c.treatment, c.workload, c.phase)}: {percent(c.cv, signed=False)}"
            for c in wild
        ]
    )
    more = _more_rounds(evidence, list(dict.fromkeys((c.workload, c.treatment) for c in wild)))
    yield ReportWarning(
        id="variation-limit",
        rule=3,
        severity="caution",
        text=f"elapsed time varies by more than {percent(protocol.variation_limit, signed=False)}"
        f" (coefficient of variation) in {plural(len(wild), 'cell')}: {names}",
        advice=f"{more}; do not remove trials.",
    )


def _more_rounds(evidence: Evidence, wild: list[tuple[str, str]]) -> str:
    """Advice on extra rounds for the (workload, treatment) with high variation."""
    protocol = evidence.results.study.protocol
    cap = protocol.extra_rounds
    disturbance = "look for the cause (other load, a slow disk, swapping)"
    if not cap:
        return f"allow extra rounds (protocol.extra_rounds) and {disturbance}"
    extra = {(*slot(trial), trial.round) for trial in evidence.results.trials if trial.extra}
    used = Counter((workload, treatment) for workload, treatment, _ in extra)
    short: list[tuple[str, str]] = []
    capped: list[tuple[str, str]] = []
    ended: list[tuple[str, str]] = []
    for where in wild:
        due, allowed = _due(evidence, where, used[where])
        (ended if not due else short if allowed else capped).append(where)
    parts = []
    if short:
        ran = [f"{_slot_name(evidence, where)}: {used[where]} of {cap}" for where in short]
        why = ", because the study is not complete" if _open_rounds(evidence) else ""
        parts.append(
            f"not all extra rounds were run ({listed(ran)}){why}; run the same command again "
            "on this folder to run the missing rounds"
        )
    groups = [group for group in (short, capped, ended) if group]

    def names(group: list[tuple[str, str]]) -> str:
        """The cells of a part of the advice; empty if there is only one part."""
        shown = listed([_slot_name(evidence, where) for where in group])
        return f" for {shown}" if len(groups) > 1 else ""

    if capped:
        parts.append(f"the maximum of extra rounds ({cap}) was reached{names(capped)}")
    if ended:
        last = ", because the last set of rounds is within the limit"
        why = last if protocol.retest == _ALL_AGAIN else ""
        parts.append(f"the rule 'protocol.retest' requires no more rounds{names(ended)}{why}")
    return "; ".join([*parts, *([disturbance] if capped or ended else [])])


def _due(evidence: Evidence, where: tuple[str, str], used: int) -> tuple[bool, bool]:
    """Whether the rule of the retest requires more extra rounds, and whether the cap allows them.

    ``used`` is the number of extra rounds of this (workload, treatment). The rule is that of the
    runner: it judges all rounds, or with 'all again' the last complete set of rounds.
    """
    protocol = evidence.results.study.protocol
    rounds = rounds_of(evidence.results.path, evidence.results.study)
    judged, more = range(1, rounds + used + 1), 1
    if protocol.retest == _ALL_AGAIN:
        if used % rounds:
            return True, True  # its last set is not complete
        judged, more = range(used + 1, used + rounds + 1), rounds
    noisy = noisy_cells(evidence.results.trials, protocol.variation_limit, judged)
    return where in noisy, used + more <= protocol.extra_rounds


def no_baseline(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 4: every effect is against a named baseline."""
    study = evidence.results.study
    for factor, levels in study.factors.items():
        named = study.baseline.get(factor)
        if len(levels) < 2 or named in levels:
            continue
        if named is None:
            text = (
                f"no baseline is named for factor {factor}; "
                f"the first level listed, {baseline_of(study, factor)}, is used"
            )
        else:
            text = (
                f"the baseline {named} of factor {factor} is not one of its levels: there are no "
                "effects"
            )
        yield ReportWarning(
            id="no-baseline",
            rule=4,
            severity="caution",
            text=text,
            advice=f"name it in the study file: 'baseline: {{{factor}: {levels[0]}}}'.",
        )


def incomplete(evidence: Evidence) -> Iterator[ReportWarning]:
    """A cell has fewer trials with a result than the protocol, or its pilot, requires."""
    if evidence.results.study.kind in ("published", "observed"):
        return  # nobody can run them again, and what was planned is not known
    rounds = rounds_of(evidence.results.path, evidence.results.study)
    short = _short_slots(evidence)
    if not short:
        return
    names = [f"{_slot_name(evidence, where)}: {done} of {rounds}" for where, done in short.items()]
    counted = [t for t in evidence.results.trials if t.answers and not t.warmup]
    failed = any(slot(t) in short and not t.verdict.valid for t in counted)
    retry = (
        "; 'windtunnel run' repeats the trials whose repetitions are used up only with "
        "--retry-invalid (fix the cause first)"
    )
    yield ReportWarning(
        id="incomplete",
        severity="caution",
        text=f"fewer valid trials{' and outcomes of faults' if failed else ''} than planned "
        f"rounds: {listed(names)}",
        advice="run the same command again on this folder to complete the study"
        f"{retry if _used_up(evidence, short) else ''}.",
    )


def _short_slots(evidence: Evidence) -> dict[tuple[str, str], int]:
    """Trials of each (workload, treatment) that has fewer than planned rounds.

    Valid trials count, and those whose job failed or whose output is wrong because of a fault:
    these are results, and the runner never repeats them.
    """
    study = evidence.results.study
    rounds = rounds_of(evidence.results.path, study)
    done = Counter(
        slot(trial) for trial in evidence.results.trials if trial.answers and not trial.warmup
    )
    workloads = list(study.workloads) or sorted({t.workload for t in evidence.results.trials})
    return {
        (workload, treatment.id): done[(workload, treatment.id)]
        for treatment in study.treatments
        for workload in workloads
        if done[(workload, treatment.id)] < rounds
    }


def _open_rounds(evidence: Evidence) -> int:
    """The number of trials of the planned rounds that the same command still runs."""
    short = _short_slots(evidence)
    rounds = rounds_of(evidence.results.path, evidence.results.study)
    return sum(rounds - done for done in short.values()) - _used_up(evidence, short)


def _used_up(evidence: Evidence, short: Collection[tuple[str, str]]) -> int:
    """The number of rounds of these cells whose trials are invalid and are not repeated again."""
    tried: dict[tuple[str, str, int], list[Trial]] = {}
    for trial in evidence.results.trials:
        if slot(trial) in short and not trial.warmup and not trial.extra:
            tried.setdefault((*slot(trial), trial.round), []).append(trial)
    most = evidence.results.study.protocol.retry_invalid
    return sum(
        len(trials) > most and not any(trial.answers for trial in trials)
        for trials in tried.values()
    )


def _slot_name(evidence: Evidence, where: tuple[str, str]) -> str:
    workload, treatment = where
    return evidence.place(treatment, workload)
