"""Claims of a published study with what was measured here and what the physics model predicts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.prediction.points import points_of
from windtunnel.analysis.prediction.ratios import Ratio, Rows, ratios
from windtunnel.analysis.subjects.claims import (
    Evidence,
    Row,
    evidence_of,
    measured_ratio,
    verdict,
)
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.cluster import Cluster, QuantityError
from windtunnel.model.fit import Fit, Prior, fit
from windtunnel.model.hardware import hardware
from windtunnel.model.jobs import job, kind_of
from windtunnel.model.store import shipped_fit
from windtunnel.published import PREFIX, open_results
from windtunnel.published.claims import Claim, Claims, study_claims
from windtunnel.published.sources import build_published
from windtunnel.results.folder import read_results
from windtunnel.results.record import StudyRecord, Treatment

OTHER = {"cisco-2014": "vmware-2011", "vmware-2011": "cisco-2014"}
"""The model is not judged on what it was fitted to: the fit comes from the other study."""
ELAPSED, CPU_TIME = "elapsed", "cpu_time"
TOTAL = "total"
WITHHELD = "not in this catalogue"
LOADED = 1.0
"""Load per hardware thread of this machine before a trial from which a note is added."""


@dataclass(frozen=True)
class Reproduction:
    """The claims of a study with their verdicts, and the results folders of its runs."""

    study: str
    question: str
    rows: Sequence[Row]
    measured: Mapping[str, Analysis]
    fits: Sequence[str]
    deviations: Sequence[str]


def reproduce(name: str, folder: Path) -> Reproduction:
    """The verdicts from the results folders below ``folder``, one for each run, and the model.

    Raises
    ------
    UsageError, ResultsError
        No such study; a damaged results folder.
    """
    claims = study_claims(name)
    record = build_published(name).study
    measured = {run: analyse(read_results(folder / run)) for run in present(claims, folder)}
    predicted, fits = _predictions(claims, record)
    rows = [_row(claim, claims, measured, predicted.get(claim.id)) for claim in claims.claims]
    return Reproduction(
        name, record.question, rows, measured, fits, list(_deviations(record, measured))
    )


def present(claims: Claims, folder: Path) -> list[str]:
    """The runs that have a results folder."""
    return [run for run in claims.runs if (folder / run / "study.json").is_file()]


def command(claims: Claims, claim: Claim) -> str:
    """The command that measures a claim; empty if it cannot be measured here."""
    if claim.here is None:
        return ""
    return shlex.join(["windtunnel", "reproduce", claims.study, "--claim", claim.id, "--run"])


def _row(
    claim: Claim, claims: Claims, measured: Mapping[str, Analysis], predicted: Evidence | None
) -> Row:
    found = _measured(claim, measured)
    made, based_on, reason = verdict(
        claim.published, claim.tolerance, found, predicted, claim.cannot
    )
    deviations = []
    if found is not None and claim.here is not None:
        deviations = list(_differences(measured[claim.here.run]))
    return Row(
        claim.id,
        claim.topic,
        claim.says,
        claim.source,
        claim.published,
        claim.tolerance,
        found,
        predicted,
        claim.cannot,
        command(claims, claim),
        made,
        based_on,
        reason,
        deviations,
        claim.published is None and _comparable(claim),
    )


def _comparable(claim: Claim) -> bool:
    return bool(claim.measure or claim.here) or WITHHELD in claim.cannot


def _measured(claim: Claim, measured: Mapping[str, Analysis]) -> Evidence | None:
    here = claim.here
    if here is None or here.run not in measured:
        return None
    analysis = measured[here.run]
    where = (here.workload, here.phase, here.metric)
    found = measured_ratio(analysis, where, here.treatment, here.baseline, here.run)
    if found is None:
        return None
    loads = [t.load_before for t in analysis.trials if t.load_before is not None]
    note = f"load before the trials: {min(loads):.1f} to {max(loads):.1f}" if loads else ""
    return replace(found, note=note)


def _differences(analysis: Analysis) -> Iterator[str]:
    """How a run differs from the published cluster: testbed, scale, software, sizes."""
    study = analysis.study
    options = {k: v for k, v in study.testbed_options.items() if k != "kind"}
    yield f"testbed {study.testbed}" + (f" {options}" if options else "")
    if study.scale is not None:
        states = [group.state for group in study.scale.groups if group.treatment is None]
        yield (
            f"scale model: {states.count('match')} of {len(states)} similarity groups match, "
            f"{states.count('near')} near, {states.count('broken')} broken"
        )
    software = study.cluster.get("software", {})
    if software.get("hadoop"):
        yield f"Hadoop {software['hadoop']}"
    for workload, parameters in study.workloads.items():
        size = parameters.get("size")
        if size:
            yield f"{workload} of {size}" + ("" if study.scale is None else " at full size")


def _deviations(record: StudyRecord, measured: Mapping[str, Analysis]) -> Iterator[str]:
    software = record.cluster.get("software", {})
    known = ", ".join(f"{key} {value}" for key, value in software.items())
    if known:
        yield f"published: {known}"
    for run, analysis in measured.items():
        yield f"{run}: {'; '.join(_differences(analysis))}"


def _predictions(claims: Claims, record: StudyRecord) -> tuple[dict[str, Evidence], list[str]]:
    """Predicted ratios by claim, and the origins of the fits.

    A treatment to which the shipped fit was fitted is predicted by a fit to the other study.
    """
    fitted = set(shipped_fit().names)
    clusters = ClusterOf(record)
    groups: dict[bool, list[tuple[Claim, Rows, Rows]]] = {False: [], True: []}
    for claim in claims.claims:
        if claim.measure is None or claim.measure.metric not in (ELAPSED, CPU_TIME):
            continue
        sides = [
            _rows(claim, record, clusters, name)
            for name in (claim.measure.treatment, claim.measure.baseline)
        ]
        if sides[0] and sides[1]:
            seen = any(
                (record.id, claim.measure.treatment) == (study, treatment)
                for study, treatment, _, _ in fitted
            )
            groups[seen].append((claim, sides[0], sides[1]))
    found: dict[str, Evidence] = {}
    origins = []
    for seen, group in groups.items():
        if not group:
            continue
        made = _fit_to(OTHER[claims.study]) if seen else shipped_fit()
        origins.append(made.origin)
        pairs = [(treatment, baseline) for _, treatment, baseline in group]
        for (claim, _, _), ratio in zip(group, ratios(made, pairs), strict=True):
            assert claim.measure is not None
            found[claim.id] = _predicted(ratio, claim.measure.metric, made.origin)
    return found, origins


def _predicted(ratio: Ratio, metric: str, origin: str) -> Evidence:
    note = "" if ratio.inside else "outside the fitted range"
    binds = " / ".join(dict.fromkeys(ratio.bottlenecks))
    if metric == CPU_TIME:
        return Evidence(ratio.cpu, None, None, source=origin, bottleneck=binds, note=note)
    return evidence_of(ratio.log, source=origin, bottleneck=binds, note=note)


@cache
def _fit_to(study: str) -> Fit:
    """The constants that one published study alone determines, from priors without data."""
    source = f"{PREFIX}{study}"
    points = points_of(open_results(source)).points
    return fit(points, Prior.before_any_data(), origin=source)


def _rows(claim: Claim, record: StudyRecord, clusters: ClusterOf, name: str) -> Rows:
    """The phases of a claim at a treatment; empty if the model has no equations for them."""
    assert claim.measure is not None
    treatment = next((one for one in record.treatments if one.id == name), None)
    cluster = None if treatment is None else clusters.of(treatment)
    if treatment is None or cluster is None or cluster.storage.kind == "cephfs":
        return []  # the model has no equations for the software of Ceph
    if claim.predict is not None:
        workload, phase = claim.predict.workload, claim.predict.phase
        parameters = dict(claim.predict.parameters)
    else:
        workload, phase = claim.measure.workload, claim.measure.phase
        parameters = _parameters(record, treatment, workload)
    tera = ("teragen", "terasort", "teravalidate")
    phases = tera if phase == TOTAL and workload.startswith("terasort") else (phase,)
    return _jobs(workload, phases, parameters, cluster)


def _jobs(
    workload: str, phases: Sequence[str], parameters: dict[str, Any], cluster: Cluster
) -> Rows:
    capacity = hardware(cluster)
    found = []
    for phase in phases:
        kind = kind_of(workload, phase)
        if kind is None:
            return []
        try:
            work = job(kind, parameters, cluster, capacity)
        except QuantityError:
            return []
        if work.data_bytes <= 0 and work.samples <= 0:
            return []
        found.append((capacity, work))
    return found


def _parameters(record: StudyRecord, treatment: Treatment, workload: str) -> dict[str, Any]:
    prefix = f"workloads.{workload}."
    own = {
        path.removeprefix(prefix): value
        for path, value in treatment.overrides.items()
        if path.startswith(prefix)
    }
    return {**record.workloads.get(workload, {}), **own}
