"""The chart of ``size``: labels cover nothing, and every candidate has a title."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from windtunnel.report.charts.candidates import HEIGHT, WIDTH, front, labels
from windtunnel.report.charts.labels import CHARACTER, LINE, Box, place
from windtunnel.report.svg import svg

FRAME = Box(0.0, 0.0, 400.0, 300.0)


def candidate(hosts: int, elapsed_s: float, **changes: Any) -> dict[str, Any]:
    row = {
        "name": f"{hosts} hosts, <E5 & co.>",
        "elapsed_s": elapsed_s,
        "low_s": elapsed_s * 0.9,
        "high_s": elapsed_s * 1.1,
        "price": hosts * 1000.0,
        "currency": "USD",
        "dominated": False,
        "meets": elapsed_s < 1800,
        "bottleneck": "cpu",
        "next_bottleneck": "disk",
    }
    return row | changes


def found(count: int) -> dict[str, Any]:
    """``count`` candidates on a dense front, and as many that it dominates."""
    rows = [candidate(n, 20000.0 / n) for n in range(4, 4 + count)]
    rows += [candidate(n, 21000.0 / n, dominated=True) for n in range(4, 4 + count)]
    rows.sort(key=lambda row: (not row["meets"], row["price"]))
    return {"candidates": rows, "goal": {"within_s": 1800.0}}


def boxes(placed: Sequence[Any]) -> list[Box]:
    made = []
    for one in placed:
        width = CHARACTER * len(one.text)
        left = one.x if one.align == "left" else one.x - width
        made.append(Box(left, one.y - LINE / 2, left + width, one.y + LINE / 2))
    return made


def test_a_label_without_room_is_left_out() -> None:
    same = [(200.0, 150.0, "first"), (201.0, 151.0, "second"), (200.0, 20.0, "far away")]
    alone = place(same, [], FRAME)
    assert [one.text for one in alone] == ["first", "second", "far away"]
    wall = [Box(0.0, 100.0, 400.0, 200.0)]
    assert [one.text for one in place(same, wall, FRAME)] == ["far away"]
    assert place([(200.0, 150.0, "x" * 100)], [], FRAME) == []


def test_labels_of_a_dense_front_cover_no_point_and_no_other_label() -> None:
    rows = found(110)["candidates"]
    times, prices = (100.0, 7000.0), (3500.0, 130000.0)
    placed = labels(rows, 1800.0, times, prices)
    named = [row["name"] for row in rows if not row["dominated"]]
    assert 3 <= len(placed) < len(named)
    assert placed[0].text == rows[0]["name"], "the cheapest candidate that meets the goal"
    assert {one.text for one in placed} <= set(named)
    own = boxes(placed)
    assert not any(a.meets(b) for place, a in enumerate(own) for b in own[:place])
    for row in rows:
        x = WIDTH * math.log(row["elapsed_s"] / times[0]) / math.log(times[1] / times[0])
        y = HEIGHT * (1 - math.log(row["price"] / prices[0]) / math.log(prices[1] / prices[0]))
        assert not any(box.meets(Box(x - 2, y - 2, x + 2, y + 2)) for box in own)


def test_every_candidate_has_a_title() -> None:
    drawn = svg(front(found(20)))
    titles = re.findall(r"<title>([^<]*)</title></path>", drawn)
    assert len(titles) == 40
    wanted = "12 hosts, &lt;E5 &amp; co.&gt;: 1,667 s [1,500, 1,833], 12,000 USD; bottleneck: cpu, "
    assert f"{wanted}next: disk" in titles
    assert "aria-label" not in drawn


def test_a_single_candidate_is_drawn_and_labelled() -> None:
    one = {"candidates": [candidate(8, 900.0)], "goal": {"within_s": 1800.0}}
    assert ">8 hosts, &lt;E5 &amp; co.&gt;<" in svg(front(one))
