"""The front: what must hold for any points, and what was drawn by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windtunnel.analysis.statistics.pareto import dominators

POINTS = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(-3, 3).map(float), min_size=width, max_size=width),
        min_size=1,
        max_size=25,
    )
)


def beats(one: list[float], other: list[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and one != other


def test_a_front_drawn_by_hand() -> None:
    points = [[1.0, 9.0], [2.0, 5.0], [3.0, 5.0], [9.0, 1.0], [9.0, 9.0]]
    assert dominators(points) == [[], [], [1], [], [0, 1, 2, 3]]


def test_equal_points_are_both_on_the_front() -> None:
    assert dominators([[1.0, 2.0], [1.0, 2.0]]) == [[], []]


@given(POINTS)
def test_dominance_is_what_it_says(points: list[list[float]]) -> None:
    found = dominators(points)
    for place, by in enumerate(found):
        assert by == [i for i, other in enumerate(points) if beats(other, points[place])]


@given(POINTS)
def test_there_is_a_front_and_it_beats_all_the_others(points: list[list[float]]) -> None:
    found = dominators(points)
    front = {place for place, by in enumerate(found) if not by}
    assert front
    assert all(front & set(by) for by in found if by)


@given(POINTS, st.randoms(use_true_random=False))
def test_the_order_of_the_points_does_not_matter(points: list[list[float]], random: object) -> None:
    order = list(range(len(points)))
    random.shuffle(order)  # type: ignore[attr-defined]
    mixed = dominators([points[i] for i in order])
    assert [{order[j] for j in mixed[order.index(i)]} for i in range(len(points))] == [
        set(by) for by in dominators(points)
    ]
