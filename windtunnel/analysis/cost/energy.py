"""Energy by trial and phase: power samples of a named source, integrated over the phase.

The names of the metrics contain the kind of the source, so that no mean combines two kinds
(rule of trust 10): ``energy_KIND`` (J), ``power_KIND`` (W), ``edp_KIND`` (J s),
``energy_above_idle_KIND`` (J) and ``power_samples_KIND``, with the kinds ``metered``, ``rapl``
and ``modelled``. Metrics that a trial already has are kept.

The energy-delay product weights energy and time equally: Gonzalez & Horowitz (1996), Energy
dissipation in general purpose microprocessors, IEEE JSSC 31(9).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from windtunnel.analysis.cost.power_curve import PowerCurve
from windtunnel.analysis.cost.power_sources import DROPPED, Power, powers
from windtunnel.analysis.formatting import listed
from windtunnel.analysis.observations import total_elapsed
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.cluster import Cluster
from windtunnel.probes.power.modelled import idle_watts
from windtunnel.results.folder import Results
from windtunnel.results.metrics import MetricInfo, register
from windtunnel.results.power import KINDS, Kind
from windtunnel.results.record import Metric, Phase, Trial

_KINDS = (("kind", KINDS),)
_SOURCE = "power samples, see the trial's power_source"
ENERGY = MetricInfo(
    "energy_{kind}",
    "J",
    "energy of the hosts that the power source covers ({kind})",
    _SOURCE,
    better="less",
    label="energy ({kind})",
    choices=_KINDS,
)
POWER = MetricInfo(
    "power_{kind}",
    "W",
    "mean power of the hosts that the power source covers ({kind})",
    _SOURCE,
    label="power ({kind})",
    choices=_KINDS,
)
DELAY_PRODUCT = MetricInfo(
    "edp_{kind}",
    "J s",
    "energy-delay product: energy ({kind}) times elapsed time",
    _SOURCE,
    better="less",
    label="energy-delay product ({kind})",
    choices=_KINDS,
)
ABOVE_IDLE = MetricInfo(
    "energy_above_idle_{kind}",
    "J",
    "energy ({kind}) minus the energy of the idle hosts",
    f"{_SOURCE}; idle power of the cluster description",
    better="less",
    label="energy above idle ({kind})",
    choices=_KINDS,
)
POWER_SAMPLES = MetricInfo(
    "power_samples_{kind}",
    "count",
    "power samples ({kind}) within the phase",
    _SOURCE,
    label="power samples ({kind})",
    choices=_KINDS,
)
register(ENERGY, POWER, DELAY_PRODUCT, ABOVE_IDLE, POWER_SAMPLES)

UNNAMED_SOURCE = "source not named"
_HOSTS = re.compile(r"\b(\d+) (?:hosts|nodes|servers)\b")


def energy(kind: Kind) -> str:
    """Name of the metric, in J."""
    return ENERGY.name_of(kind=kind)


def power(kind: Kind) -> str:
    """Name of the metric of the mean power, in W."""
    return POWER.name_of(kind=kind)


def delay_product(kind: Kind) -> str:
    """Name of the metric of the energy-delay product, in J s."""
    return DELAY_PRODUCT.name_of(kind=kind)


def above_idle(kind: Kind) -> str:
    """Name of the metric of the energy minus that of the idle hosts, in J."""
    return ABOVE_IDLE.name_of(kind=kind)


def sample_count(kind: Kind) -> str:
    """Name of the metric that counts the samples."""
    return POWER_SAMPLES.name_of(kind=kind)


def sources(trial: Trial) -> dict[Kind, str]:
    """The source and scope of each kind of a trial's energy, in words."""
    named = {}
    for part in (trial.power_source or "").split("; "):
        kind, colon, words = part.partition(":")
        if colon and kind.strip() in KINDS:
            named[kind.strip()] = words.strip()
        elif part.strip():
            named["metered"] = part.strip()
    recorded = (trial.metrics, *(phase.metrics for phase in trial.phases))
    known = [kind for kind in KINDS if any(energy(kind) in metrics for metrics in recorded)]
    return {kind: named.get(kind, UNNAMED_SOURCE) for kind in known}


def with_energy(results: Results) -> Results:
    """The results, with energy added to every phase that power samples cover.

    No file is changed. A phase that the samples do not cover completely has no energy, and the
    trial has a flag that states this.
    """
    clusters = ClusterOf(results.study)
    found = powers(results, clusters)
    trials = [_filled(t, found.get(t.id, []), clusters) for t in results.trials]
    return Results(results.path, results.study, trials)


@dataclass
class _Added:
    """Additions to a trial."""

    phases: list[Phase] = field(default_factory=list)
    flags: dict[str, None] = field(default_factory=dict)


def _filled(trial: Trial, found: Sequence[Power | str], clusters: ClusterOf) -> Trial:
    """The trial with its energy; ``found`` may also hold sentences for its flags."""
    if not found and not sources(trial):
        return trial
    added = _Added()
    added.flags.update(dict.fromkeys(note for note in found if isinstance(note, str)))
    series = [one for one in found if isinstance(one, Power)]
    words = [trial.power_source] if trial.power_source else []
    words += [one.words for one in series if one.words not in words]
    source = "; ".join(words) or None
    idle = {kind: _idle(kind, source or "", clusters.of(trial.treatment)) for kind in KINDS}
    for phase in trial.phases:
        metrics = dict(phase.metrics)
        for one in series:
            metrics.update(_integrated(one, phase, added.flags))
        for kind in KINDS:
            metrics.update(_derived(kind, metrics, phase, idle[kind]))
        added.phases.append(phase.model_copy(update={"metrics": metrics}))
    whole = trial.model_copy(update={"phases": added.phases, "power_source": source})
    return whole.model_copy(
        update={
            "metrics": {**_totals(whole), **trial.metrics},
            "flags": [*trial.flags, *(flag for flag in added.flags if flag not in trial.flags)],
        }
    )


def _integrated(one: Power, phase: Phase, flags: dict[str, None]) -> dict[str, Metric]:
    """Energy of a phase over all groups of a source; empty if one of them does not cover it.

    A sum without a group of hosts that the energy of other phases includes would be averaged
    with theirs.
    """
    start, end = phase.started_at, phase.finished_at
    near = [curve for curve in one.curves if _near(curve, start, end)]
    there = {curve.group for curve in near}
    missing = list(dict.fromkeys(c.group for c in one.curves if c.group not in there))
    if near and missing:
        flags[
            f"energy ({one.kind}) of {phase.name} is unknown: there are no samples of "
            f"{listed(missing)} at this time, only of {listed(sorted(there))}"
        ] = None
        return {}
    parts = [curve.energy(start, end) for curve in near]
    known = [part for part in parts if part is not None]
    if not near or len(known) < len(parts) or end <= start:
        flags[f"energy ({one.kind}) of {phase.name} is unknown: the samples do not cover it"] = None
        return {}
    lost = sum(curve.dropouts(start, end) for curve in near)
    if lost:
        flags[f"power ({one.kind}) during {phase.name}: {DROPPED}"] = None
    count = min(curve.samples(start, end) for curve in near)
    return {
        energy(one.kind): ENERGY.of(sum(known)),
        sample_count(one.kind): POWER_SAMPLES.of(count),
    }


def _near(curve: PowerCurve, start: float, end: float) -> bool:
    """Whether the curve has samples near this time: the samples of a group may be in parts."""
    return bool(curve.t[0] - curve.period_s <= end and curve.t[-1] + curve.period_s >= start)


def _derived(
    kind: Kind, metrics: Mapping[str, Metric], phase: Phase, idle: float | None
) -> dict[str, Metric]:
    """Mean power, energy-delay product and energy above idle, if they do not exist yet."""
    joules = metrics.get(energy(kind))
    if joules is None or joules.unit != ENERGY.unit or phase.elapsed_s <= 0:
        return {}
    lasted = phase.finished_at - phase.started_at if sample_count(kind) in metrics else 0.0
    lasted = lasted if lasted > 0 else phase.elapsed_s
    made = {
        power(kind): POWER.of(joules.value / lasted),
        delay_product(kind): DELAY_PRODUCT.of(joules.value * phase.elapsed_s),
    }
    if idle is not None:
        made[above_idle(kind)] = ABOVE_IDLE.of(joules.value - idle * lasted)
    return {name: metric for name, metric in made.items() if name not in metrics}


def _totals(trial: Trial) -> dict[str, Metric]:
    """Mean power and energy-delay product of the whole trial.

    The energy itself is summed over the phases like all additive metrics, unless the trial has an
    energy of its own, which covers the time from its start to its end.
    """
    totals: dict[str, Metric] = {}
    elapsed = total_elapsed(trial)
    for kind in KINDS:
        own = trial.metrics.get(energy(kind))
        joules, lasted = _over_phases(trial, kind)
        if own is not None:
            joules, lasted = own.value, trial.finished_at - trial.started_at
        if joules is None or not elapsed:
            continue
        if lasted > 0:
            totals[power(kind)] = POWER.of(joules / lasted)
        totals[delay_product(kind)] = DELAY_PRODUCT.of(joules * elapsed)
    return totals


def _over_phases(trial: Trial, kind: Kind) -> tuple[float | None, float]:
    """Joules of all phases, None if a phase has none, and the seconds of these phases.

    Reference phases are no part of the total.
    """
    joules, lasted = 0.0, 0.0
    phases = [phase for phase in trial.phases if not phase.beside]
    for phase in phases:
        part, mean = phase.metrics.get(energy(kind)), phase.metrics.get(power(kind))
        if part is None or mean is None:
            return None, 0.0
        joules += part.value
        lasted += part.value / mean.value if mean.value > 0 else phase.elapsed_s
    return (joules if phases else None), lasted


def covered_idle(trial: Trial, kind: Kind, cluster: Cluster | None) -> float | None:
    """Idle watts of the hosts whose energy a trial has; None if unknown."""
    return _idle(kind, trial.power_source or "", cluster)


def _idle(kind: Kind, source: str, cluster: Cluster | None) -> float | None:
    """Idle watts of the hosts that the source covers; None if unknown.

    RAPL covers processors, the description complete hosts. A meter covers the described hosts if
    its source states their number.
    """
    if cluster is None or kind == "rapl":
        return None
    if kind == "metered":
        hosts = sum(host_class.count for host_class in cluster.hosts.values())
        if metered_hosts(source) != hosts:
            return None
    return idle_watts(cluster)


def metered_hosts(source: str) -> int | None:
    """Number of hosts in a source such as ``metered: DCM, GroupBD, 8 hosts``.

    None if it states none, or several.
    """
    parts = (part for part in source.split("; ") if part.startswith("metered"))
    numbers = {int(number) for part in parts for number in _HOSTS.findall(part)}
    return numbers.pop() if len(numbers) == 1 else None


def kinds_of(trials: Iterable[Trial]) -> Iterator[tuple[Trial, Kind, str]]:
    """Each trial with each kind of its energy and its source."""
    for trial in trials:
        for kind, words in sources(trial).items():
            yield trial, kind, words
