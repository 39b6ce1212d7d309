"""Export: JSON for programs, CSV and Parquet for other tools."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from windtunnel.analysis.analyse import Analysis
from windtunnel.report.atomic import write_bytes
from windtunnel.report.sections import headline, sections
from windtunnel.results.metrics import described

REPORT_SCHEMA = "windtunnel.report/1"


def to_json(analysis: Analysis) -> dict[str, Any]:
    """The analysis as plain data for ``json.dumps``; None where a number is unknown.

    ``ci_low`` and ``ci_high`` of a cell are in its unit; those of an effect are relative
    (``ci_scale``), the absolute ones have names of their own. ``metrics`` describes each metric
    that occurs: unit, better direction (null: neither), label, meaning and source; the last two
    are empty for a metric that is not in the catalogue.
    """
    data = {
        "schema": REPORT_SCHEMA,
        "answer": headline(analysis),
        "study": analysis.study.model_dump(mode="json", by_alias=True),
        "metrics": described((row.metric, row.unit) for row in analysis.observations),
        **{section.id: section.data for section in sections(analysis)},
    }
    made: dict[str, Any] = finite(data)
    return made


def write_csv(analysis: Analysis, path: Path) -> None:
    """Write the long table (trial x phase x metric) as CSV; errors as :func:`write_bytes`."""
    buffer = io.BytesIO()
    pyarrow.csv.write_csv(long_table(analysis), buffer)
    write_bytes(path, buffer.getvalue())


def write_parquet(analysis: Analysis, path: Path) -> None:
    """Write the long table (trial x phase x metric) as Parquet; errors as :func:`write_bytes`."""
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(long_table(analysis), buffer, compression="zstd")
    write_bytes(path, buffer.getvalue())


def long_table(analysis: Analysis) -> pa.Table:
    """One row per trial, phase and metric, invalid and warm-up trials included.

    Columns: study, trial, order, round, workload, treatment, one ``factor_NAME`` per factor,
    phase, metric, unit, value, verdict, reason.
    """
    trials = {trial.id: trial for trial in analysis.trials}
    levels = {treatment.id: treatment.levels for treatment in analysis.study.treatments}
    rows = analysis.observations
    columns: dict[str, list[Any]] = {
        "study": [analysis.study.id] * len(rows),
        "trial": [row.trial for row in rows],
        "order": [trials[row.trial].order for row in rows],
        "round": [row.round for row in rows],
        "workload": [row.workload for row in rows],
        "treatment": [row.treatment for row in rows],
    }
    for factor in analysis.study.factors:
        known = {name: level.get(factor) for name, level in levels.items()}
        columns[f"factor_{factor}"] = [known.get(row.treatment) for row in rows]
    columns |= {
        "phase": [row.phase for row in rows],
        "metric": [row.metric for row in rows],
        "unit": [row.unit for row in rows],
        "value": [row.value for row in rows],
        "verdict": [trials[row.trial].verdict for row in rows],
        "reason": [trials[row.trial].reason for row in rows],
    }
    numbers = {"order": pa.int64(), "round": pa.int64(), "value": pa.float64()}
    return pa.table(
        {name: pa.array(data, numbers.get(name, pa.string())) for name, data in columns.items()}
    )


def finite(data: Any) -> Any:
    """``data`` with None in place of NaN and infinities, which JSON does not have."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return data
