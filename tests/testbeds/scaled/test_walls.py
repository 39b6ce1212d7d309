"""The tunnel's walls: when the machine below a model was the bottleneck."""

from __future__ import annotations

from windtunnel.results.record import Phase
from windtunnel.testbeds.base import Row
from windtunnel.testbeds.scaled.walls import judge, unwatched, walls

SORT = Phase(name="sort", started_at=100, finished_at=110, elapsed_s=10, wall_s=11)


def samples(host: str = "this-machine", start: int = 100, **values: float) -> list[Row]:
    """Ten seconds of steady values."""
    return [
        (start + second + 0.5, host, name.replace("__", ":"), "ratio", value)
        for second in range(10)
        for name, value in values.items()
    ]


def test_an_idle_machine_is_no_wall() -> None:
    rows = samples(cpu_idle=0.3, disk_busy__vda=0.79, memory_available_share=0.06, swap_in=0.0)

    assert walls(rows, [SORT]) is None


def test_busy_processors_are_a_wall_with_their_number() -> None:
    reason = walls(samples(cpu_idle=0.15, cpu_steal=0.0), [SORT])

    assert reason == (
        "the tunnel's walls were in the flow: sort: the machine's CPUs were 15 % idle on average, "
        "less than 20 %"
    )


def test_waiting_for_a_throttled_disk_is_idle_time() -> None:
    assert walls(samples(cpu_idle=0.05, cpu_iowait=0.6), [SORT]) is None


def test_stolen_time_is_told() -> None:
    assert "12 % stolen" in (walls(samples(cpu_idle=0.1, cpu_steal=0.12), [SORT]) or "")


def test_disk_memory_and_swap_are_walls() -> None:
    for name, value, says in (
        ("disk_busy__vda", 0.9, "disk vda was 90 % busy"),
        ("memory_available_share", 0.04, "only 4.0 % of its memory"),
        ("swap_in", 5e6, "5.0 MB/s back from swap"),
    ):
        assert says in (walls(samples(cpu_idle=0.9, **{name: value}), [SORT]) or "")


def test_only_the_machine_and_only_within_the_phase_count() -> None:
    rows = samples(cpu_idle=0.9)
    rows += samples(host="worker-1", cpu_idle=0.0)
    rows += samples(start=90, cpu_idle=0.0) + samples(start=111, cpu_idle=0.0)

    assert walls(rows, [SORT]) is None


def test_a_phase_without_samples_is_told() -> None:
    assert unwatched([], [SORT]) == ["sort"]
    assert unwatched(samples(cpu_idle=0.9), [SORT]) == []
    assert walls([], [SORT]) is None


def test_the_judgement_is_a_check_and_a_flag_where_it_is_blind() -> None:
    (good,) = judge(samples(cpu_idle=0.9), [SORT]).checks
    (bad,) = judge(samples(cpu_idle=0.1), [SORT]).checks

    assert good.passed and not bad.passed
    assert "10 % idle" in bad.got
    assert judge([], [SORT]).flags == ["the machine was not sampled during sort: walls unknown"]
