"""Values of settings that Hadoop cannot parse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.cluster.setting_values import refused, refused_settings


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
    ],
)
def test_numbers_and_sizes_of_another_form_are_refused_with_a_remedy(name, value):
    problem, remedy = refused(name, value, "3.5.0") or ("", "")
    assert "Hadoop refuses it" in problem
    assert remedy.startswith("write ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mapreduce.job.reduces", "0x10"),
        ("mapreduce.map.memory.mb", "-1"),
        ("mapreduce.job.reduces", " 4 "),
        ("mapreduce.job.reduces", "${site.reduces}"),
        ("mapreduce.job.reduces", ""),
        ("dfs.blocksize", "128m"),
        ("dfs.heartbeat.interval", "3s"),
        ("mapreduce.map.java.opts", "-Xmx1g"),
    ],
)
def test_what_hadoop_can_parse_or_replaces_is_not_refused(name, value):
    assert refused(name, value, "3.5.0") is None


@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_every_whole_number_can_be_parsed(number: int) -> None:
    assert not [*refused_settings({"mapreduce.job.reduces": number, "dfs.blocksize": number})]


def test_the_sentence_has_the_name_the_value_and_the_remedy():
    said = [*refused_settings({"mapreduce.job.reduces": "lots", "spark.x-mb": "y"}, "3.5.0")]
    assert said == [
        "settings.mapreduce.job.reduces: 'lots' is not a whole number without a unit: "
        "Hadoop refuses it; write a whole number, such as 1"
    ]
