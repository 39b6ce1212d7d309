"""How drawings are put together: every part keeps its rows, and the picture holds them all."""

from __future__ import annotations

import altair as alt

from windtunnel.report.charts.parts import Drawing, data, grid, layer, stack
from windtunnel.report.svg import svg


def bars(name: str, value: float) -> Drawing:
    base = alt.Chart(data([{"name": name, "value": value}]))
    shown = base.mark_bar().encode(x=alt.X("value:Q"), y=alt.Y("name:N"))
    return layer(shown, base.mark_text().encode(text=alt.Text("name:N")), width=90, height=40)


def test_parts_share_equal_rows_and_keep_their_own() -> None:
    whole = stack(
        bars("one", 1), grid(bars("two", 2), bars("one", 1), columns=2, spacing=9), spacing=5
    )
    names = {rows[0]["name"] for rows in whole["datasets"].values()}

    assert names == {"one", "two"}
    assert len(whole["datasets"]) == 2, "equal rows are there once"
    nested = whole["vconcat"][1]["concat"]
    assert all("datasets" not in part for part in [*whole["vconcat"], *nested])
    assert (whole["spacing"], whole["vconcat"][1]["columns"]) == (5, 2)


def test_a_title_is_there_if_it_was_given() -> None:
    base = alt.Chart(data([{"x": 1}])).mark_point()
    assert layer(base, title="a", width=1)["title"] == "a"
    assert "title" not in layer(base, width=1)


def test_the_picture_shows_every_part() -> None:
    drawn = svg(stack(bars("one", 1), bars("two", 2), spacing=5))
    assert drawn.startswith("<svg ")
    assert ">one<" in drawn
    assert ">two<" in drawn
