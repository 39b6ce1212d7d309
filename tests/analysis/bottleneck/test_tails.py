"""Tails: waves, the tail, what ran alone, spills, speculation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.built import Built, built, task
from windtunnel.analysis.analyse import analyse
from windtunnel.analysis.bottleneck.attempts import Attempt, attempts
from windtunnel.analysis.bottleneck.tails import Tail, idle_of, idles, mean_of, tails, tails_of
from windtunnel.results.folder import read_results
from windtunnel.results.record import Phase


def tail(path: Path, rows: list[dict[str, Any]], kind: str = "MAP", elapsed: float = 20.0) -> Tail:
    analysis = built(path, [Built(elapsed=elapsed, tasks=rows)])
    (found,) = (t for t in analysis.once(tails) if t.kind == kind)
    return found


def test_waves_are_tasks_over_what_ran_at_once(tmp_path: Path) -> None:
    rows = [task("MAP", i, 2.0 + 5 * (i // 2), 7.0 + 5 * (i // 2)) for i in range(6)]
    found = tail(tmp_path, rows)

    assert (found.tasks, found.concurrency, found.waves) == (6, 2, 3.0)
    assert found.full_share == pytest.approx(15 / 20)
    assert found.stragglers == 0
    assert found.alone_share == 0


def test_one_long_reducer_works_alone_behind_the_others(tmp_path: Path) -> None:
    """All four start at 1 s, wait for the maps until 5 s, and three end at 8 s."""
    rows = [task("MAP", i, 1, 5) for i in range(2)]
    rows += [task("REDUCE", i, 1, 8, input_bytes=10.0) for i in range(3)]
    rows += [task("REDUCE", 3, 1, 17, input_bytes=400.0)]
    found = tail(tmp_path, rows, "REDUCE")

    assert found.skew == pytest.approx(12 / 3), "waiting for the maps is no work"
    assert found.bytes_skew == 40
    assert found.tail_s == pytest.approx(9)
    assert found.tail_share == pytest.approx(9 / 20)
    assert found.lone_share == pytest.approx(9 / 20)
    assert found.stragglers == 1


def of_job(name: str, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows as tasks of a job of their own."""
    return [{**row, "task": row["task"].replace("task", name)} for row in rows]


def test_a_reducer_waits_for_the_maps_of_its_own_job_only(tmp_path: Path) -> None:
    """The first job ends before the maps of the second one do."""
    rows = of_job("task_1_0001", task("MAP", 0, 0, 2), task("REDUCE", 0, 1, 10))
    rows += of_job("task_1_0002", task("MAP", 0, 10, 12), task("REDUCE", 0, 11, 16))
    found = tail(tmp_path, rows, "REDUCE")

    assert found.skew == pytest.approx(8 / 6), "8 s and 4 s of work"
    assert found.alone_share == pytest.approx((8 + 4) / 20)


def test_tasks_are_compared_with_those_of_their_own_job(tmp_path: Path) -> None:
    rows = [task("MAP", i, 0, 2, input_bytes=10.0) for i in range(4)]
    long = [task("MAP", i, 0, 16, input_bytes=400.0) for i in range(2)]
    found = tail(tmp_path, of_job("task_1_0001", *rows) + of_job("task_1_0002", *long))

    assert (found.stragglers, found.bytes_skew) == (0, 1)
    assert found.skew == 8, "the longest task of the phase"


def test_tasks_of_spark_wait_for_no_other_task(tmp_path: Path) -> None:
    reads = {**task("MAP", 0, 10, 12), "task": "application_1_0001-2-0"}
    rows = [reads, {**task("REDUCE", 0, 2, 9), "task": "application_1_0001-1-0"}]
    assert tail(tmp_path, rows, "REDUCE").alone_share == pytest.approx(7 / 20)


def test_a_second_attempt_of_the_same_task_does_not_make_it_less_alone(tmp_path: Path) -> None:
    rows = [task("REDUCE", 0, 1, 8), task("REDUCE", 1, 1, 17)]
    rows += [task("REDUCE", 1, 6, 17, status="KILLED", attempt="second")]

    assert tail(tmp_path, rows, "REDUCE").lone_share == pytest.approx(9 / 20)


def test_the_tail_of_many_tasks_is_behind_the_last_twentieth(tmp_path: Path) -> None:
    rows = [task("MAP", i, 0, 10) for i in range(38)] + [task("MAP", 40 + i, 0, 16) for i in (0, 1)]
    assert tail(tmp_path, rows).tail_s == pytest.approx(6)


def test_a_task_alone_of_its_kind_has_no_tail_and_no_skew(tmp_path: Path) -> None:
    rows = [task("MAP", 0, 1, 5), task("REDUCE", 0, 2, 15)]
    found = tail(tmp_path, rows, "REDUCE")

    assert (found.tail_s, found.skew, found.stragglers) == (None, None, 0)
    assert found.alone_share == pytest.approx(0.5)


def test_time_without_any_task_is_told_by_where_it_lies(tmp_path: Path) -> None:
    rows = [task("MAP", 0, 4, 8), task("MAP", 1, 10, 18)]
    analysis = built(tmp_path, [Built(tasks=rows)])
    (found,) = analysis.once(idles).values()

    assert (found.before, found.after) == (pytest.approx(0.2), pytest.approx(0.1))
    assert found.total == pytest.approx((4 + 2 + 2) / 20)


def test_spills_merging_and_locality_of_maps(tmp_path: Path) -> None:
    counted = {"output_records": 100.0, "map_finished_at": 9.0, "gc_time": 1.0}
    rows = [
        task("MAP", 0, 1, 11, spilled_records=400.0, locality="NODE_LOCAL", **counted),
        task("MAP", 1, 1, 11, spilled_records=200.0, locality="OFF_SWITCH", **counted),
    ]
    found = tail(tmp_path, rows)

    assert found.spills == 3
    assert found.merge_share == pytest.approx(0.2)
    assert found.gc_share == pytest.approx(0.1)
    assert found.localities == {"NODE_LOCAL": 1, "OFF_SWITCH": 1}


def test_what_not_every_task_tells_is_unknown_and_not_zero(tmp_path: Path) -> None:
    rows = [task("MAP", 0, 1, 11, spilled_records=1.0, output_records=1.0), task("MAP", 1, 1, 11)]
    found = tail(tmp_path, rows)

    assert (found.spills, found.merge_share, found.gc_share) == (None, None, None)
    assert (found.speculated, found.speculation_won) == (None, None)
    assert mean_of([found], "spills") is None


def test_speculation_won_and_wasted(tmp_path: Path) -> None:
    first = {"speculative": False}
    rows = [
        task("MAP", 0, 0, 10, **first, status="KILLED"),
        task("MAP", 0, 4, 10, speculative=True, attempt="second"),
        task("MAP", 1, 0, 9, **first),
        task("MAP", 1, 6, 9, speculative=True, attempt="third", status="KILLED"),
        task("MAP", 2, 0, 3, **first, status="FAILED"),
        task("MAP", 2, 3, 9, **first, attempt="retry"),
    ]
    found = tail(tmp_path, rows)

    assert (found.tasks, found.speculated, found.speculation_won) == (3, 2, 1)
    assert found.wasted_s == pytest.approx(13), "a failed attempt is no lost speculation"


def test_invalid_trials_and_attempts_that_never_ran_are_left_out(tmp_path: Path) -> None:
    rows = [task("MAP", 0, 1, 9), task("MAP", 1, None, 9, status="KILLED")]  # type: ignore[arg-type]
    analysis = built(tmp_path, [Built(tasks=rows), Built(tasks=rows, valid=False)])

    assert list(analysis.once(attempts)) == [("t1", "sort")]
    assert len(analysis.once(attempts)["t1", "sort"]) == 1


def test_a_damaged_file_costs_only_its_own_trial(tmp_path: Path) -> None:
    rows = [task("MAP", 0, 1, 9)]
    built(tmp_path, [Built(tasks=rows), Built(tasks=rows)])
    (tmp_path / "tasks" / "t1.parquet").write_bytes(b"PAR1 no more")

    assert [t.trial for t in analyse(read_results(tmp_path)).once(tails)] == ["t2"]


SPANS = st.tuples(st.floats(0, 18), st.floats(0.01, 10)).map(lambda s: (s[0], min(20, s[0] + s[1])))
ROWS = st.lists(st.tuples(st.sampled_from(["MAP", "REDUCE"]), SPANS), min_size=1, max_size=8)
PHASE = Phase(name="p", started_at=0, finished_at=20, elapsed_s=20, wall_s=20)


@given(rows=ROWS)
def test_whatever_the_tasks_shares_are_shares(rows: list[tuple[str, tuple[float, float]]]) -> None:
    made = [
        Attempt("t", "p", f"{kind}-{i}", kind, "SUCCEEDED", "w", *span)
        for i, (kind, span) in enumerate(rows)
    ]
    found = tails_of(("t", "w", "x"), PHASE, made)

    assert sum(t.tasks for t in found) == len(rows)
    assert sum(t.alone_share for t in found) <= 1 + 1e-6
    for t in found:
        assert 1 <= t.concurrency <= t.tasks
        assert 0 <= t.lone_share <= t.alone_share + 1e-9
        assert 0 <= t.full_share <= 1 + 1e-6
        assert t.tail_share is None or 0 <= t.tail_share <= 1
    assert 0 <= idle_of(PHASE, made).total <= 1
