"""Errors of a level are reported at the line of its factor."""

from __future__ import annotations

import pytest

from tests.support.mock import plan_from
from windtunnel.errors import DescriptionError

HEAD = """\
study: toy
cluster: local-3
workloads:
  pi: {maps: 4, samples_per_map: 1000}
factors:
  settings.mapreduce.task.io.sort.mb: [64, 128]
"""


def refused(text: str) -> DescriptionError:
    with pytest.raises(DescriptionError) as caught:
        plan_from(HEAD + text)
    return caught.value


@pytest.mark.parametrize(
    ("factor", "levels", "says"),
    [
        ("workloads.pi.maps", "[4, -8]", "must be more than 0, not -8"),
        ("workloads.pi.mapz", "[4, 8]", "unknown key 'mapz'"),
        ("workloads.p.maps", "[4, 8]", "refers to no workload of this study"),
        ("tasks", "{a: {}, b: {workloads.pi.maps: -8}}", "workloads.pi.maps: must be more than 0"),
        ("hosts.worker.count", "[3, 0]", "must be at least 1, not 0"),
        ("hosts.wroker.count", "[3, 5]", "'wroker' is not a known key of 'hosts'"),
        ("size", "{a: {}, b: {hosts.worker.count: 0}}", "hosts.worker.count: must be at least 1"),
    ],
)
def test_a_wrong_level_is_reported_at_its_factor(factor: str, levels: str, says: str) -> None:
    found = refused(f"  {factor}: {levels}\n")

    assert (found.key, found.line) == (f"factors.{factor}", 7)
    assert says in found.message


def test_a_parameter_of_the_study_file_is_reported_at_the_workload() -> None:
    with pytest.raises(DescriptionError) as caught:
        plan_from(HEAD.replace("maps: 4", "maps: -4") + "  workloads.pi.samples_per_map: [5, 6]\n")

    assert (caught.value.key, caught.value.line) == ("workloads.pi.maps", 4)
