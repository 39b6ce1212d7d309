"""Heaps of tasks by the property and the version of Hadoop that decide, shuffles, frameworks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.audited import Files, audited, changed
from windtunnel.audit.result import Result, Status

MAP_OPTS, REDUCE_OPTS = "mapreduce.map.java.opts", "mapreduce.reduce.java.opts"
CHILD_OPTS = "mapred.child.java.opts"


def results(folder: Path, check: str, files: Files, version: str = "3.5.0") -> list[Result]:
    return [r for r in audited(folder, files, version=version).results if r.check == check]


def options(own: str | None, shared: str | None) -> Files:
    return changed(mapred={MAP_OPTS: own, REDUCE_OPTS: own, CHILD_OPTS: shared})


# --- heaps ---------------------------------------------------------------------------------------


def test_options_of_all_tasks_are_judged_where_tasks_have_none_of_their_own(tmp_path: Path) -> None:
    found = results(tmp_path, "containers-heap", options(None, "-Xmx4g"))
    assert {(r.about, r.status) for r in found} == {
        (MAP_OPTS, Status.FAIL),
        (REDUCE_OPTS, Status.FAIL),
    }
    first = next(r for r in found if r.about == MAP_OPTS)
    assert first.observed.startswith(
        "map: heap 4096 MiB (mapred.child.java.opts), container 1536 MiB"
    )
    assert first.place.startswith("mapred-site.xml:")
    assert first.remedy.startswith(f"set {MAP_OPTS} = -Xmx1229m")


def test_options_of_a_task_replace_those_of_all_tasks(tmp_path: Path) -> None:
    files = changed(mapred={CHILD_OPTS: "-Xmx4g"})
    assert [r.status for r in results(tmp_path, "containers-heap", files)] == [Status.PASS]


@pytest.mark.parametrize(
    ("version", "own", "shared", "status", "said"),
    [
        ("3.5.0", None, None, Status.PASS, "heap of a map task 1229 MiB"),
        ("3.5.0", None, "-Xmx200m", Status.FAIL, "heap of a map task 200 MiB"),
        ("2.7.7", None, None, Status.FAIL, "heap of a map task 200 MiB"),
        ("2.7.7", None, "-Xmx1g", Status.PASS, "heap of a map task 1024 MiB"),
        ("2.7.7", "-server", None, Status.UNKNOWN, f"{MAP_OPTS} has no -Xmx"),
    ],
)
def test_the_sort_buffer_is_compared_with_the_heap_of_the_version(
    version: str, own: str | None, shared: str | None, status: Status, said: str, tmp_path: Path
) -> None:
    (found,) = results(tmp_path, "job-sort-buffer", options(own, shared), version)
    assert found.status is status
    assert said in found.observed


@pytest.mark.parametrize("version", ["2.7.7", "3.5.0"])
def test_only_hadoop_3_derives_a_heap_from_a_container(version: str, tmp_path: Path) -> None:
    found = results(tmp_path, "containers-heap", options(None, None), version)
    failed = {r.about: r for r in found if r.status is Status.FAIL}
    assert set(failed) == ({MAP_OPTS, REDUCE_OPTS} if version == "2.7.7" else set())
    if failed:
        assert "map: heap 200 MiB, container 1536 MiB" in failed[MAP_OPTS].observed
        assert failed[MAP_OPTS].remedy.startswith(f"set {MAP_OPTS} = -Xmx1229m")


# --- framework and shuffle -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("framework", "services", "status"),
    [
        ("yarn", "spark_shuffle,mapreduce_shuffle", Status.PASS),
        ("yarn", "spark_shuffle", Status.FAIL),
        ("yarn", "tez_shuffle", Status.FAIL),
        ("yarn-tez", "mapreduce_shuffle", Status.PASS),
        ("yarn-tez", "tez_shuffle", Status.PASS),
        ("yarn-tez", "spark_shuffle", Status.FAIL),
        ("local", "mapreduce_shuffle", Status.FAIL),
    ],
)
def test_jobs_need_yarn_and_the_shuffle_of_their_framework(
    framework: str, services: str, status: Status, tmp_path: Path
) -> None:
    files = changed(
        mapred={"mapreduce.framework.name": framework},
        yarn={"yarn.nodemanager.aux-services": services},
    )
    (found,) = results(tmp_path, "job-framework", files)
    assert found.status is status
    if services == "spark_shuffle":
        assert found.remedy == "add mapreduce_shuffle to yarn.nodemanager.aux-services"


SINGLE = "mapreduce.reduce.shuffle.memory.limit.percent"
MERGE = "mapreduce.reduce.shuffle.merge.percent"


@pytest.mark.parametrize(
    ("single", "merge", "remedy"),
    [
        ("0.66", None, f"set {SINGLE} = 0.25"),  # equal to the default of the merge
        (None, "0.25", f"set {SINGLE} = 0.2"),
        (None, "0.2", f"set {SINGLE} = 0.16"),
        (None, "0", f"set {MERGE} = 0.66 and {SINGLE} = 0.25"),
        (None, "0.26", ""),
    ],
)
def test_one_map_output_must_be_smaller_than_the_start_of_merges(
    single: str | None, merge: str | None, remedy: str, tmp_path: Path
) -> None:
    files = changed(mapred={SINGLE: single, MERGE: merge})
    (found,) = results(tmp_path / "before", "job-shuffle-memory", files)
    assert found.remedy == remedy
    assert found.status is (Status.FAIL if remedy else Status.PASS)
    if remedy:
        assert "every reduce task fails at its start" in found.observed
        values = dict(pair.split(" = ") for pair in remedy.removeprefix("set ").split(" and "))
        after = changed(mapred={SINGLE: single, MERGE: merge} | values)
        (again,) = results(tmp_path / "after", "job-shuffle-memory", after)
        assert again.status is Status.PASS


@pytest.mark.parametrize(("version", "status"), [("3.5.0", Status.PASS), ("2.7.7", Status.FAIL)])
def test_a_map_output_in_memory_has_at_most_2_gib_since_hadoop_2_9(
    version: str, status: Status, tmp_path: Path
) -> None:
    large = {SINGLE: "0.9", "mapreduce.reduce.memory.mb": "10240", REDUCE_OPTS: "-Xmx8g"}
    (found,) = results(tmp_path, "job-shuffle-memory", changed(mapred=large), version)
    assert found.status is status
