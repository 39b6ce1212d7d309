"""The catalogue of metrics: names, families, unknown names, clashes, the schema of trials."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import pytest

import windtunnel.workloads  # noqa: F401  (completes the catalogue)
from windtunnel.errors import SetupError
from windtunnel.results.metrics import CATALOGUE, Catalogue, MetricInfo, described, numbers

TIME = MetricInfo("cpu_time", "s", "CPU time of tasks", "counters", better="less", label="CPU time")
FAMILY = MetricInfo(
    "{operation}_{statistic}",
    "ms",
    "latency of {operation}: {statistic}",
    "YCSB",
    better="less",
    choices=(("operation", ("read", "update")), ("statistic", ("p50", "p99.9"))),
)
DISK = MetricInfo("disk_busy:{disk}", "ratio", "how busy {disk} was", "kernel", level="sample")
PART = MetricInfo("{part}: elapsed", "s", "time of {part}", "phases", better="less")
OWN = MetricInfo("{part}: {metric}", "", "{metric}; of {part}", "as alone")


def catalogue(*infos: MetricInfo) -> Catalogue:
    made = Catalogue()
    made.register(*infos)
    return made


def test_a_family_is_registered_by_its_names() -> None:
    made = catalogue(FAMILY)

    found = made.find("read_p99.9")

    assert found is not None
    assert (found.meaning, found.label) == ("latency of read: p99.9", "read p99.9")
    assert {one.name for one in made.names("phase")} == {
        "read_p50",
        "read_p99.9",
        "update_p50",
        "update_p99.9",
    }
    assert made.find("scan_p50") is None
    assert made.find("{operation}_{statistic}") is None
    assert [one.name for one in made] == [FAMILY.name], "documented once"
    assert FAMILY.explained.endswith("; operation: read, update; statistic: p50, p99.9")


def test_any_text_may_stand_for_an_open_part() -> None:
    found = catalogue(DISK).find("disk_busy:nvme0n1")

    assert found is not None
    assert (found.name, found.meaning) == ("disk_busy:nvme0n1", "how busy nvme0n1 was")
    assert catalogue(DISK).find("disk_busy:") is None


def test_a_metric_of_a_metric_takes_over_its_unit_and_direction() -> None:
    made = catalogue(TIME, FAMILY, DISK, PART, OWN)

    found = made.find("sort: cpu_time")

    assert found is not None
    assert (found.unit, found.better, found.source) == ("s", "less", "counters")
    assert (found.label, found.meaning) == ("sort: CPU time", "CPU time of tasks; of sort")
    named = made.find("kv: read_p50")
    assert named is not None
    assert named.unit == "ms"
    assert made.find("sort: made_up") is None


def test_amounts_are_additive_by_their_unit_and_others_by_their_description() -> None:
    median = MetricInfo("task_start", "s", "median start", "logs", additive=False)
    made = catalogue(TIME, median, OWN)

    for name, additive in (("cpu_time", True), ("task_start", False)):
        assert made.describe(name, "s").additive is additive
        assert made.describe(f"sort: {name}", "s").additive is additive
    assert made.describe("of_a_plugin", "J").additive is True
    assert made.describe("of_a_plugin", "J/s").additive is False


def test_no_median_mean_or_level_of_a_phase_is_additive() -> None:
    """A new metric of this kind needs ``additive=False``."""
    words = re.compile(r"\b(median|mean|largest|longest|smallest|resident|percentile|different)\b")
    added = {info.name for info in CATALOGUE if info.level == "phase" and info.additive}

    assert "cpu_time" in added
    assert {info.name for info in CATALOGUE if words.search(info.meaning)} & added == set()
    assert not added & {"stored", "bytes_on_disk", "memory_per_file", "start_to_first_result"}


def test_the_more_specific_name_counts() -> None:
    elapsed = MetricInfo("elapsed", "s", "another meaning", "elsewhere")
    found = catalogue(OWN, elapsed, PART).find("sort: elapsed")

    assert found is not None
    assert found.meaning == "time of sort"


def test_an_unknown_name_is_described_by_name_and_unit() -> None:
    made = catalogue(TIME)

    assert made.describe("of_a_plugin", "furlongs") == MetricInfo(
        "of_a_plugin", "furlongs", "", "", better=None, label="of a plugin"
    )
    assert made.describe("rate_of_it", "records/s").better == "more"
    assert made.describe("its_delay", "ms").better == "less"


def test_a_number_in_another_unit_is_another_metric() -> None:
    found = catalogue(TIME).describe("cpu_time", "%")

    assert (found.unit, found.meaning, found.better) == ("%", "", None)


def test_the_same_description_again_changes_nothing() -> None:
    made = catalogue(TIME, FAMILY, DISK)
    made.register(TIME, FAMILY, DISK)
    made.register(*FAMILY.expanded())

    assert len(list(made)) == 3


@pytest.mark.parametrize(
    "other",
    [
        MetricInfo("cpu_time", "s", "time of another clock", "counters", better="less"),
        MetricInfo("cpu_time", "ms", TIME.meaning, "counters", better="less", label="CPU time"),
        MetricInfo("read_p50", "ms", "median", "another client"),
        MetricInfo("disk_busy:{disk}", "ratio", "another meaning", "kernel", level="sample"),
    ],
    ids=["meaning", "unit", "one of a family", "pattern"],
)
def test_a_name_with_two_descriptions_is_an_error(other: MetricInfo) -> None:
    made = catalogue(TIME, FAMILY, DISK)

    with pytest.raises(SetupError, match="has two descriptions") as error:
        made.register(other)

    assert other.name in error.value.message
    assert made.find("cpu_time") == TIME


@pytest.mark.parametrize(
    ("info", "lacks"),
    [
        (MetricInfo("a", "s", "", "me"), "lacks meaning"),
        (MetricInfo("a", "s", "words", " "), "lacks source"),
        (MetricInfo("a", "", "words", "me"), "lacks unit"),
        (
            MetricInfo("{a}_{b}", "s", "words", "me", choices=(("a", ("x",)),)),
            "lacks choices for each part",
        ),
    ],
)
def test_an_incomplete_description_is_refused(info: MetricInfo, lacks: str) -> None:
    with pytest.raises(SetupError, match=lacks):
        catalogue(info)


def test_numbers_carry_the_unit_of_their_metric_and_unknown_ones_are_left_out() -> None:
    made = numbers({TIME: 3.5, DISK: None})

    assert {name: (m.value, m.unit) for name, m in made.items()} == {"cpu_time": (3.5, "s")}
    assert FAMILY.name_of(operation="read", statistic="p50") == "read_p50"
    assert DISK.reading(0.5, disk="sda") == ("disk_busy:sda", "ratio", 0.5)


def test_plain_descriptions_have_every_name() -> None:
    made = described([("cpu_time", "s"), ("odd", "%"), ("odd", "ratio")])

    assert list(made) == ["cpu_time", "odd"]
    assert made["odd"] == {"unit": "%", "better": None, "label": "odd", "meaning": "", "source": ""}


def test_the_schema_of_trials_names_the_metrics_and_allows_others() -> None:
    from windtunnel.results.metrics import trial_schema

    schema = trial_schema()
    phase = schema["$defs"]["Phase"]["properties"]["metrics"]["properties"]

    assert phase["read_p99"]["title"] == "read p99"
    assert "bytes of all files" in phase["aggregate_throughput"]["description"]
    assert "trial_wall" in schema["properties"]["metrics"]["properties"]
    jsonschema.Draft202012Validator.check_schema(schema)
    metrics: dict[str, Any] = {"trial_wall": {"value": 1, "unit": "s"}}
    check = jsonschema.Draft202012Validator(
        {**schema["properties"]["metrics"], "$defs": schema["$defs"]}
    )
    assert check.is_valid({**metrics, "of_a_plugin": {"value": 1, "unit": "furlongs"}})
    assert not check.is_valid({"trial_wall": {"value": 1}})
