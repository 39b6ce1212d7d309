"""One wrong cell is one point that names what it contradicts; other errors stay apart."""

from __future__ import annotations

from tests.support.detection import points_of
from tests.support.published import case_of
from windtunnel.published.case import Case, Point
from windtunnel.published.merging import once
from windtunnel.published.table import parse_table


def point(subject: str, *cells: str, check: str = "relations", stated: str = "") -> Point:
    return Point(check, "serious", subject, stated, "", "", "", "m.", cells=cells)


def subjects(*points: Point) -> list[str]:
    return [p.subject for p in once(points)]


def test_the_cell_of_most_relations_is_the_wrong_one() -> None:
    rate = point("bytes = rate x wall", "r.csv:5:bytes", "r.csv:5:rate", "r.csv:5:wall")
    parts = point("wall = a + b", "r.csv:5:wall", "r.csv:5:a", "r.csv:5:b")
    means = [
        point(name, f"t.csv:3:{name}", *(f"r.csv:{n}:wall" for n in (5, 9, 13)), check="summaries")
        for name in ("average", "sd")
    ]
    (one,) = once([rate, parts, *means])
    assert one.subject == "wall = a + b"
    assert one.cells[0] == "r.csv:5:wall"
    assert "Other points about wall (r.csv:5): bytes = rate x wall, average (t.csv:3)" in one.means


def test_a_wrong_summary_does_not_accuse_its_runs() -> None:
    runs = [f"r.csv:{n}:wall" for n in (5, 9, 13)]
    mean = point("mean", "t.csv:3:mean", *runs, check="summaries")
    gain = point("gain", "t.csv:3:gain", "t.csv:3:mean", "t.csv:2:mean", check="summaries")
    other = point("total", "u.csv:2:total", *runs, check="summaries")
    assert subjects(mean, gain, other) == ["mean", "total"]


def test_several_statistics_of_the_same_runs_are_one_point() -> None:
    runs = [f"r.csv:{n}:wall" for n in (5, 9, 13)]
    statistics = [point(n, f"t.csv:3:{n}", *runs, check="summaries") for n in ("mean", "sd", "max")]
    assert subjects(*statistics) == ["mean"]
    label = point("label", "r.csv:9:size", "r.csv:9", check="determined")
    assert subjects(*statistics, label) == ["label"]
    # One statistic can be wrong itself, whatever another column of a run says.
    assert subjects(statistics[0], label) == ["mean", "label"]


def test_rows_with_the_same_factor_are_one_point() -> None:
    text = "platform,job,minutes,mean_watts,energy_kj\n" + "".join(
        f"{platform},{job},{minutes},{watts},{watts * minutes * 60 / unit:.0f}\n"
        for platform, watts, unit in (("arm", 640, 1e3), ("xeon", 2200, 1e3), ("atom", 510, 3600))
        for job, minutes in (("sort", 63.3), ("grep", 33.4), ("kmeans", 88.9))
    )
    tables = {"t.csv": parse_table(text, "t.csv")}
    (one,) = points_of(Case(case_of("intel-2012").results, tables=tables))
    assert one.subject.startswith("unit of energy_kj in 3 rows")
    assert "3.6: kJ and Wh" in one.means


def test_points_without_cells_and_other_rows_stay() -> None:
    free = point("facts")
    assert subjects(free, free, point("a", "r.csv:5:a"), point("b", "r.csv:6:a")) == [
        "facts",
        "facts",
        "a",
        "b",
    ]
