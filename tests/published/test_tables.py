"""Checks of tables without hints: planted errors are found, and correct tables have no points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.detection import STUDIES, key, outcomes, points_of, random_case
from tests.support.planted import KINDS, plant
from tests.support.published import case_of
from windtunnel.errors import DescriptionError
from windtunnel.published.case import Case, Point
from windtunnel.published.checks import TABLES
from windtunnel.published.mapping import Map, map_from_roles
from windtunnel.published.profile import unit_of_name
from windtunnel.published.review import open_case, review
from windtunnel.published.sources import import_csv, read_map
from windtunnel.published.store import write_results
from windtunnel.published.table import parse_table

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/review"

RIGHT = {
    "cisco-2014": {
        # the workbook gives 1.91 min, the three runs 1.77
        "elapsed_min = arithmetic mean of elapsed_reported: test7 E5-2690v2 (HT-off) tera1 "
        "teravalidate",
        # four samples of 0 W of servers that draw 2,000 W when idle
        "power_w 0: test2 GroupBD and 3 more",
        # the workbook records the configuration of another test
        *(
            f"{what}: two values"
            for what in (
                "test6, effective_line_rate_gbps",
                "test7, hyper_threading",
                "test7, vcores_per_nodemanager",
                "test9, datanodes",
                "test10, datanodes",
                "test12, hdd_per_datanode",
            )
        ),
        "part_number UCS-CPU-E52600B has two prices",
        # optmem_max; with this spelling the kernel changes nothing
        "name of a setting: net.core.optme_max",
        # the report lists onBoot.sh without this line
        "transparent_hugepage/enabled never is only in repo file",
        # rmem_default is set twice and wmem_default never
        "sysctl.csv, the same row 2 times: repo_tuned net.core.rmem_default",
        # an open port of the security assessment that the other list of ports lacks
        "Server 2 TCP DataNode HTTP Web UI Port is only in security pdf",
    },
    "cern-2016": {"recap IO per VM MB/s SSD, stated twice"},
    "mellanox-2014": {
        "hadoop_name_job boot_ssd_text 256 GB SAS SSD (body text), stated twice",
        # no result of CephFS is published
        "config.csv: 1 of 1 claim not compared",
    },
    # shares of the scheduler, parts of a job and what all virtual cases have in common
    "vmware-2011": {"claims.csv: 6 of 23 claims not compared"},
    # the bandwidth of a bus
    "intel-2012": {"facts.csv: 1 of 4 claims not compared"},
}
"""Points of the published tables that were judged right, with the reason."""


def table_points(case: Case) -> list[Point]:
    return [point for check in TABLES for point in check.run(case)]


@pytest.mark.parametrize("name", STUDIES)
def test_points_of_the_published_tables_are_right(name: str) -> None:
    listed = {p.subject for p in points_of(case_of(name)) if p.check != "arithmetic"}
    assert listed == RIGHT.get(name, set())


@pytest.mark.parametrize("seed", range(30))
def test_correct_tables_have_no_points(seed: int) -> None:
    assert [p.subject for p in points_of(random_case(seed))] == []


@cache
def clean_case(seed: int) -> tuple[Case, dict[Any, int]]:
    """A random study, and its points without any error."""
    case = random_case(seed)
    return case, {key(p): 1 for p in points_of(case)}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_planted_errors_are_found(kind: str) -> None:
    """Of four random studies: at least half of the errors of each kind, mostly all."""
    found = []
    for seed in range(1000, 1004):
        case, clean = clean_case(seed)
        found += [o.found for o in outcomes("", case, kind, range(seed, seed + 1), clean)]
    assert found
    assert sum(found) >= 0.5 * len(found)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(KINDS)), st.integers(0, 10_000))
def test_no_error_in_a_table_stops_the_review(kind: str, seed: int) -> None:
    case = random_case(seed % 40)
    planted = plant(kind, case.tables, seed)
    if planted is not None:
        again = plant(kind, planted.tables, seed + 1)
        points_of(case, (again or planted).tables)


cells = st.sampled_from(
    ["", "0", "-1", "3.5", "a", "2024-01-01 10:00", "7 GB", "1e9", "total", "%"]
)
names = st.sampled_from(
    ["job", "n", "mean_s", "sd_s", "value", "unit", "start", "end", "elapsed_s", "power_w", "rows"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(names, min_size=1, max_size=5, unique=True), st.data())
def test_any_table_can_be_reviewed(columns: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(*[cells] * len(columns)), min_size=1, max_size=9))
    text = "\n".join([",".join(columns), *(",".join(row) for row in rows)])
    try:
        table = parse_table(text, "t.csv")
    except DescriptionError:
        return
    table_points(Case(case_of("intel-2012").results, tables={"t.csv": table, "u.csv": table}))


# --- single relations -----------------------------------------------------------------------


def reviewed(text: str, mapped: Map | None = None, **others: str) -> list[str]:
    tables = {"t.csv": parse_table(text, "t.csv")}
    tables |= {f"{name}.csv": parse_table(t, f"{name}.csv") for name, t in others.items()}
    case = Case(case_of("intel-2012").results, tables=tables, mapped=mapped)
    return [f"{p.subject} -> {p.found}" for p in points_of(case)]


def test_a_mean_that_fits_one_definition_is_right() -> None:
    pairs = {"a": (10, 40), "b": (90, 10), "c": (20, 80), "d": (50, 2)}
    runs = "config,run,s\n" + "".join(
        f"{config},{run},{value}\n"
        for config, values in pairs.items()
        for run, value in enumerate(values, 1)
    )
    geometric = "config,mean_s\na,20.0\nb,30.0\nc,40.0\nd,10.0\n"
    assert reviewed(geometric, runs=runs) == []
    wrong = geometric.replace("40.0", "45.0")
    assert reviewed(wrong, runs=runs) == [
        "mean_s = geometric mean of s: c -> 40, the geometric mean of s"
    ]


def test_a_spread_that_divides_by_n_is_one_point() -> None:
    runs = "config,run,s\n" + "".join(
        f"{config},{run},{value}\n"
        for config, first in (("a", 100), ("b", 220), ("c", 330), ("d", 470))
        for run, value in enumerate((first, first * 1.1, first * 1.2), 1)
    )
    by_n = "config,sd_s\na,8.165\nb,17.963\nc,26.944\nd,38.376\n"
    points = reviewed(by_n, runs=runs)
    assert len(points) == 1
    assert "divided by n" in points[0]


def test_a_column_in_another_unit_is_one_point() -> None:
    rows = [(100, 2000), (130, 2100), (170, 2300), (210, 2500)]
    text = "job,elapsed_s,power_w,energy_kwh\n" + "".join(
        f"j{s},{s},{w},{s * w / 3600:.2f}\n" for s, w in rows
    )
    points = reviewed(text)
    assert len(points) == 1
    assert points[0].startswith("unit of energy_kwh = power_w x elapsed_s, all 4 rows")


def test_a_moved_column_is_one_point() -> None:
    rows = [(100, 2000), (130, 2100), (170, 2300), (210, 2500), (260, 2550), (310, 2700)]
    energies = [s * w / 3.6e6 for s, w in rows]
    moved = [0.031, *energies[:-1]]
    text = "job,elapsed_s,power_w,energy_kwh\n" + "".join(
        f"j{s},{s},{w},{e:.5f}\n" for (s, w), e in zip(rows, moved, strict=True)
    )
    points = reviewed(text)
    assert len(points) == 1
    assert points[0].startswith("column energy_kwh is moved by one row")


def test_samples_against_their_window() -> None:
    head = "graph,samples,interval_s,window_start,window_end\n"
    rows = "a,{},300,2024-01-01 10:00:00,2024-01-01 12:00:00\n"
    assert reviewed(head + rows.format(24) + rows.replace("a,", "b,").format(25)) == []
    assert len(reviewed(head + rows.format(24) + rows.replace("a,", "b,").format(40))) == 1


def test_up_to_is_a_bound_and_a_rounded_number_is_rounded() -> None:
    runs = "platform,elapsed_s\nnative,100\nvm,120.4\n"
    claim = "claim,value,unit\nvm slower than native{},{},percent\n"
    for words, value, count in (
        ("", "20", 0), ("", "25", 1), (" (about)", "21", 0), (" (up to)", "25", 0),
        (" (up to)", "60", 1), ("", "-20", 0), (" in winter", "55", 0),
    ):  # fmt: skip
        claims = claim.format(words, value)
        found = [p for p in reviewed(runs, claims=claims) if "slower" in p]
        assert len(found) == count, (words, value, found)


def test_the_count_of_runs_in_the_text() -> None:
    runs = "job,run,s\na,1,5\na,2,6\na,3,7\n"
    assert reviewed(runs, claims="claim,value,unit\nruns per job,3,runs\n") == []
    assert len(reviewed(runs, claims="claim,value,unit\nruns per job,5,runs\n")) == 1


# --- tables of users ------------------------------------------------------------------------


def column(names: str, values: Sequence[object], more: str = "") -> str:
    """Rows with a job and a value each."""
    return "".join(f"{job},{v}{more}\n" for job, v in zip(names, values, strict=True))


def test_units_beside_the_number_without_a_space() -> None:
    runs = "job,took\n" + column("abcdefgh", (90, 91, 92, 0, 93, 89, 90.5, 91.5), "s")
    (point,) = reviewed(runs)
    assert point.startswith("took 0s")


def test_bits_and_bytes_differ_by_the_letter() -> None:
    rows = column("abc", [f"{gb},10,{gb * 0.8:g}" for gb in (100, 150, 90)])
    assert reviewed(f"job,size_gb,elapsed_s,rate (Gb/s)\n{rows}") == []
    assert len(reviewed(f"job,size_gb,elapsed_s,rate (GB/s)\n{rows}")) >= 1


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("rate (Gb/s)", ("B/s", 1e9 / 8)),
        ("rate_gb/s", ("B/s", 1e9)),
        ("throughput_mb_sec", ("B/s", 1e6)),
        ("took_sec", ("s", 1.0)),
    ],
)
def test_units_of_names(name: str, unit: tuple[str, float]) -> None:
    assert unit_of_name(name) == unit


def test_the_time_of_a_part_is_not_compared_with_the_stamps() -> None:
    stamps = "2024-03-31T01:00:00,2024-03-31T01:10:00"
    assert reviewed(f"job,start,end,setup_s,elapsed_s\na,{stamps},12,600\n") == []
    (point,) = reviewed(f"job,start,end,setup_s,elapsed_s\na,{stamps},12,700\n")
    assert point.startswith("elapsed_s = end - start")


@pytest.mark.parametrize(
    ("start", "end", "elapsed_s"),
    [
        ("2024-03-31T01:30:00+01:00", "2024-03-31T03:30:00+02:00", 3600),
        ("2024-04-01T01:30:00Z", "2024-04-01T03:31:00+02:00", 60),
        ("2024-04-01T01:30+02:00", "2024-04-01T01:31+02:00", 95),
    ],
)
def test_offsets_of_time_zones_count(start: str, end: str, elapsed_s: int) -> None:
    assert reviewed(f"job,start,end,elapsed_s\na,{start},{end},{elapsed_s}\n") == []


def test_marks_of_footnotes_stop_nothing() -> None:
    runs = "job,elapsed_s\n" + column("abcde", ("10", "12", "13", "14", "12²"))
    (point,) = reviewed(runs, claims="claim,value,unit\nruns per job,3²,runs\n")
    assert point.startswith("elapsed_s 12²") and "numbers" in point


def test_a_part_of_a_time_can_be_absent() -> None:
    runs = "job,map_s,reduce_s\nteragen,60,0\nterasort,90,80\nwordcount,70,30\nother,50,20\n"
    assert reviewed(runs) == []


# --- an import ------------------------------------------------------------------------------


def imported(tmp_path: Path, relations: str | None = None) -> Path:
    for file in EXAMPLE.iterdir():
        (tmp_path / file.name).write_text(file.read_text())
    if relations is not None:
        (tmp_path / "review.yaml").write_text(relations)
    mapped, text = read_map(tmp_path / "review-map.yaml")
    built = import_csv(tmp_path / "measured.csv", mapped, "measured", text, tmp_path)
    write_results(built, tmp_path / "out")
    return tmp_path / "out"


def test_five_errors_in_an_imported_study(tmp_path: Path) -> None:
    points = review(open_case(str(imported(tmp_path)))).points
    wrong = {p.subject for p in points if p.severity in ("serious", "caution")}
    assert wrong == {
        "seconds = end - start: tuned terasort run 2",
        "energy_kwh = power_w x seconds: tuned wordcount run 3",
        "n = number of rows: stock wordcount n 4",
        "change_pct = mean_s / baseline - 1: tuned terasort n 3",
        "name of a setting: mapreduce.task.io.sort.factr",
    }


def test_relations_beside_an_import_are_kept_and_checked(tmp_path: Path) -> None:
    relations = (
        "equations:\n  - name: power below the limit of the rack\n    each: measured.csv\n"
        "    label: '{config} {run}'\n    stated: power_w\n    found: 2000\n    kind: at most\n"
        "    means: more than the fuse allows.\n"
    )
    points = review(open_case(str(imported(tmp_path, relations)))).points
    assert sum(p.subject.startswith("power below the limit") for p in points) == 12


ROWS = "equations: [{name: a, each: summary.csv, stated: n, found: n, means: z, "
ONCE = "once: [{name: a, table: summary.csv, column: config, value: n, means: z, "
MEANS = (
    "means_of_ratios: [{name: a, means: z, stated: {table: summary.csv, value: n}, "
    "ratios: {table: summary.csv, "
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "equations: [{name: a, each: no.csv, stated: x, found: y, means: z}]\n",
            "no table 'no.csv'",
        ),
        (
            "equations: [{name: a, each: summary.csv, stated: nn, found: n, means: z}]\n",
            "no column 'nn'",
        ),
        (
            "equations: [{name: a, each: summary.csv, label: '{who}', stated: n, found: n, "
            "means: z}]\n",
            "'{who}'",
        ),
        ("once: [{name: a, table: summary.csv, column: q, value: n, means: z}]\n", "no column 'q'"),
        ("equations: [{name: a, stated: 'x +', found: y, means: z}]\n", "is not an expression"),
        (
            "equations: [{name: a, each: settings.csv, stated: value, found: p, means: z, "
            "picks: {p: {table: settings.csv, value: '{setting} x'}}}]\n",
            "with the cells of settings.csv:2, '{setting} x': 'dfs.replication x' is not an",
        ),
        ("colour: red\n", "colour"),
        (ROWS + "label: '{n:02d}'}]\n", "no column and no word of every case '{n:02d}'"),
        (ROWS + "label: '{n[0]}'}]\n", "'{n[0]}'"),
        (ROWS + "label: '{n.real}'}]\n", "'{n.real}'"),
        (ROWS + "where: {config: '{workload}'}}]\n", "the names are: none"),
        (
            ROWS + "cases: [config, {stock: {a: x, b: y}, tuned: {a: z}}], label: '{a} {b}'}]\n",
            "'{b}'",
        ),
        (
            ROWS + "picks: {p: {table: summary.csv, where: {config: '{who}'}, value: n}}}]\n",
            "equations.0.picks.p.where.config",
        ),
        (ONCE + "where: {no_such_column: x}}]\n", "no column 'no_such_column'"),
        (ONCE + "where: {config: '{config}'}}]\n", "once.0.where.config"),
        (MEANS + "where: {config: '{config}'}, value: n}}]\n", "means_of_ratios.0.ratios.where"),
        (MEANS + "value: '{n}'}}]\n", "means_of_ratios.0.ratios.value"),
    ],
)
def test_wrong_relations_are_refused_with_their_place(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(DescriptionError) as caught:
        imported(tmp_path, text)
    assert words in caught.value.render()
    assert "review.yaml" in caught.value.render()
    assert not (tmp_path / "out").exists()


def test_names_in_braces_can_have_signs_of_formats(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("c[1],n.a,t:2d,s\na,b,c,5\n")
    (tmp_path / "review.yaml").write_text(
        "equations: [{name: e, each: r.csv, stated: s, found: 4, means: z, "
        "label: '{c[1]} {n.a} {t:2d} {', picks: {}}]\n"
    )
    mapped = map_from_roles(["c[1]=factor", "s=metric:elapsed:s"])
    write_results(import_csv(tmp_path / "r.csv", mapped, "r", "", tmp_path), tmp_path / "out")
    points = review(open_case(str(tmp_path / "out"))).points
    assert "e: a b c {" in [point.subject for point in points]


def test_rows_without_a_case_are_not_checked(tmp_path: Path) -> None:
    relations = (
        ROWS + "cases: [config, {stock: {column: n}}], "
        "picks: {p: {table: summary.csv, where: {config: '{config}'}, value: '{column}', "
        "take: most}}}]\n"
    )
    assert imported(tmp_path, relations).is_dir()


def test_an_import_by_roles_is_reviewed(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("c,run,s\na,1,5.1\na,2,5.2\na,3,0\na,4,5.3\n")
    mapped = map_from_roles(["c=factor", "run=round", "s=metric:elapsed:s"])
    write_results(import_csv(tmp_path / "r.csv", mapped, "r", "", tmp_path), tmp_path / "out")
    subjects = [p.subject for p in review(open_case(str(tmp_path / "out"))).points]
    assert any(s.startswith("s 0") for s in subjects)


def test_a_missing_table_of_the_map_is_named(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("c,s\na,5.1\n")
    mapped = map_from_roles(["c=factor", "s=metric:elapsed:s"])
    mapped = mapped.model_copy(update={"tables": ("gone.csv",)})
    with pytest.raises(DescriptionError) as caught:
        import_csv(tmp_path / "r.csv", mapped, "r", "", tmp_path)
    assert "gone.csv" in caught.value.render()


def test_the_reading_of_a_case_does_not_depend_on_earlier_ones() -> None:
    case = random_case(5)
    first = [key(p) for p in points_of(case)]
    assert [key(p) for p in points_of(replace(case))] == first
