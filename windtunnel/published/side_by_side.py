"""Measured effects of a study, the published ratios and the predictions at full size.

A claim of a published study that the study measures (``here`` in its ``claims.yaml``) gives the
published ratio, and its prediction is that of the published treatments. Other effects are
predicted from the study's own description at full size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from windtunnel.analysis.effects.cells import Key, Sample, samples
from windtunnel.analysis.effects.effects import Effect, effects
from windtunnel.analysis.observations import ELAPSED, TOTAL, observe
from windtunnel.analysis.prediction.ratios import Rows, ratios
from windtunnel.analysis.statistics.summary import contrast
from windtunnel.analysis.subjects.claims import Evidence, evidence_of
from windtunnel.analysis.subjects.side_by_side import Ratios
from windtunnel.analysis.treatment_cluster import ClusterOf
from windtunnel.model.jobs import PREDICTED_ENGINES
from windtunnel.model.store import shipped_fit
from windtunnel.published.claims import Claim, study_claims
from windtunnel.published.names import published_names
from windtunnel.published.predicted import jobs_of, parameters_of, predicted, predicted_claims
from windtunnel.published.sources import build_published
from windtunnel.results.folder import Results
from windtunnel.results.record import StudyRecord


def side_by_side(results: Results) -> list[Ratios]:
    """The effects on elapsed times of a study with what is published and predicted for them.

    Intervals have 95 %. Effects whose treatments have no valid trial are not listed.
    """
    study = results.study
    table = samples(observe(results.trials))
    own = {key: value for key, value in table.items() if key[3] == ELAPSED and key[2] != TOTAL}
    found = [one for one in effects(study, own) if one.relative is not None]
    claims = _claims(study)
    pairs = [_claim_of(study, claims, one) for one in found]
    of_claims = _of_claims([pair for pair in pairs if pair is not None])
    keys = [("", "") if pair is None else (pair[0], pair[1].id) for pair in pairs]
    rest = [one for one, key in zip(found, keys, strict=True) if key not in of_claims]
    of_description = _of_description(study, rest)
    return [
        Ratios(
            effect.workload,
            effect.phase,
            effect.factor,
            effect.level,
            effect.baseline,
            None if pair is None else _published(*pair),
            _measured(effect),
            of_claims[key] if key in of_claims else of_description.get(_place(effect)),
        )
        for effect, pair, key in zip(found, pairs, keys, strict=True)
    ]


def _place(effect: Effect) -> tuple[str, ...]:
    return effect.workload, effect.phase, effect.factor, effect.level


def _measured(effect: Effect) -> Evidence:
    return Evidence(
        1.0 + (effect.relative or 0.0),
        None if effect.ci_low is None else 1.0 + effect.ci_low,
        None if effect.ci_high is None else 1.0 + effect.ci_high,
        effect.n,
        effect.n_baseline,
    )


def _claims(study: StudyRecord) -> list[tuple[str, Claim]]:
    """The claims about elapsed times that this study measures, with their published studies."""
    return [
        (name, claim)
        for name in published_names()
        for claim in study_claims(name).claims
        if claim.here is not None and claim.here.run == study.name and claim.here.metric == ELAPSED
    ]


def _claim_of(
    study: StudyRecord, claims: Sequence[tuple[str, Claim]], effect: Effect
) -> tuple[str, Claim] | None:
    """The claim about the treatments of an effect; None without one."""
    base = {**study.baseline, effect.factor: effect.baseline}
    at = {**base, effect.factor: effect.level}
    for name, claim in claims:
        here = claim.here
        if (
            here is not None
            and (here.workload, here.phase) == (effect.workload, effect.phase)
            and {**study.baseline, **here.treatment} == at
            and {**study.baseline, **here.baseline} == base
        ):
            return name, claim
    return None


def _published(name: str, claim: Claim) -> Evidence | None:
    """The published ratio, with the interval of the published runs.

    There is no interval if a side has one run, or if the printed times of both sides are equal:
    their spread is below the last printed digit, which does not make it zero.
    """
    if claim.published is None:
        return None
    found = Evidence(claim.published, None, None, 1, 1, source=name)
    if claim.measure is None:
        return found
    where = (claim.measure.workload, claim.measure.phase, claim.measure.metric)
    table = _published_table(name)
    sides = [
        table.get((side, *where)) for side in (claim.measure.treatment, claim.measure.baseline)
    ]
    values = [list(sample.values) for sample in sides if sample is not None]
    if len(values) < len(sides):
        return found
    found = replace(found, n=len(values[0]), n_baseline=len(values[1]))
    level, base = ([math.log(value) for value in own] for own in values)
    made = evidence_of(contrast([(1.0, level), (-1.0, base)], printed=True))
    return replace(found, low=made.low, high=made.high)


@cache
def _published_table(name: str) -> Mapping[Key, Sample]:
    return samples(observe(build_published(name).trials), printed=True)


def _of_claims(pairs: Sequence[tuple[str, Claim]]) -> dict[tuple[str, str], Evidence]:
    """Predictions of the published treatments, by study and claim."""
    found: dict[tuple[str, str], Evidence] = {}
    for name in dict.fromkeys(name for name, _ in pairs):
        own = [claim for study, claim in pairs if study == name]
        made, _ = predicted_claims(name, own, build_published(name).study)
        found |= {(name, claim): evidence for claim, evidence in made.items()}
    return found


def _of_description(
    study: StudyRecord, wanted: Sequence[Effect]
) -> dict[tuple[str, ...], Evidence]:
    """Predictions of the shipped fit from the description of the study, by effect."""
    clusters = ClusterOf(study)
    known: list[tuple[Effect, Rows, Rows]] = []
    for effect in wanted:
        base = {**study.baseline, effect.factor: effect.baseline}
        sides = [
            _rows(study, clusters, effect, levels)
            for levels in ({**base, effect.factor: effect.level}, base)
        ]
        if sides[0] and sides[1]:
            known.append((effect, sides[0], sides[1]))
    fit = shipped_fit()
    made = ratios(fit, [(level, base) for _, level, base in known])
    return {
        _place(effect): predicted(ratio, ELAPSED, fit.origin)
        for (effect, _, _), ratio in zip(known, made, strict=True)
    }


def _rows(
    study: StudyRecord, clusters: ClusterOf, effect: Effect, levels: Mapping[str, str]
) -> Rows:
    """The phase of an effect at a treatment; empty if the model has no equations for it."""
    treatment = next((one for one in study.treatments if one.levels == levels), None)
    cluster = None if treatment is None else clusters.of(treatment)
    if treatment is None or cluster is None or cluster.storage.kind == "cephfs":
        return []
    parameters = parameters_of(study, treatment, effect.workload)
    engine = parameters.get("engine")
    if engine is not None and engine not in PREDICTED_ENGINES.get(effect.workload, ()):
        return []
    return jobs_of(effect.workload, (effect.phase,), parameters, cluster)
