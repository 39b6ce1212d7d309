"""Claims of a published study with what was measured here and what the physics model predicts."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.subjects.claims import Evidence, Row, measured_ratio, verdict
from windtunnel.analysis.subjects.features import FeatureRow
from windtunnel.analysis.subjects.similarity import with_measured_start_up
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.errors import ResultsError
from windtunnel.published.claims import Claim, Claims, study_claims
from windtunnel.published.features import CHECKS_FILE, feature_rows
from windtunnel.published.predicted import predicted_claims
from windtunnel.published.sources import build_published
from windtunnel.results.folder import read_results
from windtunnel.results.record import StudyRecord

WITHHELD = "not in this catalogue"
LOADED = 1.0
"""Load per hardware thread of this machine before a trial from which a note is added."""


@dataclass(frozen=True)
class Reproduction:
    """The claims of a study with their verdicts, and the results folders of its runs.

    ``features`` is the table of features, empty if the study has none.
    """

    study: str
    question: str
    rows: Sequence[Row]
    measured: Mapping[str, Analysis]
    fits: Sequence[str]
    deviations: Sequence[str]
    features: Sequence[FeatureRow] = ()


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
    predicted, fits = predicted_claims(name, claims.claims, record)
    rows = [_row(claim, claims, measured, predicted.get(claim.id)) for claim in claims.claims]
    return Reproduction(
        name,
        record.question,
        rows,
        measured,
        fits,
        list(_deviations(record, measured)),
        feature_rows(claims, measured, _checks(folder)),
    )


def present(claims: Claims, folder: Path) -> list[str]:
    """The runs that have a results folder."""
    return [run for run in claims.runs if (folder / run / "study.json").is_file()]


def _checks(folder: Path) -> Mapping[str, Any] | None:
    """The stored answers of ``storage-checks``; None if there are none."""
    file = folder / CHECKS_FILE
    if not file.is_file():
        return None
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        columns = [(one["level"], one["through"], one["answers"]) for one in found["columns"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(
            f"{file} cannot be read: {error}", remedy="delete the file; the next run writes it."
        ) from error
    return found if columns else None


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
    if (scale := with_measured_start_up(study, analysis.results.trials)) is not None:
        states = [group.state for group in scale.groups if group.treatment is None]
        yield (
            f"scale model: {states.count('match')} of {len(states)} similarity groups match, "
            f"{states.count('near')} near, {states.count('broken')} broken"
        )
    clusters = ClusterOf(study)
    described = [one for one in map(clusters.of, study.treatments) if one is not None]
    if any(host.vms for one in described for host in one.hosts.values()):
        yield "virtual machines are cgroups without a hypervisor and without NUMA nodes"
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
