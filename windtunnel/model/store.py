"""Fits as JSON files, and the fit that is shipped with the program."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from windtunnel import durable
from windtunnel.cluster.schema_paths import dotted
from windtunnel.cluster.validation_messages import Complaint, complaints
from windtunnel.errors import ResultsError
from windtunnel.model.constants import CONSTANTS, INDEX
from windtunnel.model.correction import CORRECTION_NOISE, FEATURES, Correction
from windtunnel.model.fit import Fit

SCHEMA = "windtunnel.fit/1"
_ROUNDING = 1e-9  # of the largest number of a matrix
_AGAIN = "create it again with 'windtunnel fit RESULTS --out FILE'."


class StoredConstant(BaseModel):
    """One constant: its value, its unit, the bounds of 90 %, and how far the data determine it."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    value: float = Field(gt=0)
    unit: str
    low: float
    high: float
    determined: float


class StoredPoint(BaseModel):
    """One fitted point: its names, its logarithmic features, its residual and the noise of it."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    study: str
    treatment: str
    workload: str
    phase: str
    kind: str
    features: list[float]
    residual: float
    noise: float = Field(CORRECTION_NOISE, gt=0)


class StoredCorrection(BaseModel):
    """The covariance of the model's error; see ``fit.Correction``."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    spread: float = Field(ge=0)
    length: float = Field(gt=0)
    slope: float = Field(ge=0)


class StoredOffset(BaseModel):
    """Logarithm of the time of other software relative to MapReduce, and its deviation."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    log: float
    deviation: float = Field(ge=0)


class FitRecord(BaseModel):
    """The content of a fit file. ``error`` is the standard deviation of the logarithm."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)
    schema_: str = Field(default=SCHEMA, alias="schema")
    origin: str
    constants: dict[str, StoredConstant]
    covariance: list[list[float]]
    error: float = Field(ge=0)
    freedom: float = Field(gt=0)
    correction: StoredCorrection
    misfit: float = Field(ge=0)
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
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path} is not a fit: {error}", remedy=_AGAIN) from error


@cache
def shipped_fit() -> Fit:
    """The fit to the published studies, which is part of the program."""
    folder = resources.files("windtunnel.catalogue").joinpath("physics")
    return _fit(folder.joinpath("fit.json").read_text(encoding="utf-8"))


def _fit(text: str) -> Fit:
    """The fit of a text; ValueError states what is wrong."""
    found = _record(json.loads(text))
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


def _record(data: Any) -> FitRecord:
    """Parsed JSON as a record whose numbers fit together; ValueError states what is wrong."""
    if not isinstance(data, dict):
        raise ValueError("the top level must be a mapping")
    try:
        found = FitRecord.model_validate(data)
    except ValidationError as error:
        raise ValueError(_reason(complaints(FitRecord, data, error)[0])) from None
    if found.schema_ != SCHEMA:
        raise ValueError(f"its schema is '{found.schema_}', not '{SCHEMA}'")
    if set(found.constants) != set(INDEX):
        raise ValueError("its constants are those of another version")
    problem = _covariance_problem(found.covariance)
    if problem is not None:
        raise ValueError(f"covariance: {problem}")
    _check_length("centre", found.centre)
    for place, point in enumerate(found.points):
        _check_length(f"points.{place}.features", point.features)
    return found


def _reason(complaint: Complaint) -> str:
    """The key and the message; a message that names the key follows the key above it."""
    *above, last = complaint.loc or ("",)
    loc = above if f"'{last}'" in complaint.message else complaint.loc
    return ": ".join(filter(None, (dotted(loc), complaint.message)))


def _check_length(name: str, values: list[float]) -> None:
    if len(values) != len(FEATURES):
        raise ValueError(f"{name}: must have {len(FEATURES)} numbers, not {len(values)}")


def _covariance_problem(rows: list[list[float]]) -> str | None:
    """Why rows are not the covariance matrix of the constants; None if they are."""
    size = len(CONSTANTS)
    if len(rows) != size or any(len(row) != size for row in rows):
        return f"must have {size} rows of {size} numbers"
    matrix = np.array(rows)
    largest = float(np.abs(matrix).max())
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=_ROUNDING * largest):
        return "must be symmetric"
    if matrix.diagonal().min() < 0 or np.linalg.eigvalsh(matrix).min() < -_ROUNDING * largest:
        return "a variance is negative"
    return None
