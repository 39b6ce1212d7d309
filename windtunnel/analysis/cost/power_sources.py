"""The power samples of each trial: imported, recorded, or modelled from its CPU utilisation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np

from windtunnel.analysis.bottleneck.physical_limits import shares_machine
from windtunnel.analysis.cost.power_curve import PowerCurve
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.cluster import Cluster
from windtunnel.errors import ResultsError
from windtunnel.probes.power.modelled import FORMULA, described, host_watts
from windtunnel.probes.power.rapl import SOURCE as RAPL_SOURCE
from windtunnel.results.folder import Results
from windtunnel.results.power import KINDS, Array, Kind, PowerRecord, Stamp, read_power
from windtunnel.results.record import Trial

DROPPED = (
    "some samples are below a quarter of the median, which indicates that the meter lost hosts"
)
UNNAMED = "power samples without a stated source are not used"
_POWER, _DOMAIN = "power", "power:"


@dataclass
class Power:
    """Power of one kind in a trial, the sum of ``curves``; ``words`` state source and scope."""

    kind: Kind
    words: str
    curves: list[PowerCurve] = field(default_factory=list)


Found = dict[str, list[Power | str]]


def powers(results: Results, clusters: ClusterOf) -> Found:
    """By trial: its powers, at most one per kind, and sentences about excluded samples.

    A kind that the trial's phases already have is skipped. Power is modelled only if the study
    has no measured power, and never if the hosts shared one machine.
    """
    found: Found = defaultdict(list)
    for trial in results.trials:
        found[trial.id] += []
    have = {t.id: {k for k in KINDS if _has(t, k)} for t in results.trials}
    _imported(results, have, found)
    _sampled(results, have, found)
    measured = any(have.values()) or any(found.values())
    if not measured and not shares_machine(results.study):
        _modelled(results, clusters, found)
    return found


def described_watts(results: Results) -> bool:
    """Whether idle and peak watts of every host of some treatment are described."""
    clusters = ClusterOf(results.study)
    return any(_watts(clusters.of(treatment)) for treatment in results.study.treatments[:100])


def _has(trial: Trial, kind: Kind) -> bool:
    """Whether energy of this kind was recorded; another method must not fill its gaps."""
    recorded = (trial.metrics, *(phase.metrics for phase in trial.phases))
    return any(f"energy_{kind}" in metrics for metrics in recorded)


def _imported(results: Results, have: dict[str, set[Kind]], found: Found) -> None:
    merged: dict[Kind, Power] = {}
    records = read_power(results.path)
    for record in records:
        one = merged.setdefault(record.kind, Power(record.kind, record.words))
        if record.words != one.words:  # several exports of one meter
            one.words = f"{one.words}, {record.words.partition(': ')[2]}"
    for kind, one in merged.items():
        one.curves += _curves([record for record in records if record.kind == kind])
        first = min(curve.t[0] - curve.period_s for curve in one.curves)
        last = max(curve.t[-1] + curve.period_s for curve in one.curves)
        for trial in results.trials:
            if kind not in have[trial.id] and first < trial.finished_at and last > trial.started_at:
                found[trial.id].append(one)


def _curves(records: Sequence[PowerRecord]) -> list[PowerCurve]:
    """One curve of each group, stamp and period: consecutive exports of a meter are continuous.

    The exports of a group do not overlap: ``import_power`` refuses such samples.
    """
    parts: dict[tuple[str, Stamp, float], list[tuple[Array, Array]]] = {}
    for record in records:
        for group, samples in record.groups.items():
            place = (group, record.stamp, round(record.period_s, 3))
            parts.setdefault(place, []).append(samples)
    curves = []
    for (group, stamp, period_s), several in parts.items():
        t, watts = (np.concatenate(column) for column in zip(*several, strict=True))
        instants, order = np.unique(t, return_index=True)
        curves.append(PowerCurve(instants, watts[order], stamp, period_s, group))
    return curves


def _sampled(results: Results, have: dict[str, set[Kind]], found: Found) -> None:
    """Samples among the trial's own: ``power`` of a named source, ``power:DOMAIN`` from RAPL."""
    # A trial with samples names their source; opening the files of all trials takes seconds.
    trials = {t.id: t for t in results.trials if t.power_source or t.kind != "measured"}
    condition = f"metric = '{_POWER}' OR starts_with(metric, '{_DOMAIN}')"
    rows: dict[str, dict[bool, list[tuple[str, Array, Array]]]] = {}
    for trial_id, host, metric, t, value in _series(results, list(trials.values()), condition):
        rapl = metric.startswith(_DOMAIN)
        rows.setdefault(trial_id, {}).setdefault(rapl, []).append(
            (f"{host}{metric.removeprefix(_POWER)}", t, value)
        )
    for trial_id, groups in rows.items():
        trial = trials[trial_id]
        for rapl, series in groups.items():
            kind = "rapl" if rapl else _named_kind(trial)
            there = {one.kind for one in found[trial_id] if isinstance(one, Power)}
            if kind is None:
                found[trial_id].append(UNNAMED)
            elif kind not in have[trial_id] and kind not in there:
                words = RAPL_SOURCE if rapl else str(trial.power_source)
                stamp: Stamp = "end" if rapl else "instant"
                curves = [PowerCurve(t, watts, stamp, group=name) for name, t, watts in series]
                found[trial_id].append(Power(kind, words, curves))


def _named_kind(trial: Trial) -> Kind | None:
    """The kind at the start of the trial's source, ``metered: ...``; without one, metered."""
    if not trial.power_source:
        return None
    lead = trial.power_source.partition(":")[0].strip()
    return next((kind for kind in KINDS if kind == lead), "metered")


def _modelled(results: Results, clusters: ClusterOf, found: Found) -> None:
    watts = {t.id: _watts(clusters.of(t.treatment)) for t in results.trials}
    wanted = [trial for trial in results.trials if watts[trial.id]]
    condition = "metric IN ('cpu_idle', 'cpu_iowait')"
    idle: dict[str, dict[str, dict[str, tuple[Array, Array]]]] = {}
    for trial_id, host, metric, t, value in _series(results, wanted, condition):
        idle.setdefault(trial_id, {}).setdefault(host, {})[metric] = (t, value)
    for trial in wanted:
        hosts, sampled = watts[trial.id] or {}, idle.get(trial.id, {})
        if not hosts.keys() <= sampled.keys():
            continue
        curves = [_host_curve(name, hosts[name], sampled[name]) for name in hosts]
        known = [curve for curve in curves if curve is not None]
        if len(known) == len(hosts):
            words = f"modelled: {FORMULA}, {len(hosts)} hosts"
            found[trial.id].append(Power("modelled", words, known))


def _watts(cluster: Cluster | None) -> dict[str, tuple[float, float]] | None:
    """(idle, peak) by host; None unless every host has both."""
    if cluster is None:
        return None
    hosts = described(cluster)
    return hosts if len(hosts) == sum(c.count for c in cluster.hosts.values()) else None


def _host_curve(
    name: str, watts: tuple[float, float], sampled: dict[str, tuple[Array, Array]]
) -> PowerCurve | None:
    """Watts from the CPU utilisation: neither idle nor waiting for a disk."""
    if "cpu_idle" not in sampled:
        return None
    t, share = sampled["cpu_idle"]
    if "cpu_iowait" in sampled and len(sampled["cpu_iowait"][0]) == len(t):
        share = share + sampled["cpu_iowait"][1]
    return PowerCurve(t, host_watts(*watts, 1.0 - share), "end", group=name)


def _series(
    results: Results, trials: Sequence[Trial], condition: str
) -> Iterator[tuple[str, str, str, Array, Array]]:
    """(trial, host, metric, instants, values) of the samples that meet the condition."""
    files = [str(path) for path in _files(results, trials)]
    if not files:
        return
    try:
        rows = duckdb.execute(
            "SELECT trial, host, metric, list(t ORDER BY t), list(value ORDER BY t) FROM "
            f"(SELECT DISTINCT ON (trial, host, metric, t) * FROM read_parquet(?) "
            f"WHERE {condition}) GROUP BY trial, host, metric ORDER BY trial, host, metric",
            [files],
        ).fetchall()
    except duckdb.Error as error:
        raise ResultsError(
            f"samples of {results.path} cannot be read: {str(error).splitlines()[0]}",
            remedy="restore the damaged file from a backup.",
        ) from error
    for trial, host, metric, t, values in rows:
        yield trial, host, metric, np.array(t, dtype=float), np.array(values, dtype=float)


def _files(results: Results, trials: Iterable[Trial]) -> Iterator[object]:
    for trial in trials:
        path = results.samples_path(trial)
        if path is not None:
            yield path
