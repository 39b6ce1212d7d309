"""The claims of a published study: ``claims.yaml``, fixed before anything was measured here."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import Field, model_validator

from windtunnel.cluster import Located, blame, load_text, validate
from windtunnel.cluster.schema_paths import suggest
from windtunnel.errors import UsageError
from windtunnel.published.mapping import Closed
from windtunnel.published.names import PREFIX
from windtunnel.published.sources import facts, published_name

CLAIMS = "claims.yaml"


class Measure(Closed):
    """The comparison that would confirm a claim, in the words of the published study."""

    workload: str
    phase: str
    metric: str
    treatment: str
    baseline: str


class Predict(Closed):
    """What the physics model predicts, if the study does not describe the workload itself."""

    workload: str
    phase: str
    parameters: dict[str, Any] = Field(default_factory=dict)


class Here(Closed):
    """How a claim is measured on this machine: a run, and two of its treatments by their levels.

    Levels that are not given are those of the baseline of the run's study.
    """

    run: str
    workload: str
    phase: str
    metric: str = "elapsed"
    treatment: dict[str, str]
    baseline: dict[str, str] = Field(default_factory=dict)


class At(Closed):
    """A treatment of a run by its levels; those that are not given are the baseline's."""

    run: str
    treatment: dict[str, str]


class Outcome(At):
    """What happened at a treatment with a fault.

    Its time is compared with that of ``baseline`` (levels, as of ``treatment``).
    """

    baseline: dict[str, str] = Field(default_factory=dict)


class Behaviours(Closed):
    """The answers of ``storage-checks`` for a level of storage, ``through`` one of its programs."""

    level: str
    through: str


class Cell(Closed):
    """What is measured about a feature of one system: exactly one kind of evidence.

    ``ratio`` is a time (or another metric) divided by that of a baseline, ``amount`` a mean,
    ``outcome`` what happened after a fault, ``behaviours`` the number of behaviours as on a local
    file system. ``cannot`` is the reason why nothing is measured. ``of`` names what is measured, if
    a system has several cells.
    """

    system: str
    of: str = ""
    ratio: Here | None = None
    amount: Here | None = None
    outcome: Outcome | None = None
    behaviours: Behaviours | None = None
    cannot: str = ""

    @model_validator(mode="after")
    def _one_kind(self) -> Cell:
        kinds = (self.ratio, self.amount, self.outcome, self.behaviours, self.cannot or None)
        if sum(kind is not None for kind in kinds) != 1:
            raise blame(
                "exactly one of 'ratio', 'amount', 'outcome', 'behaviours', 'cannot' is required",
                "system",
                remedy="say how this cell is measured here, or why it cannot be.",
            )
        return self

    @property
    def run(self) -> str | None:
        """The run that measures the cell; None if no run does."""
        found = self.ratio or self.amount or self.outcome
        return None if found is None else found.run


class Feature(Closed):
    """A row of a table of features: what is measured about each system."""

    name: str
    cells: tuple[Cell, ...]


class Claim(Closed):
    """One published claim. ``published`` is a ratio, null if it is not in this catalogue."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")
    topic: str
    says: str
    source: str
    measure: Measure | None = None
    predict: Predict | None = None
    published: float | None = Field(None, gt=0)
    tolerance: float = Field(0.15, gt=0, le=1)
    here: Here | None = None
    cannot: str = ""

    @model_validator(mode="after")
    def _one_way(self) -> Claim:
        if (self.here is None) == (not self.cannot):
            raise blame(
                "exactly one of 'here' and 'cannot' is required",
                "cannot" if self.cannot else "id",
                remedy="say how the claim is measured here, or why it cannot be.",
            )
        if self.predict is not None and self.measure is None:
            raise blame("'predict' requires 'measure'", "predict", remedy="add 'measure'.")
        return self


class Run(Closed):
    """A study of the catalogue that measures claims.

    ``minutes`` is the time of one round on two cores, measured or estimated.
    """

    minutes: float = Field(gt=0)
    treatments: int = Field(gt=0)
    needs: str


class Claims(Closed):
    """The claims of a study and the runs that measure them.

    ``features`` is the table of features of the study, with measurements instead of claims.
    ``storage_checks`` is the study of the catalogue whose storage is tested for it.
    """

    study: str
    runs: dict[str, Run] = Field(default_factory=dict)
    claims: tuple[Claim, ...]
    storage_checks: str | None = None
    features: tuple[Feature, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Claims:
        seen: set[str] = set()
        for place, claim in enumerate(self.claims):
            if claim.id in seen:
                raise blame(
                    f"the claim '{claim.id}' occurs twice",
                    "claims",
                    place,
                    "id",
                    remedy="give each claim its own id.",
                )
            seen.add(claim.id)
            if claim.here is not None and claim.here.run not in self.runs:
                raise blame(
                    f"there is no run '{claim.here.run}'",
                    "claims",
                    place,
                    "here",
                    "run",
                    remedy=f"the runs are: {', '.join(self.runs) or 'none'}.",
                )
        self._features_have_runs()
        return self

    def _features_have_runs(self) -> None:
        for place, feature in enumerate(self.features):
            for at, cell in enumerate(feature.cells):
                key = ("features", place, "cells", at)
                if cell.run is not None and cell.run not in self.runs:
                    raise blame(
                        f"there is no run '{cell.run}'",
                        *key,
                        remedy=f"the runs are: {', '.join(self.runs) or 'none'}.",
                    )
                if cell.behaviours is not None and self.storage_checks is None:
                    raise blame(
                        "'behaviours' requires 'storage_checks'",
                        *key,
                        remedy="add 'storage_checks' with the name of a study.",
                    )

    def claim(self, name: str) -> Claim:
        """The claim with this id.

        Raises
        ------
        UsageError
            If there is none.
        """
        for claim in self.claims:
            if claim.id == name:
                return claim
        raise UsageError(
            f"the study '{self.study}' has no claim '{name}'",
            remedy=f"{suggest(name, [claim.id for claim in self.claims], 'claim')}.",
        )


def claims_from(located: Located) -> Claims:
    """The claims of a file.

    Raises
    ------
    DescriptionError
        With file, line and key of the first error.
    """
    return validate(Claims, located)


@cache
def study_claims(study: str) -> Claims:
    """The claims of a study of the catalogue.

    Raises
    ------
    UsageError
        No published study of that name.
    """
    name = published_name(study)
    return claims_from(load_text(facts(name)[CLAIMS], f"{PREFIX}{name}/{CLAIMS}"))
