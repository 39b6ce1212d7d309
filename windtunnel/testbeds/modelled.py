"""The testbed ``modelled``: the physics model predicts the times; nothing is started."""

from __future__ import annotations

# The model needs NumPy and SciPy, which are slow to import: imports inside functions.
import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, field_validator

from windtunnel import __version__
from windtunnel.cluster import Cluster, blame
from windtunnel.errors import ResultsError
from windtunnel.results.record import PredictedPhase
from windtunnel.testbeds.base import (
    Notify,
    PhasePrediction,
    PlannedWork,
    PredictingTestbed,
    Realisation,
    TestbedOptions,
)

if TYPE_CHECKING:
    from windtunnel.model.fit import Fit
    from windtunnel.model.hardware import Hardware
    from windtunnel.model.joint import Joint
    from windtunnel.model.predict import Prediction

_DIGITS = 6  # of standard deviations of logarithms
_OTHER_ENGINES = "the model has no equations for the engine {engine}"


class ModelledOptions(TestbedOptions):
    """Options of the testbed ``modelled``."""

    kind: Literal["modelled"] = "modelled"
    fit: str | None = Field(
        None,
        description="File of a fit, from 'windtunnel fit' or 'windtunnel calibrate'; default: the "
        "fit to the published studies.",
    )
    hosts: Literal["described", "this machine"] = Field(
        "described",
        description="The hosts as described; or, as on the testbed 'local', processes that share "
        "this machine.",
    )

    def to_record(self) -> dict[str, Any]:
        """The options, and the hash of the fit: a results folder has one fit."""
        return {**super().to_record(), "fit_sha256": hashlib.sha256(self.fit_text()).hexdigest()}

    def words(self) -> str:
        """The options as text."""
        return f"fit {self.fit or 'of the published studies'}, hosts {self.hosts}"

    def fit_text(self) -> bytes:
        """The content of the file of the fit."""
        if self.fit is None:
            return resources.files("windtunnel.catalogue").joinpath("physics/fit.json").read_bytes()
        return Path(self.fit).read_bytes()

    @field_validator("fit")
    @classmethod
    def _readable(cls, fit: str | None) -> str | None:
        from windtunnel.model.store import read_fit

        if fit is not None:
            try:
                read_fit(Path(fit))
            except ResultsError as error:
                raise blame(error.message, remedy=error.remedy or "") from None
        return fit


class ModelledTestbed(PredictingTestbed):
    """Predictions of the physics model, with intervals and bottlenecks."""

    name = "modelled"
    about = "predictions of the physics model for clusters of any size; nothing is started"
    options_type: ClassVar[type[TestbedOptions]] = ModelledOptions

    def __init__(self, logs: Path, notify: Notify, options: TestbedOptions | None = None) -> None:
        assert options is None or isinstance(options, ModelledOptions)
        self.options = options or ModelledOptions()

    def check(self, cluster: Cluster) -> Realisation:
        """Values that the description lacks are assumed; those without a meaning are refused."""
        from windtunnel.model.understood import misunderstood

        impossible = [f"{path} {why}" for path, why in misunderstood(cluster).items()]
        notes = [f"assumed: {line}" for line in self._capacity(cluster).assumed]
        if cluster.storage.policy:
            notes.append(f"storage.policy {cluster.storage.policy}: predicted like HOT")
        return Realisation(impossible, notes)

    def check_work(self, work: PlannedWork) -> Realisation:
        """The model needs equations for every phase, engine and storage."""
        from windtunnel.model.jobs import PREDICTED_ENGINES, assumptions, kind_of
        from windtunnel.model.refused import refusals

        kinds = {phase: kind_of(work.workload, phase) for phase in work.phases}
        lead = f"workloads.{work.workload}: "
        engine = work.parameters.get("engine")
        missing = [
            f"{lead}the model has no equations for the phase {phase}"
            for phase, kind in kinds.items()
            if kind is None
        ]
        if engine not in (None, *PREDICTED_ENGINES.get(work.workload, ())):
            missing.append(lead + _OTHER_ENGINES.format(engine=engine))
        refused = [
            f"{one.key}: {one.message}"
            for kind in kinds.values()
            if kind is not None
            for one in refusals(kind, work.parameters, work.cluster)
        ]
        missing += dict.fromkeys(refused)
        notes = [
            f"assumed: {line}"
            for kind in kinds.values()
            if kind is not None
            for line in assumptions(kind, work.parameters, work.cluster)
        ]
        return Realisation(missing, notes)

    def predict(self, work: Sequence[PlannedWork]) -> list[list[PhasePrediction]]:
        """The phases of each workload; the errors of all are computed together."""
        from windtunnel.model.energy import energy_j
        from windtunnel.model.jobs import job, kind_of
        from windtunnel.model.joint import MOST_ROWS, alone, joint
        from windtunnel.model.predict import predict

        rows = []
        for one in work:
            capacity = self._capacity(one.cluster)
            for phase in one.phases:
                kind = kind_of(one.workload, phase)
                assert kind is not None  # check_work
                rows.append((capacity, job(kind, one.parameters, one.cluster, capacity)))
        fit = self._fit
        found = predict(fit, rows)
        errors = joint(fit, rows) if len(rows) <= MOST_ROWS else alone(found, fit.freedom)
        records = [_record(one, fit.freedom, errors, place) for place, one in enumerate(found)]
        owners = [(one, phase) for one in work for phase in one.phases]
        made: dict[int, list[PhasePrediction]] = {id(one): [] for one in work}
        for (one, phase), (capacity, _), times, error in zip(
            owners, rows, found, records, strict=True
        ):
            joules = energy_j(one.cluster, times.elapsed_s, times.cpu_s, capacity)
            made[id(one)].append(
                PhasePrediction(phase, times.elapsed_s, times.cpu_s, joules, error)
            )
        return [made[id(one)] for one in work]

    def provenance(self) -> Mapping[str, Any]:
        """The version of the program, and the fit."""
        digest = hashlib.sha256(self.fit_text()).hexdigest()
        return {"windtunnel": __version__, "fit": self._fit.origin, "fit_sha256": digest}

    def fit_text(self) -> bytes:
        """The file of the fit."""
        return self.options.fit_text()

    @cached_property
    def _fit(self) -> Fit:
        from windtunnel.model.store import read_fit, shipped_fit

        return shipped_fit() if self.options.fit is None else read_fit(Path(self.options.fit))

    def _capacity(self, cluster: Cluster) -> Hardware:
        from windtunnel.model.hardware import hardware, on_this_machine

        described = self.options.hosts == "described"
        return hardware(cluster) if described else on_this_machine(cluster)


def _record(one: Prediction, freedom: float, errors: Joint, place: int) -> PredictedPhase:
    return PredictedPhase(
        low_s=one.low_s,
        high_s=one.high_s,
        bottleneck=one.bottleneck,
        next_bottleneck=one.next_bottleneck,
        resources_s=one.resources_s,
        inside_fitted_range=one.inside,
        freedom=freedom,
        loadings=[round(float(value), _DIGITS) for value in errors.loadings[place]],
        own=round(float(errors.own[place]), _DIGITS),
    )
