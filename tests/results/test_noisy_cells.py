"""The criterion for extra rounds."""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel.results.noisy_cells import noisy_cells
from windtunnel.results.record import Phase, Treatment, Trial, Verdict


def trials(*rounds: Sequence[float]) -> list[Trial]:
    """One valid trial per round; each round states the elapsed times of its phases in s."""
    return [
        Trial(
            id=f"t{number}",
            study_id="made-up",
            testbed="local",
            workload="job",
            treatment=Treatment(id="only"),
            round=number,
            position=1,
            started_at=0.0,
            finished_at=100.0,
            verdict=Verdict(valid=True),
            phases=[
                Phase(name=f"phase {place}", started_at=0.0, finished_at=s, elapsed_s=s, wall_s=s)
                for place, s in enumerate(phases)
            ],
        )
        for number, phases in enumerate(rounds, start=1)
    ]


def test_a_cell_above_the_limit_is_selected() -> None:
    assert noisy_cells(trials([10.0], [16.0]), 0.2, range(1, 3)) == [("job", "only")]
    assert noisy_cells(trials([10.0], [11.0]), 0.2, range(1, 3)) == []


def test_a_mean_of_zero_has_no_variation() -> None:
    assert noisy_cells(trials([], []), 0.2, range(1, 3)) == []
    assert noisy_cells(trials([0.0], [0.0]), 0.2, range(1, 3)) == []
    found = noisy_cells(trials([0.0, 10.0], [0.0, 16.0]), 0.2, range(1, 3))
    assert found == [("job", "only")], "the total has a mean"
