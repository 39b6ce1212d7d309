"""Files that are wrong: one DescriptionError each, with file, line, key, message and remedy."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.cluster import Cluster, load_cluster, load_text, load_yaml, validate
from windtunnel.errors import DescriptionError

GOOD = """\
name: x
hosts:
  master:
    count: 1
    roles: [namenode, resourcemanager]
  worker:
    count: 3
    roles: [datanode, nodemanager]
"""


def error_of(text: str) -> DescriptionError:
    with pytest.raises(DescriptionError) as caught:
        validate(Cluster, load_text(text, "c.yaml"))
    assert "Traceback" not in caught.value.render()
    return caught.value


def test_lines_are_those_of_the_file():
    located = load_text(GOOD, "c.yaml")
    assert located.line_of(("hosts", "worker", "count")) == 7
    assert located.line_of(("hosts", "worker", "roles", 1)) == 8
    assert located.line_of(("hosts", "worker", "memory")) == 6
    assert validate(Cluster, located).hosts["worker"].count == 3


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: [1", 1, "not YAML"),
        ("a: 1\n\tb: 2", 2, "not YAML"),
        ("a: 1\nb: 'x", 2, "not YAML"),
        ("a: 1\n---\nb: 2", 2, "another document"),
        ("a: 1\nb: *q", 2, "undefined alias"),
        ("a: 1\nb: 1\na: 2", 3, "the first one is on line 1"),
        ("a: &x [*x]", 1, "contains it"),
        ("a: !!python/object:os.system x", 1, "tag"),
        ("a: !mine x", 1, "tag"),
        ("x: 1\n<<: {a: 1}", 2, "plain word"),
        ("- 1\n- 2", 1, "must be a mapping"),
        ("just text", 1, "must be a mapping"),
        ("", None, "empty"),
        ("# only a comment\n", None, "empty"),
        ("a: \x00", None, "not YAML"),
    ],
)
def test_what_is_not_a_description_is_one_error_with_its_line(text, line, message):
    with pytest.raises(DescriptionError) as caught:
        load_text(text, "c.yaml")
    error = caught.value
    assert (error.file, error.line) == ("c.yaml", line)
    assert message in error.message
    assert error.remedy


def test_a_file_nested_too_deeply_is_an_error_and_no_crash():
    with pytest.raises(DescriptionError, match="too deeply"):
        load_text("\n".join(" " * depth + "a:" for depth in range(1200)))


def test_aliases_that_multiply_are_stopped():
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(DescriptionError, match="more than"):
        load_text("\n".join(rows))


def test_words_and_dates_stay_text_and_numbers_become_numbers():
    data = load_text("a: on\nb: 2014-01-01\nc: 8\nd: 0.5\ne: true\nf:\n3: x").data
    assert data == {"a": "on", "b": "2014-01-01", "c": 8, "d": 0.5, "e": True, "f": None, "3": "x"}


@given(st.text(max_size=60))
def test_any_text_is_data_or_a_description_error(text):
    try:
        assert isinstance(load_text(text).data, dict)
    except DescriptionError as error:
        assert error.message


def test_files_that_cannot_be_read(tmp_path):
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"name: x\nnote: \xe4\n")
    with pytest.raises(DescriptionError, match="not UTF-8") as caught:
        load_yaml(latin)
    assert caught.value.line == 2
    with pytest.raises(DescriptionError, match="does not exist"):
        load_yaml(tmp_path / "absent.yaml")
    with pytest.raises(DescriptionError, match="a directory"):
        load_yaml(tmp_path)
    with pytest.raises(DescriptionError, match="not a regular file"):
        load_yaml(os.devnull)
    with pytest.raises(DescriptionError):
        load_yaml("a\x00b.yaml")


def test_a_byte_order_mark_does_not_matter(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load_cluster(file).name == "x"


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "message", "remedy"),
    [
        ("count: 3", "cuont: 3", 7, "hosts.worker.cuont", "unknown key", "'count'"),
        ("count: 3", "count: 0", 7, "hosts.worker.count", "at least 1, not 0", ""),
        ("count: 3", "count: -1", 7, "hosts.worker.count", "at least 1", ""),
        ("count: 3", "count: 2.5", 7, "hosts.worker.count", "whole number, not 2.5", ""),
        ("count: 3", "count: '3'", 7, "hosts.worker.count", "whole number, not '3'", ""),
        ("count: 3", "count: true", 7, "hosts.worker.count", "whole number, not true", ""),
        ("count: 3", "count:", 7, "hosts.worker.count", "not an empty value", ""),
        ("nodemanager]", "nodemanger]", 8, "hosts.worker.roles.1", "one of", "'nodemanager'"),
        ("[datanode, nodemanager]", "datanode", 8, "hosts.worker.roles", "a list", "- "),
        ("roles: [datanode, nodemanager]", "memory: 8 GiB", 6, "hosts.worker.roles", "role", ""),
        ("count: 3", "count: 3\n    memory: 64 G", 8, "hosts.worker.memory", "'64 GiB'", ""),
        ("count: 3", "count: 3\n    cpu: fast", 8, "hosts.worker.cpu", "a mapping", "indent"),
        ("worker:", "Worker_1:", 6, "hosts.Worker_1", "pattern", "lower-case"),
        ("name: x", "name:", 1, "name", "a text", "quotes"),
        ("name: x", "nmae: x", 1, "nmae", "unknown key", "'name'"),
        ("[namenode, ", "[", 2, "hosts", "no host has the role 'namenode'", "add"),
        (", resourcemanager", "", 2, "hosts", "'resourcemanager', which a nodemanager", "add"),
        ("[datanode, ", "[", 2, "hosts", "no host has the role 'datanode'", "add"),
    ],
)
def test_a_wrong_description_names_line_key_message_and_remedy(
    old, new, line, key, message, remedy
):
    error = error_of(GOOD.replace(old, new))
    assert (error.file, error.line, error.key) == ("c.yaml", line, key)
    assert message in error.message
    assert remedy in error.remedy


@pytest.mark.parametrize(
    ("more", "line", "key", "message"),
    [
        ("storage: {replication: 4}", 9, "storage.replication", "there are 3"),
        ("settings: {dfs.replication: 4}", 9, "settings.dfs.replication", "there are 3"),
        ("settings:\n  dfs: {replication: 3}", 10, "settings.dfs", "complete dotted name"),
        ("settings:\n  a: .inf", 10, "settings.a", "finite"),
        ("software: {hadoop: 3.5}", 9, "software.hadoop", "quotes, '3.5'"),
        ("storage: {kind: cephfs}", 2, "hosts", "'mon'"),
        ("storage: {external: [wroker]}", 9, "storage.external.0", "unknown host class"),
        ("network:\n  racks: {a: {hosts: [master]}}", 10, "network.racks", "no rack"),
        ("network:\n  racks: {a: {hosts: [x]}}", 10, "network.racks.a.hosts.0", "unknown host"),
        ("network: {latency: 5}", 9, "network.latency", "no unit"),
        ("network: {spread_over: 0}", 9, "network.spread_over", "at least 1"),
    ],
)
def test_cross_checks_point_at_the_key_to_change(more, line, key, message):
    error = error_of(GOOD + more + "\n")
    assert (error.line, error.key) == (line, key)
    assert message in error.message


def test_all_complaints_are_listed_in_the_order_of_the_file():
    error = error_of(GOOD.replace("count: 3", "count: 0\n    memory: 64 G").replace("x", "[]", 1))
    assert (error.line, error.key) == (1, "name")
    assert "also: line 7: key 'hosts.worker.count'" in error.message
    assert "also: line 8: key 'hosts.worker.memory'" in error.message
