"""When a loss was noticed and when all was whole: by what the master says, and when."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from windtunnel.engines.faults import Copies
from windtunnel.study.faults.replication import Recovery

ALL, LOST = Copies(3, 0, True), Copies(2, 4, True)
HEALED = Copies(2, 0, True)


def judged(
    looks: Sequence[tuple[float, Copies | None]], undone_at: float = 1e9, sure_s: float = 3.0
) -> Recovery:
    wholeness = Recovery(ALL, sure_s)
    for at, copies in looks:
        wholeness.look(at, copies, undone=at >= undone_at)
    return wholeness


def test_a_lost_holder_is_noticed_and_its_blocks_are_copied() -> None:
    looks = [(t, ALL) for t in range(14)] + [(14, HEALED), (15, LOST), (20, LOST)]
    found = judged([*looks, *((t, HEALED) for t in range(24, 30))])
    assert (found.noticed_s, found.whole_s) == (14, 24)


def test_a_count_that_is_not_sure_yet_is_not_believed() -> None:
    """The holder is gone from the list before its blocks are counted as wanting."""
    found = judged([(14, HEALED), (16, HEALED), (16.5, LOST), (18, HEALED), (20.9, HEALED)])
    assert found.whole_s is None


def test_a_loss_that_nobody_notices_is_never_whole() -> None:
    found = judged([(t, ALL) for t in range(60)])
    assert (found.noticed_s, found.whole_s) == (None, None)


def test_a_holder_that_is_back_before_it_was_missed() -> None:
    found = judged([(t, ALL) for t in range(20)], undone_at=10)
    assert (found.noticed_s, found.whole_s) == (None, 10)


def test_a_master_that_is_away_and_comes_back_in_safe_mode() -> None:
    looks: list[tuple[float, Copies | None]] = [(t, None) for t in range(8)]
    looks += [(8, Copies(0, 0, False)), (9, Copies(2, 0, False)), (10, Copies(3, 2, True))]
    found = judged([*looks, *((t, ALL) for t in range(11, 16))], undone_at=5)
    assert (found.noticed_s, found.whole_s) == (0, 11)


def test_a_master_that_answers_only_after_a_restart_was_away() -> None:
    found = Recovery(ALL, 3.0)
    found.look(0.5, ALL, undone=False, took_s=0.1)
    assert found.noticed_s is None
    found.look(1.0, ALL, undone=False, took_s=20.5)
    assert (found.noticed_s, found.whole_s) == (1.0, None)
    for at in range(22, 27):
        found.look(at, ALL, undone=True, took_s=0.1)
    assert found.whole_s == 21.5, "not before the answer"


def test_one_request_without_an_answer_is_enough_if_it_takes_long() -> None:
    found = Recovery(ALL, 3.0)
    found.look(0.5, None, undone=False, took_s=2.0)
    assert found.noticed_s is None
    found.look(3.0, ALL, undone=False, took_s=0.1)
    found.look(4.0, None, undone=False, took_s=20.0)
    assert found.noticed_s == 4.0


def test_a_service_that_stops_is_noticed_but_not_if_only_its_return_is_waited_for() -> None:
    stopped = Copies(3, 0, serving=False)
    looks = [(0, ALL), (15, stopped), *((t, ALL) for t in range(22, 27))]
    assert judged(looks, undone_at=20).noticed_s == 15
    assert judged(looks, undone_at=10).noticed_s is None


def test_a_loss_that_is_noticed_after_all_seemed_whole_counts_from_then() -> None:
    looks = [(t, ALL) for t in range(5)] + [(5, LOST), *((t, ALL) for t in range(6, 12))]
    found = judged(looks, undone_at=0)
    assert (found.noticed_s, found.whole_s) == (5, 6)


def test_undone_is_whole_only_with_all_holders() -> None:
    found = judged([(t, HEALED) for t in range(10)], undone_at=1)
    assert found.whole_s is None


@given(
    st.lists(st.sampled_from([ALL, LOST, HEALED, None, Copies(3, 0, False)]), max_size=60),
    st.integers(0, 60),
)
def test_whole_follows_noticed_and_a_quiet_time(looks: list[Copies | None], undone: int) -> None:
    found = judged([(float(t), look) for t, look in enumerate(looks)], undone_at=undone)
    if found.whole_s is not None:
        at = int(found.whole_s)
        quiet = looks[at : at + 4]
        assert all(look is not None and look.serving and not look.wanting for look in quiet)
        assert found.whole_s >= undone or (found.noticed_s is not None)
        assert found.noticed_s is None or found.noticed_s <= found.whole_s


def test_one_request_without_an_answer_proves_nothing() -> None:
    looks: list[tuple[float, Copies | None]] = [(t, ALL) for t in range(16)]
    looks[1] = (1, None)
    looks += [(16, LOST), *((t, HEALED) for t in range(30, 36))]
    found = judged(looks)
    assert (found.noticed_s, found.whole_s) == (16, 30)


def test_a_silence_and_then_a_loss_is_whole_after_the_loss() -> None:
    looks: list[tuple[float, Copies | None]] = [(1, None), (2, None)]
    looks += [(t, ALL) for t in range(3, 16)]
    found = judged([*looks, (16, LOST), *((t, HEALED) for t in range(30, 36))])
    assert (found.noticed_s, found.whole_s) == (1, 30)
