"""Fits as JSON files, and the fit that is shipped with the program."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from windtunnel import durable
from windtunnel.errors import ResultsError
from windtunnel.model.constants import CONSTANTS, INDEX
from windtunnel.model.correction import CORRECTION_NOISE, FEATURES, Correction
from windtunnel.model.fit import Fit

SCHEMA = "windtunnel.fit/1"
_AGAIN = "create it again with 'windtunnel fit RESULTS --out FILE'."


class StoredConstant(BaseModel):
    """One constant: its value, its unit, the bounds of 90 %, and how far the data determine it."""

    model_config = ConfigDict(extra="forbid")
    value: float
    unit: str
    low: float
    high: float
    determined: float


class StoredPoint(BaseModel):
    """One fitted point: its names, its logarithmic features, its residual and the noise of it."""

    model_config = ConfigDict(extra="forbid")
    study: str
    treatment: str
    workload: str
    phase: str
    kind: str
    features: list[float]
    residual: float
    noise: float = CORRECTION_NOISE


class StoredCorrection(BaseModel):
    """The covariance of the model's error; see ``fit.Correction``."""

    model_config = ConfigDict(extra="forbid")
    spread: float
    length: float
    slope: float


class StoredOffset(BaseModel):
    """Logarithm of the time of other software relative to MapReduce, and its deviation."""

    model_config = ConfigDict(extra="forbid")
    log: float
    deviation: float


class FitRecord(BaseModel):
    """The content of a fit file. ``error`` is the standard deviation of the logarithm."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    schema_: str = Field(default=SCHEMA, alias="schema")
    origin: str
    constants: dict[str, StoredConstant]
    covariance: list[list[float]]
    error: float
    freedom: float
    correction: StoredCorrection
    misfit: float
    centre: list[float]
    points: list[StoredPoint]
    offsets: dict[str, StoredOffset] = Field(default_factory=dict)


def record(fit: Fit) -> FitRecord:
    """The fit as a record."""
    spread = np.sqrt(np.diag(fit.covariance))
    known = fit.determined()
    return FitRecord(
        origin=fit.origin,
        constants={
            one.name: StoredConstant(
                value=float(np.exp(fit.log[place])),
                unit=one.unit,
                low=float(np.exp(fit.log[place] - 1.645 * spread[place])),
                high=float(np.exp(fit.log[place] + 1.645 * spread[place])),
                determined=round(known[one.name], 3),
            )
            for place, one in enumerate(CONSTANTS)
        },
        covariance=[[float(value) for value in row] for row in fit.covariance],
        error=fit.error,
        freedom=fit.freedom,
        correction=StoredCorrection(**asdict(fit.correction)),
        misfit=fit.misfit,
        centre=[float(value) for value in fit.centre],
        offsets={
            label: StoredOffset(log=value, deviation=deviation)
            for label, (value, deviation) in fit.offsets.items()
        },
        points=[
            StoredPoint(
                study=names[0],
                treatment=names[1],
                workload=names[2],
                phase=names[3],
                kind=kind,
                features=[float(value) for value in row],
                residual=float(gone),
                noise=float(noise),
            )
            for names, kind, row, gone, noise in zip(
                fit.names, fit.kinds, fit.features, fit.residuals, fit.noise, strict=True
            )
        ],
    )


def write_fit(fit: Fit, path: Path) -> None:
    """Write a fit; ResultsError if the file cannot be written.

    A file that exists has its old or its new content, also after a crash.
    """
    text = record(fit).model_dump_json(indent=1, by_alias=True) + "\n"
    with durable.storage_errors(
        f"{path} cannot be written", remedy="specify a file in a folder with write permission."
    ):
        if path.exists() and not path.is_file():  # such as /dev/stdout
            durable.write_flushed(path, text.encode())
        else:
            durable.write_text(path, text)


def read_fit(path: Path) -> Fit:
    """The fit of a file.

    Raises
    ------
    ResultsError
        If the file is missing, or is not a fit of this version.
    """
    try:
        return _fit(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultsError(
            f"{path} cannot be read: {error.strerror}", remedy="specify the file of a fit."
        ) from error
    except (ValueError, KeyError) as error:
        detail = error.errors()[0] if isinstance(error, ValidationError) else None
        why = f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" if detail else str(error)
        raise ResultsError(f"{path} is not a fit: {why}", remedy=_AGAIN) from error


@cache
def shipped_fit() -> Fit:
    """The fit to the published studies, which is part of the program."""
    folder = resources.files("windtunnel.catalogue").joinpath("physics")
    return _fit(folder.joinpath("fit.json").read_text(encoding="utf-8"))


def _fit(text: str) -> Fit:
    found = FitRecord.model_validate_json(text)
    if found.schema_ != SCHEMA:
        raise ValueError(f"its schema is '{found.schema_}', not '{SCHEMA}'")
    if set(found.constants) != set(INDEX):
        raise ValueError("its constants are those of another version")
    rows: Any = [point.features for point in found.points]
    return Fit(
        log=np.log([found.constants[one.name].value for one in CONSTANTS]),
        covariance=np.array(found.covariance),
        error=found.error,
        freedom=found.freedom,
        correction=Correction(**found.correction.model_dump()),
        misfit=found.misfit,
        centre=np.array(found.centre),
        kinds=tuple(point.kind for point in found.points),
        features=np.array(rows, dtype=float).reshape(-1, len(FEATURES)),
        residuals=np.array([point.residual for point in found.points]),
        noise=np.array([point.noise for point in found.points]),
        names=tuple((p.study, p.treatment, p.workload, p.phase) for p in found.points),
        offsets={label: (one.log, one.deviation) for label, one in found.offsets.items()},
        origin=found.origin,
    )
