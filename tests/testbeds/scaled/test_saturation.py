"""Saturation of the host machine of a scale model."""

from __future__ import annotations

from windtunnel.results.record import Phase
from windtunnel.results.sample import Sample
from windtunnel.testbeds.scaled.saturation import judge, saturated, unsampled

SORT = Phase(name="sort", started_at=100, finished_at=110, elapsed_s=10, wall_s=11)


def samples(host: str = "this-machine", start: int = 100, **values: float) -> list[Sample]:
    """Ten seconds of steady values."""
    return [
        Sample(start + second + 0.5, host, name.replace("__", ":"), "ratio", value)
        for second in range(10)
        for name, value in values.items()
    ]


def test_an_idle_machine_is_no_wall() -> None:
    rows = samples(cpu_idle=0.3, disk_busy__vda=0.79, memory_available_share=0.06, swap_in=0.0)

    assert saturated(rows, [SORT]) is None


def test_busy_processors_saturate_it_with_their_number() -> None:
    reason = saturated(samples(cpu_idle=0.15, cpu_steal=0.0), [SORT])

    assert reason == (
        "the host machine was saturated: sort: its CPUs were 15 % idle on average, "
        "at least 20 % required"
    )


def test_waiting_for_a_throttled_disk_is_idle_time() -> None:
    assert saturated(samples(cpu_idle=0.05, cpu_iowait=0.6), [SORT]) is None


def test_stolen_time_is_reported() -> None:
    assert "12 % stolen" in (saturated(samples(cpu_idle=0.1, cpu_steal=0.12), [SORT]) or "")


def test_disk_memory_and_swap_saturate_it() -> None:
    for name, value, says in (
        ("disk_busy__vda", 0.9, "disk vda was 90 % busy"),
        ("memory_available_share", 0.04, "only 4.0 % of its memory"),
        ("swap_in", 5e6, "5.0 MB/s back from swap"),
    ):
        rows = samples(cpu_idle=0.9, **{name: value})  # type: ignore[arg-type]
        assert says in (saturated(rows, [SORT]) or "")


def test_only_the_machine_and_only_within_the_phase_count() -> None:
    rows = samples(cpu_idle=0.9)
    rows += samples(host="worker-1", cpu_idle=0.0)
    rows += samples(start=90, cpu_idle=0.0) + samples(start=111, cpu_idle=0.0)

    assert saturated(rows, [SORT]) is None


def test_a_phase_without_samples_is_reported() -> None:
    assert unsampled([], [SORT]) == ["sort"]
    assert unsampled(samples(cpu_idle=0.9), [SORT]) == []
    assert saturated([], [SORT]) is None


def test_the_judgement_is_a_check_and_a_flag_where_it_is_blind() -> None:
    (good,) = judge(samples(cpu_idle=0.9), [SORT]).checks
    (bad,) = judge(samples(cpu_idle=0.1), [SORT]).checks

    assert good.passed and not bad.passed
    assert "10 % idle" in bad.got
    assert judge([], [SORT]).flags == [
        "the host machine was not sampled during sort: saturation unknown"
    ]


def test_a_reference_phase_may_use_the_whole_machine() -> None:
    duckdb = SORT.model_copy(update={"name": "duckdb", "beside": True})
    assert judge(samples(cpu_idle=0.01), [duckdb]).checks[0].passed
    assert not judge(samples(cpu_idle=0.01), [SORT, duckdb]).checks[0].passed
