"""The points of a results folder: the data for fits of the model and for comparisons with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from windtunnel.analysis.core_speed import core_factor
from windtunnel.analysis.observations import ELAPSED, TOTAL, counts, stopped
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.cluster import Cluster, QuantityError
from windtunnel.errors import ResultsError
from windtunnel.model.fit import Point
from windtunnel.model.hardware import Hardware, hardware, on_one_machine, with_quota
from windtunnel.model.jobs import job, kind_of, software_of
from windtunnel.results.folder import Results
from windtunnel.results.record import Metric, StudyRecord, Trial

AsRun = Callable[[Cluster], tuple[Cluster, float]]
"""What runs of a described cluster, and the fraction of its processors that tasks get.

The hosts have no hardware if they are processes of one machine.
"""
CPU = "cpu_time"


@dataclass(frozen=True)
class Found:
    """The points of a folder, and a line for each group of trials without one."""

    points: list[Point]
    skipped: list[str]
    assumed: list[str]


@dataclass(frozen=True)
class _Number:
    elapsed_s: float
    cpu_s: float | None
    timeout: bool


def points_of(results: Results, as_run: AsRun | None = None) -> Found:
    """A point for each treatment, workload and phase, from the means of its valid trials.

    Parameters
    ----------
    as_run:
        Returns the part of a described cluster that ran on the testbed of the results; None if
        all of it ran as described.

    Raises
    ------
    ResultsError
        If the times are predictions, or those of a scale model whose testbed is not known.
    """
    study = results.study
    if study.kind == "predicted":
        raise ResultsError(
            f"the times of {results.path} are predictions",
            remedy="use measured or published results.",
        )
    if study.scale is not None and as_run is None:
        raise ResultsError(
            f"{results.path} is a study of a scale model on the unknown testbed '{study.testbed}'",
            remedy="install the package of the testbed.",
        )
    cells: dict[tuple[str, str, str], list[_Number]] = defaultdict(list)
    first: dict[tuple[str, str, str], Trial] = {}
    for trial in filter(counts, results.trials):
        for phase, number in _numbers(study, trial):
            key = (trial.treatment.id, trial.workload, phase)
            cells[key].append(number)
            first.setdefault(key, trial)
    clusters = ClusterOf(study)
    points: list[Point] = []
    skipped: dict[str, dict[str, None]] = defaultdict(dict)
    assumed: dict[str, None] = {}
    for (treatment, workload, phase), numbers in cells.items():
        trial = first[treatment, workload, phase]
        kind = kind_of(workload, phase)
        described = clusters.of(trial.treatment)
        if kind is None:
            skipped[f"{workload} / {phase}: the model has no equations for it"][treatment] = None
            continue
        if described is None:
            skipped["the study has no valid cluster description"][treatment] = None
            continue
        cluster, capacity = capacity_of(results, trial, described, as_run)
        assumed.update(dict.fromkeys(capacity.assumed))
        try:
            work = job(kind, trial.parameters, cluster, capacity)
        except QuantityError as error:
            skipped[f"{workload}: {error}"][treatment] = None
            continue
        if work.data_bytes <= 0 and work.samples <= 0:
            skipped[f"{workload}: the size of the data is unknown"][treatment] = None
            continue
        levels = trial.treatment.levels.values()
        engine = str(trial.parameters.get("engine") or "")
        work = replace(work, software=software_of([engine, workload, *levels]))
        # a run that was stopped says only that the others took less or more
        ended = [number for number in numbers if not number.timeout] or numbers
        cpu = [number.cpu_s for number in ended if number.cpu_s]
        points.append(
            Point(
                study=study.id,
                treatment=treatment,
                workload=workload,
                phase=phase,
                hardware=capacity,
                job=work,
                elapsed_s=fmean(number.elapsed_s for number in ended),
                cpu_s=fmean(cpu) if cpu else None,
                timeout=ended[0].timeout,
                runs_s=tuple(number.elapsed_s for number in ended),
            )
        )
    total = len({treatment for treatment, _, _ in cells})
    return Found(points, [_skip(*one, total) for one in skipped.items()], sorted(assumed))


def _skip(reason: str, treatments: Mapping[str, None], total: int) -> str:
    """A reason, and how many treatments it concerns if these are not all."""
    if len(treatments) == total:
        return reason
    return f"{reason} ({len(treatments)} of {total} treatments, such as '{next(iter(treatments))}')"


def capacity_of(
    results: Results,
    trial: Trial,
    described: Cluster,
    as_run: AsRun | None = None,
    *,
    measured: Cluster | None = None,
) -> tuple[Cluster, Hardware]:
    """The part of a described cluster that ran in a trial, and its capacities.

    Hosts that ``as_run`` returns without a processor are processes of one machine; its facts are
    in the provenance of the trial.

    Parameters
    ----------
    measured:
        The description with which the trial ran, if ``described`` is a changed one. The settings
        that differ are those of ``described``, not those that were in force.
    """
    cluster, fraction = (described, 1.0) if as_run is None else as_run(described)
    facts = results.provenance(trial) if trial.kind == "measured" else {}
    before = cluster if measured is None else measured
    if measured is not None and as_run is not None:
        before, _ = as_run(measured)
    cluster = _with_settings(cluster, facts, before)
    capacity = with_quota(hardware(cluster), fraction)
    described_cpus = any(host.cpu is not None for host in cluster.hosts.values())
    machine = facts.get("machine")
    if as_run is None or described_cpus or not isinstance(machine, dict):
        return cluster, capacity
    threads, memory = machine.get("cpu_threads"), machine.get("memory_bytes")
    if not threads or not memory:
        return cluster, capacity
    cores = float(machine.get("cpu_cores") or threads)
    return cluster, on_one_machine(capacity, cores, float(threads), float(memory))


def _with_settings(cluster: Cluster, facts: Mapping[str, object], before: Cluster) -> Cluster:
    """The description with the settings that were in force, as far as they are recorded.

    Settings that differ from those of the description ``before`` keep their value.
    """
    software = facts.get("software")
    rows = software.get("settings") if isinstance(software, dict) else None
    if not isinstance(rows, list):
        return cluster
    known = {row["name"]: row["value"] for row in rows if {"name", "value"} <= {*row}}
    own = cluster.settings
    changed = {
        name for name in {*own, *before.settings} if own.get(name) != before.settings.get(name)
    }
    known = {name: value for name, value in known.items() if name not in changed}
    return cluster.model_copy(update={"settings": {**own, **known}})


def _numbers(study: StudyRecord, trial: Trial) -> Iterable[tuple[str, _Number]]:
    """Elapsed and CPU time of each phase, or of the whole if there are no phases.

    If the CPU quotas of a scale model followed the speed of the cores, the CPU time is that of
    cores with the planned speed.
    """
    if not trial.phases:
        whole = trial.metrics.get(ELAPSED)
        if whole is not None and whole.value > 0:
            yield TOTAL, _Number(whole.value, *_rest(trial.metrics))
        return
    for phase in trial.phases:
        if not phase.beside and phase.elapsed_s > 0:
            rest = _rest(phase.metrics, core_factor(study, phase))
            yield phase.name, _Number(phase.elapsed_s, *rest)


def _rest(metrics: dict[str, Metric], slower: float = 1.0) -> tuple[float | None, bool]:
    cpu = metrics.get(CPU)
    return (None if cpu is None else cpu.value / slower), stopped(metrics)


def chosen(points: Sequence[Point], treatments: Iterable[str]) -> list[Point]:
    """The points of these treatments; spaces around commas do not matter.

    Raises
    ------
    ResultsError
        If a treatment has no point, or no treatment is named.
    """
    known = {_plain(point.treatment): point.treatment for point in points}
    more = " ..." if len(known) > 8 else ""
    remedy = f"write one id in each line; ids are: {'; '.join(sorted(known)[:8])}{more}"
    wanted = set()
    for name in treatments:
        if _plain(name) not in known:
            raise ResultsError(
                f"no treatment '{name}' has a time that the model can use", remedy=remedy
            )
        wanted.add(known[_plain(name)])
    if not wanted:
        raise ResultsError("the list names no treatment", remedy=remedy)
    return [point for point in points if point.treatment in wanted]


def _plain(name: str) -> str:
    return ", ".join(part.strip() for part in name.split(","))
