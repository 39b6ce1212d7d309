"""Values of settings that Hadoop cannot parse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.cluster.setting_values import (
    INCREMENT,
    LEAST_MB,
    OLD_INCREMENT_MB,
    SCHEDULER,
    counts_vcores,
    granted_mib,
    heap_ratio,
    refused,
    refused_settings,
    whole,
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mapreduce.job.reduces", "lots"),
        ("mapred.reduce.tasks", "4k"),  # its old name
        ("mapreduce.map.memory.mb", "1g"),
        ("yarn.nodemanager.resource.memory-mb", "8192.5"),
        ("yarn.nodemanager.resource.cpu-vcores", "all"),
        ("dfs.namenode.handler.count", "ten"),
        ("dfs.blocksize", "128mb"),
        ("dfs.blocksize", "1.5g"),
        ("mapreduce.job.heap.memory-mb.ratio", "80 %"),
        ("mapreduce.job.heap.memory-mb.ratio", "nan"),
    ],
)
def test_numbers_and_sizes_of_another_form_are_refused_with_a_remedy(name, value):
    problem, remedy = refused(name, value, "3.5.0") or ("", "")
    assert "Hadoop refuses it" in problem
    assert remedy.startswith("write ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mapreduce.task.io.sort.mb", "0"),
        ("mapreduce.task.io.sort.mb", "2048"),
        ("mapreduce.task.io.sort.mb", "-1"),
        ("io.sort.mb", "99999"),  # its old name
        ("mapreduce.map.sort.spill.percent", "0"),
        ("mapreduce.map.sort.spill.percent", "80"),
        ("mapreduce.job.reduce.slowstart.completedmaps", "5"),
        ("mapreduce.job.reduce.slowstart.completedmaps", "1.01f"),
    ],
)
def test_values_with_which_every_job_fails_are_refused_with_a_remedy(name, value):
    problem, remedy = refused(name, value, "3.5.0") or ("", "")
    assert "fail" in problem or "never start" in problem
    assert remedy.startswith("write ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mapreduce.task.io.sort.mb", "1"),
        ("mapreduce.task.io.sort.mb", "2047"),
        ("mapreduce.map.sort.spill.percent", "1.0"),
        ("mapreduce.job.reduce.slowstart.completedmaps", "0"),
        ("mapreduce.job.reduce.slowstart.completedmaps", "1"),
        ("mapreduce.task.io.sort.factor", "1"),  # a task with one spill does not merge
        ("mapreduce.job.reduces", "0x10"),
        ("mapreduce.map.memory.mb", "-1"),
        ("mapreduce.job.reduces", " 4 "),
        ("mapreduce.job.reduces", "${site.reduces}"),
        ("mapreduce.job.reduces", ""),
        ("dfs.blocksize", "128m"),
        ("dfs.heartbeat.interval", "3s"),
        ("mapreduce.map.java.opts", "-Xmx1g"),
        ("mapreduce.map.java.opts", "-Da='b c' -Xmx1g"),
        ("yarn.app.mapreduce.am.command-opts", ""),
        ("mapreduce.job.heap.memory-mb.ratio", "0.75f"),
        ("mapreduce.job.heap.memory-mb.ratio", "8e-1"),
    ],
)
def test_what_hadoop_can_parse_or_replaces_is_not_refused(name, value):
    assert refused(name, value, "3.5.0") is None


@pytest.mark.parametrize(
    "name",
    [
        "mapred.child.java.opts",
        "mapreduce.map.java.opts",
        "mapreduce.admin.reduce.child.java.opts",
        "yarn.app.mapreduce.am.command-opts",
        "yarn.app.mapreduce.am.admin-command-opts",
        "spark.driver.extraJavaOptions",
        "spark.yarn.am.extraJavaOptions",
    ],
)
@pytest.mark.parametrize("value", ["-Da='b", '-Da="${site.b}', "-Da=b\\"])
def test_options_with_an_open_quotation_are_refused(name, value):
    (said,) = refused_settings({name: value}, "3.5.0")
    assert said.startswith(f"settings.{name}: '{value}' cannot be split into options: no ")
    assert said.endswith("; close each quotation mark")


def test_a_heap_of_nothing_is_refused():
    problem, remedy = refused("mapreduce.job.heap.memory-mb.ratio", "0.0") or ("", "")
    assert problem == "gives tasks no heap" and remedy == "write a fraction, such as 0.8"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("16", 16),
        (" +4 ", 4),
        ("-1", -1),
        ("0x10", 16),
        ("-0XfF", -255),
        ("1g", None),
        ("${site.reduces}", None),
        ("", None),
        (None, None),
    ],
)
def test_whole_numbers_are_those_of_hadoop(text, number):
    assert whole(text) == number


@pytest.mark.parametrize(
    ("text", "ratio"),
    [("0.5", 0.5), ("1", 1.0), (".5f", 0.5), ("1.5", 0.8), ("-1", 0.8), ("0", 0.8), (None, 0.8)],
)
def test_the_ratio_of_the_heap_is_that_of_hadoop(text, ratio):
    assert heap_ratio(text) == ratio


@pytest.mark.parametrize(
    ("scheduler", "calculator", "counted"),
    [
        ("", "", False),
        ("", "x.DominantResourceCalculator", True),
        ("x.CapacityScheduler", "x.DefaultResourceCalculator", False),
        ("x.FairScheduler", "", True),
        ("x.FifoScheduler", "x.DominantResourceCalculator", False),
    ],
)
def test_yarn_counts_vcores_by_scheduler_and_calculator(scheduler, calculator, counted):
    assert counts_vcores(scheduler, calculator) is counted


@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_every_whole_number_can_be_parsed(number: int) -> None:
    assert not [*refused_settings({"mapreduce.job.reduces": number, "dfs.blocksize": number})]


def test_the_sentence_has_the_name_the_value_and_the_remedy():
    said = [*refused_settings({"mapreduce.job.reduces": "lots", "spark.x-mb": "y"}, "3.5.0")]
    assert said == [
        "settings.mapreduce.job.reduces: 'lots' is not a whole number without a unit: "
        "Hadoop refuses it; write a whole number, such as 1"
    ]


FAIR = {SCHEDULER: "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"}


@pytest.mark.parametrize(
    ("settings", "granted"),
    [
        ({}, 2048),  # YARN's default minimum is 1024 MiB
        ({LEAST_MB: "-1"}, 2048),
        ({LEAST_MB: "512"}, 1536),
        ({LEAST_MB: "0x200"}, 1536),
        ({LEAST_MB: "1000"}, 2000),
        ({LEAST_MB: "4096"}, 4096),
        ({LEAST_MB: "0"}, 1500),
        ({LEAST_MB: "512", **FAIR}, 2048),  # its default increment is 1024 MiB
        ({LEAST_MB: "512", OLD_INCREMENT_MB: "256", **FAIR}, 1536),
        ({LEAST_MB: "1600", OLD_INCREMENT_MB: "500", **FAIR}, 2000),
        ({OLD_INCREMENT_MB: "256", INCREMENT: "1Gi", **FAIR}, 2048),
        ({OLD_INCREMENT_MB: "100"}, 2048),  # of the FairScheduler only
    ],
)
def test_yarn_rounds_the_memory_of_a_container_up(settings: dict[str, str], granted: float) -> None:
    assert granted_mib(1500, settings.get) == granted
