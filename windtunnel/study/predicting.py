"""Predictions of a plan: the same slots, records and journal as measured trials."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

from windtunnel.analysis.cost.energy import ENERGY, POWER, energy, power
from windtunnel.engines.job_metrics import CPU_TIME
from windtunnel.results.record import Check, Metric, Phase, Trial, Verdict
from windtunnel.study.journal import Journal
from windtunnel.study.plan import Plan, Slot
from windtunnel.testbeds.base import PhasePrediction, PlannedWork, PredictingTestbed

MODELLED: Literal["modelled"] = "modelled"
SOURCE = "modelled: idle and peak power of the description, use of the processors"


def predict_plan(plan: Plan, journal: Journal, testbed: PredictingTestbed) -> int:
    """Predict every slot of the plan that has no trial yet; returns the number of new trials.

    All slots are predicted together, including the recorded ones, so that their common errors are
    those of one prediction.
    """
    slots = sorted(plan.round_slots(1), key=lambda slot: slot.id)
    found = testbed.predict([_work(plan, slot) for slot in slots])
    provenance = journal.store_provenance(testbed.provenance())
    journal.store_fit(testbed.fit_text())
    made = 0
    for slot, phases in zip(slots, found, strict=True):
        if not journal.attempts(slot):
            journal.append(_trial(plan, slot, phases, journal, provenance), [])
            made += 1
    return made


def _work(plan: Plan, slot: Slot) -> PlannedWork:
    return PlannedWork(
        treatment=slot.treatment.id,
        workload=slot.workload,
        cluster=plan.cluster_of(slot.treatment),
        parameters=plan.parameters_of(slot.workload, slot.treatment),
        phases=plan.workload_of(slot.workload, slot.treatment).phases(),
    )


def _trial(
    plan: Plan, slot: Slot, found: Sequence[PhasePrediction], journal: Journal, provenance: str
) -> Trial:
    """The record of one slot; all phases begin when the prediction was made."""
    began = time.time()
    phases = [
        Phase(
            name=one.name,
            started_at=began,
            finished_at=began + one.elapsed_s,
            elapsed_s=one.elapsed_s,
            wall_s=one.elapsed_s,
            metrics=_metrics(one),
            prediction=one.prediction,
        )
        for one in found
    ]
    return Trial(
        id=f"{slot.id}-a1",
        study_id=journal.study.id,
        kind="predicted",
        testbed=plan.testbed,
        workload=slot.workload,
        treatment=slot.treatment,
        parameters=plan.parameters_of(slot.workload, slot.treatment),
        round=slot.round,
        position=slot.position,
        started_at=began,
        finished_at=time.time(),
        verdict=Verdict(
            valid=True,
            checks=[Check(name="prediction", passed=True, expected="of the physics model")],
        ),
        phases=phases,
        power_source=SOURCE if all(one.energy_j is not None for one in found) else None,
        flags=_flags(found),
        provenance=provenance,
    )


def _metrics(one: PhasePrediction) -> dict[str, Metric]:
    found = {CPU_TIME.name: CPU_TIME.of(one.cpu_s)}
    if one.energy_j is not None:
        found[energy(MODELLED)] = ENERGY.of(one.energy_j)
        found[power(MODELLED)] = POWER.of(one.energy_j / one.elapsed_s)
    return found


def _flags(found: Sequence[PhasePrediction]) -> list[str]:
    outside = [one.name for one in found if not one.prediction.inside_fitted_range]
    if not outside:
        return []
    return [f"outside the range to which the model was fitted: {', '.join(outside)}"]
