"""The meaning of the columns of a spreadsheet: the map file of ``windtunnel import``.

The same type of file (``study.yaml``) describes the published studies of the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from windtunnel.cluster import Duration, Located, blame, validate
from windtunnel.cluster.quantity import Fraction
from windtunnel.errors import UsageError
from windtunnel.published.table import Row
from windtunnel.results.power import Stamp

ROLES = ("workload", "phase", "round", "treatment", "factor", "start", "finish", "metric")


class Closed(BaseModel):
    """Base class: unknown keys are errors, so that a misspelt key is found."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _column(value: object) -> object:
    """Convert a plain text into the name of a column."""
    return {"column": value} if isinstance(value, str) else value


def _alone(value: object) -> object:
    """Convert one path into a list of paths."""
    return (value,) if isinstance(value, str) else value


def scalar(text: str) -> int | float | str:
    """A cell as a whole number, a decimal number, or a text."""
    for kind in (int, float):
        try:
            found = kind(text)
        except ValueError:
            continue
        return found if math.isfinite(found) else text
    return text


class _Cell(Closed):
    """The source of a word: one column, several joined by ``/``, or a fixed ``text``.

    ``values`` maps the texts of the cells to words.
    """

    column: str | None = None
    columns: tuple[str, ...] = ()
    text: str | None = None
    values: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_place(self) -> _Cell:
        if sum((self.column is not None, bool(self.columns), self.text is not None)) != 1:
            raise ValueError("exactly one of 'column', 'columns' and 'text' is required")
        return self

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return self.columns or ((self.column,) if self.column is not None else ())

    def of(self, row: Row) -> str:
        """The word in ``row``; empty if all cells are empty."""
        if self.text is not None:
            return self.text
        cells = [row[name] for name in self.used]
        text = "/".join(cells) if any(cells) else ""
        return self.values.get(text, text)


Cell = Annotated[_Cell, BeforeValidator(_column)]


class _MetricCell(Closed):
    """A number: its column and, unless the cells contain it ("90 s"), its unit.

    ``unit`` is a text, or the column with the unit (``values`` maps its texts to units).
    """

    column: str
    unit: str | Cell | None = None

    def unit_of(self, row: Row) -> str | None:
        """The unit of the number in ``row``."""
        return self.unit.of(row) if isinstance(self.unit, _Cell) else self.unit


MetricCell = Annotated[_MetricCell, BeforeValidator(_column)]


class Factor(Closed):
    """A factor: the column with its levels, the values that each level sets, and the baseline.

    ``levels`` maps a level to paths into the cluster description or ``workloads.NAME.`` and
    their values. With ``path``, the cell itself is the value of one path, or of several; ``unit``
    is that of a number without one ("100" in GB).
    """

    column: str | None = None
    levels: dict[str, dict[str, Any]] = Field(default_factory=dict)
    path: Annotated[tuple[str, ...], BeforeValidator(_alone)] = ()
    unit: str | None = None
    baseline: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Factor:
        if self.levels and self.path:
            raise blame("'levels' and 'path' exclude each other", "path")
        if self.unit is not None and not self.path:
            raise blame("a unit requires the path of the value", "unit")
        return self

    def values_of(self, level: str) -> dict[str, Any]:
        """Path -> value of a level."""
        if not self.path:
            return self.levels.get(level, {})
        value: Any = scalar(level)
        if self.unit is not None and not isinstance(value, str):
            value = f"{level} {self.unit}"
        return dict.fromkeys(self.path, value)


class PowerSeries(Closed):
    """A file of power samples: the columns of the time, the watts and the metered group.

    ``interval`` is the time between samples; ``stamp`` states whether the watts are those of the
    instant or the mean of the interval that ends, or starts, at it. ``hosts`` is the number of
    metered hosts.
    """

    file: str
    time: str
    watts: MetricCell
    interval: Duration
    stamp: Stamp = "instant"
    group: str
    source: str
    hosts: Annotated[int, Field(strict=True, ge=1)] | None = None

    @model_validator(mode="after")
    def _some_interval(self) -> PowerSeries:
        if self.interval <= 0:
            raise blame(
                "the time between samples must be more than zero",
                "interval",
                remedy="write the interval of the meter, such as 'interval: 180 s'",
            )
        return self


class Conduct(Closed):
    """The rules of execution that the study states."""

    variation_limit: Fraction = 0.20
    warmup: int = 0
    cache: str = "unknown"
    retest: str = "unknown"
    order: str = "unknown"


class Map(Closed):
    """A map file. Only ``metrics`` is required.

    ``tables`` are further CSV files next to the map (summaries, prices, settings, statements of
    the text), which the review compares with the runs.
    """

    name: str | None = None
    question: str = ""
    published: date | None = None
    utc_offset_h: Annotated[float, Field(ge=-14, le=14)] = 0.0
    cluster: str | None = None
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    protocol: Conduct = Conduct()
    runs: str | None = None
    tables: tuple[str, ...] = ()
    workload: Cell = _Cell(text="run")
    workloads: dict[str, dict[str, Any]] = Field(default_factory=dict)
    phase: Cell | None = None
    round: Cell | None = None
    treatment: Cell | None = None
    treatments: dict[str, dict[str, str]] = Field(default_factory=dict)
    factors: dict[str, Factor] = Field(default_factory=dict)
    metrics: dict[str, MetricCell] = Field(default_factory=dict)
    start: str | None = None
    finish: str | None = None
    power: PowerSeries | None = None
    withheld: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Map:
        if self.runs is None and not self.metrics and not self.treatments:
            raise blame(
                "there is no metric",
                "metrics",
                remedy="add lines such as 'metrics: {elapsed: {column: seconds, unit: s}}'",
            )
        for treatment, levels in self.treatments.items():
            for name, level in levels.items():
                if name not in self.factors:
                    raise blame(f"there is no factor '{name}'", "treatments", treatment, name)
                known = self.factors[name].levels
                if known and level not in known:
                    raise blame(
                        f"the factor '{name}' has no level '{level}'",
                        "treatments",
                        treatment,
                        name,
                        remedy=f"its levels are: {', '.join(known)}",
                    )
        for name, factor in self.factors.items():
            if factor.baseline and factor.levels and factor.baseline not in factor.levels:
                raise blame(f"'{factor.baseline}' is not a level", "factors", name, "baseline")
            if factor.column is None and not self.treatments:
                raise blame("a factor requires the column of its levels", "factors", name, "column")
            if factor.column is None and self.metrics and self.treatment is None:
                raise blame(
                    "the factor has no column, and the map does not name the column of treatments",
                    "factors",
                    name,
                    remedy="add 'column: COLUMN' to the factor, or 'treatment: COLUMN' to the map",
                )
        return self

    def label_columns(self) -> list[str]:
        """The columns that name what was measured: workload, phase, treatment and factors."""
        cells = [cell for cell in (self.workload, self.phase, self.treatment) if cell]
        names = [name for cell in cells for name in cell.used]
        return names + [factor.column for factor in self.factors.values() if factor.column]

    def used_columns(self) -> list[str]:
        """Every column of the table that the map reads."""
        names = [*self.label_columns(), *(self.round.used if self.round else ())]
        for number in self.metrics.values():
            names.append(number.column)
            if isinstance(number.unit, _Cell):
                names += number.unit.used
        return list(dict.fromkeys([*names, *(c for c in (self.start, self.finish) if c)]))


def map_from(located: Located) -> Map:
    """The validated map of a YAML file; DescriptionError with file, line and key."""
    return validate(Map, located)


def map_from_roles(assignments: Sequence[str]) -> Map:
    """The map of ``COLUMN=ROLE`` options: ``config=factor``, ``seconds=metric:elapsed:s``.

    Raises
    ------
    UsageError
        An unknown role, or two columns with the same role.
    """
    data: dict[str, Any] = {"factors": {}, "metrics": {}}
    seen: dict[str, str] = {}  # a role with the name of its factor or metric -> its column
    for text in assignments:
        column, equals, role = text.rpartition("=")
        kind, _, rest = role.partition(":")
        if not equals or not column or kind not in ROLES:
            raise UsageError(
                f"--map {text}: not COLUMN=ROLE",
                remedy=f"roles are {', '.join(ROLES)}; or specify a map file (MAP.yaml).",
            )
        name, _, unit = rest.partition(":") if kind == "metric" else (rest, "", "")
        full = f"{kind}:{name or column}" if kind in ("factor", "metric") else kind
        if full in seen:
            raise UsageError(
                f"--map {text}: the column '{seen[full]}' already has this role",
                remedy=f"give {full} one column; or specify a map file (MAP.yaml).",
            )
        seen[full] = column
        if kind == "factor":
            data["factors"][name or column] = {"column": column}
        elif kind == "metric":
            data["metrics"][name or column] = {"column": column, "unit": unit or None}
        else:
            data[kind] = column
    return validate(Map, Located(data, "--map"))


def levels_of(mapped: Map, row: Row) -> Mapping[str, str]:
    """The levels of a row's treatment.

    Raises
    ------
    DescriptionError
        A treatment or a level that the map does not contain.
    """
    if mapped.treatment is not None:
        name = mapped.treatment.of(row)
        if not mapped.treatments:
            return {"treatment": name}
        if name not in mapped.treatments:
            raise row.error(
                f"the map lists no treatment '{name}'",
                mapped.treatment.used[0] if mapped.treatment.used else None,
                f"its treatments are: {', '.join(mapped.treatments)}.",
            )
        return mapped.treatments[name]
    found = {}
    for name, factor in mapped.factors.items():
        level = row[factor.column or name]
        if not level:
            raise row.error(f"the level of '{name}' is empty", factor.column, "fill the cell.")
        if factor.levels and level not in factor.levels:
            raise row.error(
                f"the factor '{name}' has no level '{level}' in the map",
                factor.column,
                f"its levels are: {', '.join(factor.levels)}.",
            )
        found[name] = level
    return found
