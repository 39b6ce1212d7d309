"""The catalogue of metrics: name, unit, better direction, label, meaning and source of each.

The code that writes a metric registers its description once with :func:`register`: workloads
through ``About.metrics``, engines and probes at their definition. Report, export, comparison, the
user guide and the JSON Schema of trials read the descriptions. A name without a registration (in
a published study, or in a workload of another package) is also shown: :func:`describe` derives a
description from its name and unit.

A name with a part in braces is the pattern of several metrics. With ``choices`` these are known:
``{operation}_p99`` is registered as ``read_p99``, ``update_p99`` and so on. Without choices, the
part matches any text: ``disk_busy:{disk}``. ``{metric}`` matches the name of another metric, and
the metric has the unit and the meaning of that one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from windtunnel.errors import SetupError
from windtunnel.results.record import Metric, Trial

Direction = Literal["less", "more"]
Level = Literal["phase", "trial", "sample"]
"""Where a metric is stored: with a phase, with the trial as a whole, or as a time series."""

_PLACE = re.compile(r"\{(\w+)\}")
_OTHER = "metric"
ADDITIVE_UNITS = frozenset({"s", "bytes", "count", "J", "Wh", "kWh"})
"""Units of amounts: a metric in one of them can be added over phases, unless it is registered
otherwise."""
_LESS_BY_UNIT = frozenset({"s", "ms", "J", "Wh", "kWh", "J s", "J.s", "J*s"})


@dataclass(frozen=True)
class MetricInfo:
    """The description of a metric.

    ``better`` is None if a higher value is neither better nor worse, such as the bytes that a disk
    reads, or power without its duration. ``label`` is the name in tables and charts, by default
    the metric's name without underscores. ``source`` is the origin of the numbers. ``choices``
    are the possible texts of each part in braces.

    ``additive``: whether the sum over the phases of a trial is the value of the trial. A median, a
    mean, a maximum, a level (resident memory) and the size of data that several phases use are not
    additive. By default, amounts are additive (:data:`ADDITIVE_UNITS`).
    """

    name: str
    unit: str
    meaning: str
    source: str
    better: Direction | None = None
    label: str = ""
    level: Level = "phase"
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()
    additive: bool | None = None

    def __post_init__(self) -> None:
        if self.additive is None:
            object.__setattr__(self, "additive", self.unit in ADDITIVE_UNITS)
        if not self.label:
            object.__setattr__(self, "label", self.name.replace("_", " "))

    @property
    def places(self) -> tuple[str, ...]:
        """The parts in braces; none for a plain name."""
        return tuple(_PLACE.findall(self.name))

    def of(self, value: float) -> Metric:
        """A number of this metric, with its unit."""
        return Metric(value=value, unit=self.unit)

    def name_of(self, **texts: str) -> str:
        """Its name with the parts in braces filled in."""
        return self.name.format_map(texts)

    def reading(self, value: float, **texts: str) -> tuple[str, str, float]:
        """Name, unit and value, in the form of a sample source."""
        return (self.name_of(**texts) if texts else self.name), self.unit, value

    def filled(self, **texts: str) -> MetricInfo:
        """The description of the one metric with the parts in braces filled in."""
        name, label, meaning = (_fill(t, texts) for t in (self.name, self.label, self.meaning))
        return replace(self, name=name, label=label, meaning=meaning, choices=())

    def expanded(self) -> Iterator[MetricInfo]:
        """One description per combination of the choices; itself if there are none."""
        if not self.choices:
            yield self
            return
        places = [place for place, _ in self.choices]
        for texts in itertools.product(*(known for _, known in self.choices)):
            yield self.filled(**dict(zip(places, texts, strict=True)))

    @property
    def explained(self) -> str:
        """Its meaning, with the possible texts of each part in braces."""
        known = [f"{place}: {', '.join(texts)}" for place, texts in self.choices]
        return "; ".join([self.meaning, *known])

    def plain(self) -> dict[str, Any]:
        """All fields except the name, as plain data."""
        keys = ("unit", "better", "label", "meaning", "source")
        return {key: getattr(self, key) for key in keys}


def numbers(found: Mapping[MetricInfo, float | None]) -> dict[str, Metric]:
    """Numbers by the names of their metrics, as in records, without unknown numbers."""
    return {info.name: info.of(value) for info, value in found.items() if value is not None}


class Catalogue:
    """Descriptions by name."""

    def __init__(self) -> None:
        self._registered: dict[str, MetricInfo] = {}
        self._exact: dict[str, MetricInfo] = {}
        self._patterns: list[tuple[re.Pattern[str], MetricInfo]] = []
        self._loaders: list[Callable[[], object]] = []

    def complete_with(self, load: Callable[[], object]) -> None:
        """Call ``load`` once, before the first lookup of a name that is not registered.

        It imports modules that register metrics, mainly those of workloads.
        """
        self._loaders.append(load)

    def _complete(self) -> None:
        while self._loaders:
            self._loaders.pop()()

    def __iter__(self) -> Iterator[MetricInfo]:
        """The descriptions as registered: a name with parts in braces once."""
        self._complete()
        return iter(self._registered.values())

    def names(self, level: Level) -> list[MetricInfo]:
        """The descriptions of a level by full name, without names that match any text."""
        self._complete()
        return [info for info in self._exact.values() if info.level == level]

    def register(self, *infos: MetricInfo) -> None:
        """Add descriptions; a repeated registration changes nothing.

        Raises
        ------
        SetupError
            If a name is registered with another description, or a description is incomplete.
        """
        for info in infos:
            _refuse_incomplete(info)
            made = list(info.expanded())
            if all(self._known(one.name) == one for one in made):
                continue
            for one in made:
                known = self._known(one.name)
                if known is not None and known != one:
                    raise SetupError(
                        f"the metric '{one.name}' has two descriptions: '{known.meaning}' in "
                        f"{known.unit} ({known.source}), and '{one.meaning}' in {one.unit} "
                        f"({one.source})",
                        remedy="rename one of them, or use the same description.",
                    )
            self._add(info)

    def _known(self, name: str) -> MetricInfo | None:
        return self._exact.get(name) or self._registered.get(name)

    def _add(self, info: MetricInfo) -> None:
        self._registered[info.name] = info
        if info.places and not info.choices:
            self._patterns.append((_pattern(info.name), info))
            # The pattern with the longest fixed text is the most specific.
            self._patterns.sort(key=lambda entry: -len(_PLACE.sub("", entry[1].name)))
        else:
            self._exact.update((one.name, one) for one in info.expanded())

    def find(self, name: str) -> MetricInfo | None:
        """The description of a metric; None if it is not registered."""
        if name not in self._exact:
            self._complete()
        if name in self._exact:
            return self._exact[name]
        for pattern, info in self._patterns:
            match = pattern.fullmatch(name)
            if match is None:
                continue
            texts = match.groupdict()
            if _OTHER not in texts:
                return info.filled(**texts)
            other = self.find(texts[_OTHER])
            if other is not None:
                return _taken_over(info, other, texts)
        return None

    def describe(self, name: str, unit: str) -> MetricInfo:
        """The description of a metric in ``unit``; without one, derived from name and unit.

        A number in a unit other than the registered one belongs to another metric of that name.
        """
        known = self.find(name)
        if known is not None and known.unit == unit:
            return known
        return MetricInfo(name, unit, meaning="", source="", better=_better_by_unit(unit))


CATALOGUE = Catalogue()
"""All metrics of the modules that are imported, and of all workloads and their engines once
``windtunnel.workloads`` is imported."""


def register(*infos: MetricInfo) -> None:
    """Add metrics to the catalogue; see :meth:`Catalogue.register`."""
    CATALOGUE.register(*infos)


def describe(name: str, unit: str) -> MetricInfo:
    """A metric by name and unit; see :meth:`Catalogue.describe`."""
    return CATALOGUE.describe(name, unit)


def described(found: Iterable[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Plain descriptions by name, for pairs of name and unit; the first unit of a name counts."""
    made: dict[str, dict[str, Any]] = {}
    for name, unit in found:
        if name not in made:
            made[name] = describe(name, unit).plain()
    return made


def trial_schema() -> dict[str, Any]:
    """JSON Schema of trial records with the registered metrics; other metrics are allowed."""
    schema = Trial.model_json_schema(by_alias=True)
    holders: tuple[tuple[Level, dict[str, Any]], ...] = (
        ("trial", schema["properties"]["metrics"]),
        ("phase", schema["$defs"]["Phase"]["properties"]["metrics"]),
    )
    for level, holder in holders:
        holder["properties"] = {
            info.name: {
                "$ref": "#/$defs/Metric",
                "title": info.label,
                "description": f"{info.meaning} ({info.unit}; {info.source})",
            }
            for info in CATALOGUE.names(level)
        }
    return schema


def _better_by_unit(unit: str) -> Direction | None:
    """Lower is better for times and energy, higher for rates; neither for counts, bytes, watts."""
    if unit in _LESS_BY_UNIT:
        return "less"
    return "more" if unit.endswith("/s") else None


def _refuse_incomplete(info: MetricInfo) -> None:
    missing = [key for key in ("meaning", "source") if not getattr(info, key).strip()]
    if not info.unit and _OTHER not in info.places:
        missing.append("unit")
    if info.choices and {place for place, _ in info.choices} != set(info.places):
        missing.append("choices for each part in braces")
    if missing:
        raise SetupError(
            f"the description of the metric '{info.name}' lacks {' and '.join(missing)}",
            remedy="complete its MetricInfo.",
        )


def _fill(text: str, texts: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda match: texts.get(match[1], match[0]), text)


def _pattern(name: str) -> re.Pattern[str]:
    """The pattern of full names: a part is any text that does not begin with a space."""
    parts = _PLACE.split(name)  # fixed text, place, fixed text ...
    made = (rf"(?P<{p}>\S.*)" if i % 2 else re.escape(p) for i, p in enumerate(parts))
    return re.compile("".join(made))


def _taken_over(info: MetricInfo, other: MetricInfo, texts: Mapping[str, str]) -> MetricInfo:
    """A metric of a metric, with unit, direction, source and additivity of the other one."""
    label = _fill(info.label, {**texts, _OTHER: other.label})
    made = info.filled(**{**texts, _OTHER: other.meaning})
    name = info.name_of(**texts)
    return replace(
        made,
        name=name,
        label=label,
        unit=other.unit,
        better=other.better,
        source=other.source,
        additive=other.additive,
    )
