"""Limits of concurrent tasks on an existing cluster."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windtunnel.testbeds.attached.task_limits import (
    MAPS_AT_ONCE,
    REDUCES,
    REDUCES_AT_ONCE,
    task_limits,
)

TEXTS = st.one_of(st.none(), st.integers(-5, 200).map(str), st.sampled_from(["", "lots", "0x10"]))


@given(TEXTS, TEXTS, TEXTS, st.integers(3, 100))
def test_a_job_never_has_more_containers_than_allowed(
    reduces: str | None, maps_limit: str | None, reduces_limit: str | None, containers: int
) -> None:
    given = {REDUCES: reduces, MAPS_AT_ONCE: maps_limit, REDUCES_AT_ONCE: reduces_limit}
    settings = {name: value for name, value in given.items() if value is not None}
    limits = {name: int(value) for name, value in task_limits(settings, containers).items()}
    assert limits.keys() == {MAPS_AT_ONCE, REDUCES_AT_ONCE}
    assert min(limits.values()) >= 1  # Hadoop reads 0 as no limit
    assert 1 + sum(limits.values()) <= containers


def test_lower_limits_of_the_study_stay() -> None:
    settings = {REDUCES: "2", MAPS_AT_ONCE: "3", REDUCES_AT_ONCE: "1"}
    assert task_limits(settings, 11) == {REDUCES_AT_ONCE: "1", MAPS_AT_ONCE: "3"}
    same = {REDUCES: "0x2", MAPS_AT_ONCE: "0x3", REDUCES_AT_ONCE: "0x1"}
    assert task_limits(same, 11) == {REDUCES_AT_ONCE: "1", MAPS_AT_ONCE: "3"}
    assert task_limits({REDUCES: "2"}, 11) == {REDUCES_AT_ONCE: "2", MAPS_AT_ONCE: "8"}
