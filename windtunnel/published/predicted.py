"""What the physics model predicts for claims of published studies, and for phases at full size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from windtunnel.analysis.prediction.points import points_of
from windtunnel.analysis.prediction.ratios import Ratio, Rows, ratios
from windtunnel.analysis.subjects.claims import Evidence, evidence_of
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.cluster import Cluster, QuantityError
from windtunnel.model.fit import Fit, Prior, fit
from windtunnel.model.hardware import hardware
from windtunnel.model.jobs import job, kind_of
from windtunnel.model.store import shipped_fit
from windtunnel.published import PREFIX, open_results
from windtunnel.published.claims import Claim
from windtunnel.results.record import StudyRecord, Treatment

OTHER = {"cisco-2014": "vmware-2011", "vmware-2011": "cisco-2014"}
"""The model is not judged on what it was fitted to: the fit comes from the other study."""
ELAPSED, CPU_TIME = "elapsed", "cpu_time"
TOTAL = "total"


def predicted_claims(
    name: str, claims: Sequence[Claim], record: StudyRecord
) -> tuple[dict[str, Evidence], list[str]]:
    """Predicted ratios of claims of a published study by id, and the origins of the fits.

    A treatment to which the shipped fit was fitted is predicted by a fit to the other study.
    """
    fitted = set(shipped_fit().names)
    clusters = ClusterOf(record)
    groups: dict[bool, list[tuple[Claim, Rows, Rows]]] = {False: [], True: []}
    for claim in claims:
        if claim.measure is None or claim.measure.metric not in (ELAPSED, CPU_TIME):
            continue
        sides = [
            _rows(claim, record, clusters, side)
            for side in (claim.measure.treatment, claim.measure.baseline)
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
        made = _fit_to(OTHER[name]) if seen else shipped_fit()
        origins.append(made.origin)
        pairs = [(treatment, baseline) for _, treatment, baseline in group]
        for (claim, _, _), ratio in zip(group, ratios(made, pairs), strict=True):
            assert claim.measure is not None
            found[claim.id] = predicted(ratio, claim.measure.metric, made.origin)
    return found, origins


def predicted(ratio: Ratio, metric: str, origin: str) -> Evidence:
    """A predicted ratio of elapsed times, or of CPU times, which have no interval."""
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
        parameters = parameters_of(record, treatment, workload)
    tera = ("teragen", "terasort", "teravalidate")
    phases = tera if phase == TOTAL and workload.startswith("terasort") else (phase,)
    return jobs_of(workload, phases, parameters, cluster)


def jobs_of(
    workload: str, phases: Sequence[str], parameters: Mapping[str, Any], cluster: Cluster
) -> Rows:
    """The phases of a workload on a described cluster; empty if the model has no equations."""
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


def parameters_of(record: StudyRecord, treatment: Treatment, workload: str) -> dict[str, Any]:
    """The parameters of a workload at a treatment of a study, as written."""
    prefix = f"workloads.{workload}."
    own = {
        path.removeprefix(prefix): value
        for path, value in treatment.overrides.items()
        if path.startswith(prefix)
    }
    return {**record.workloads.get(workload, {}), **own}
