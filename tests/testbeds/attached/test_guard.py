"""The abort rule, applied to readings of a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from windtunnel.errors import ClusterAccessError
from windtunnel.inspection.queues import LeafQueues
from windtunnel.testbeds.attached.guard import Guard, Rule, others_log
from windtunnel.testbeds.attached.options import Limits
from windtunnel.testbeds.attached.status import Application, Hidden, Reading

CALM = Reading(
    t=100.0,
    own=(),
    others=(),
    pending=0,
    capacity_bytes=1000,
    free_bytes=500,
    missing_blocks=2,
    under_replicated=7,
    datanodes=4,
    nodemanagers=4,
)


def limits(**given: Any) -> Limits:
    return Limits.model_validate(given)


def app(name: str, containers: int) -> Application:
    return Application(name, "default", "MAPREDUCE", "RUNNING", containers, 0)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"free_bytes": 100}, "10.0 % of HDFS is free (limit: 15 %)"),
        ({"missing_blocks": 3}, "missing blocks since the start: 1 (limit: 0)"),
        ({"under_replicated": 1008}, "under-replicated blocks since the start: 1001 (limit: 1000)"),
        ({"datanodes": 3}, "lost DataNodes since the start: 1 (limit: 0)"),
        ({"nodemanagers": 2}, "lost NodeManagers since the start: 2 (limit: 0)"),
        ({"own": (app("a", 9),)}, "the study has 9 containers (allowed by its option"),
    ],
)
def test_each_limit_is_stated_with_the_figure(changes: dict[str, Any], says: str) -> None:
    rule = Rule(limits(), 8, CALM)

    assert rule.exceeded(CALM) == []
    found = rule.exceeded(replace(CALM, **changes))
    assert len(found) == 1
    assert found[0].startswith(says)


def test_an_own_application_in_another_queue_ends_the_job() -> None:
    queues = LeafQueues(paths=["root.default", "root.a.bench"])
    rule = Rule(limits(), 8, CALM, lambda used: "" if queues.within(used, "bench") else "bench")

    for used in ("bench", "root.a.bench", ""):
        assert rule.exceeded(replace(CALM, own=(replace(app("a", 1), queue=used),))) == []
    found = rule.exceeded(replace(CALM, own=(app("a", 1),), others=(app("b", 1),)))
    assert found == [
        "the scheduler put the study's a into the queue default; the study may use only bench"
    ]


def test_pending_containers_of_others_count_only_after_a_time() -> None:
    rule = Rule(limits(pending_for="10 s"), 8, CALM)

    assert rule.exceeded(replace(CALM, t=101.0, pending=3)) == []
    assert rule.exceeded(replace(CALM, t=110.0, pending=3)) == []
    found = rule.exceeded(replace(CALM, t=111.0, pending=3))
    assert found == ["other tenants have waited for 3 containers for 10 s (limit: 0 for 10 s)"]
    assert rule.exceeded(replace(CALM, t=112.0)) == []
    assert rule.exceeded(replace(CALM, t=130.0, pending=3)) == []


def test_pending_containers_of_others_delay_a_trial_at_once() -> None:
    rule = Rule(limits(pending_for="10 s"), 8, CALM)

    found = rule.exceeded(replace(CALM, pending=1), before_trial=True)
    assert found == ["other tenants wait for 1 containers (limit: 0)"]


class Script:
    """A cluster whose readings are given; after them it does not answer."""

    def __init__(self, *readings: Reading) -> None:
        self.rest: Iterator[Reading] = iter(readings)

    def __call__(self) -> Reading:
        try:
            return next(self.rest)
        except StopIteration:
            raise ClusterAccessError("no answer", reason="unreachable") from None


def guard(*readings: Reading) -> Guard:
    made = Guard(limits(interval="1 h"), 8, Script(*readings), CALM)
    made.start()
    return made


def test_the_metrics_are_those_since_the_trial_began() -> None:
    busy = replace(CALM, others=(app("a", 4), app("b", 2)), pending=1, free_bytes=400)
    made = guard(busy, CALM, busy, busy)
    made.look()
    made.begin()
    made.look()
    made.look()
    made.close()

    found = {name: metric.value for name, metric in made.metrics().items()}
    assert found == {
        "other_containers": 4.0,
        "other_pending_containers": 1,
        "other_applications": 2,
        "hdfs_free_share": 0.4,
    }


def test_the_metrics_contain_what_is_not_in_the_list() -> None:
    busy = replace(CALM, others=(app("a", 4),), hidden=Hidden(containers=6, applications=2))
    made = guard(busy, replace(CALM, others=(app("b", 1),)))
    made.look()
    made.close()

    found = made.metrics()
    assert found["other_containers"].value == 5.5
    assert found["other_applications"].value == 3


def test_the_log_has_a_line_if_nothing_of_others_is_in_the_list(tmp_path: Path) -> None:
    log = others_log(tmp_path)
    log(CALM, [])
    log(replace(CALM, hidden=Hidden(containers=6, applications=2)), [])
    (line,) = (tmp_path / "others.jsonl").read_text().splitlines()
    assert json.loads(line)["containers"] == 6 and json.loads(line)["others"] == []


def test_a_cluster_that_does_not_answer_for_a_time_ends_the_job() -> None:
    made = guard(CALM)
    assert made.look() == ""
    made._answered -= 31
    assert made.look() == "the cluster cannot be watched: no answer"
    made.close()


def test_a_reason_ends_when_the_limit_is_kept_again() -> None:
    made = guard(CALM, replace(CALM, free_bytes=1), CALM)
    assert "HDFS is free" in made.look()
    assert made.look() == ""
    made.close()


def test_an_error_of_any_kind_in_the_thread_ends_the_study() -> None:
    def full(found: Reading, beyond: Sequence[str]) -> None:
        if len(made.readings) == 2:
            raise OSError(28, "No space left on device")

    made = Guard(limits(interval="1 s"), 8, lambda: CALM, CALM, on_reading=full)
    made.start()
    assert made._thread is not None
    made._thread.join(60)
    assert "cannot be watched: OSError" in made.reason
    assert "cannot be watched" in made.look(), "a later look does not forget it"
