"""Reviews of tables by the declared roles, the units of names, and the forms of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.detection import points_of
from tests.support.published import case_of
from windtunnel.published.case import Case, Point
from windtunnel.published.cells import plain, without_spread
from windtunnel.published.judged import figure
from windtunnel.published.mapping import map_from_roles
from windtunnel.published.profile import profile
from windtunnel.published.table import parse_table
from windtunnel.published.unit_names import unit_of, unit_of_name


def points(text: str, roles: Sequence[str] = (), **others: str) -> list[Point]:
    tables = {"t.csv": parse_table(text, "t.csv")}
    tables |= {f"{name}.csv": parse_table(t, f"{name}.csv") for name, t in others.items()}
    mapped = map_from_roles(roles).model_copy(update={"runs": "t.csv"}) if roles else None
    return points_of(Case(case_of("intel-2012").results, tables=tables, mapped=mapped))


def reviewed(text: str, roles: Sequence[str] = (), **others: str) -> list[str]:
    return [f"{p.subject} -> {p.found}" for p in points(text, roles, **others)]


# --- roles ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("began", "done"),
    [("2024-03-04 10:00:00", "2024-03-04 10:05:00"), ("1709546400", "1709546700")],
)
@pytest.mark.parametrize(("took", "count"), [(300, 0), (330, 1)])
def test_start_and_finish_are_declared(began: str, done: str, took: int, count: int) -> None:
    roles = ["began=start", "done=finish", "took=metric:elapsed:s", "job=factor"]
    found = reviewed(f"job,began,done,setup,took\na,{began},{done},7,{took}\n", roles)
    assert found == ["took = done - began: a -> 300 s from began and done"] * count


def test_times_with_and_without_a_zone_are_in_the_zone_of_the_map() -> None:
    roles = ["b=start", "e=finish", "took=metric:elapsed:s", "job=factor"]
    text = "job,b,e,took\na,2024-03-04 10:00:00+02:00,2024-03-04 10:05:00,300\n"
    mapped = map_from_roles(roles).model_copy(update={"runs": "t.csv", "utc_offset_h": 2.0})
    tables = {"t.csv": parse_table(text, "t.csv")}
    assert points_of(Case(case_of("intel-2012").results, tables=tables, mapped=mapped)) == []


def test_a_long_time_has_its_unit_and_days() -> None:
    text = "job,start,end,duration_min\na,2024-01-01 10:00,2024-01-02 16:00,30\n"
    (found,) = reviewed(text)
    assert found.endswith("1800 min (1 d 6 h) from start and end")


POWER = ((2000, 100), (2100, 120), (1900, 90), (2050, 160))


def test_the_declared_elapsed_time_is_that_of_the_energy() -> None:
    roles = ["wall_s=metric:elapsed:s", "job=factor"]
    rows = [f"{j},{w},{s / 10},{s},{w * s / 3600:.1f}" for j, (w, s) in enumerate(POWER)]
    text = "job,power_w,setup_s,wall_s,energy_wh\n" + "\n".join(rows)
    assert reviewed(text, roles) == []
    (point,) = points(text.replace("energy_wh", "energy_kj"), roles)
    assert "all 4 rows" in point.subject and "3.6: Wh and kJ" in point.means


def test_one_unknown_factor_of_all_rows_is_a_caution_but_a_number_of_nodes_is_none() -> None:
    def table(factor: float) -> str:
        rows = [f"{j},{w},{s},{factor * w * s / 1000:.1f}" for j, (w, s) in enumerate(POWER)]
        return "job,power_w,elapsed_s,energy_kj\n" + "\n".join(rows)

    (point,) = points(table(1.37))
    assert point.severity == "caution" and "factor, 1.37, within the printed digits" in point.means
    assert points(table(8)) == [] or "bytes and bits" in points(table(8))[0].means
    assert points(table(3)) == points(table(1 / 5)) == []


def test_the_numbers_of_runs_are_no_results() -> None:
    text = "job,attempt,elapsed_s\n" + "".join(f"a,{n},{100 + n}\n" for n in (1, 2, 3, 4))
    assert profile(parse_table(text, "t.csv")).columns["attempt"].kind == "id"
    constant = parse_table("job,attempt,elapsed_s\na,5,10\nb,5,11\n", "t.csv")
    assert profile(constant).columns["attempt"].kind == "number"


SCALING = {("load", 3): 100, ("load", 6): 190, ("load", 9): 275, ("read", 3): 150}
RUNS = "job,servers,repeat,elapsed_s\n" + "".join(
    f"{job},{n},{r},{s + r}\n" for (job, n), s in SCALING.items() for r in (1, 2, 3)
)


@pytest.mark.parametrize(("mean", "count"), [(277, 0), (267, 1)])
def test_a_factor_of_numbers_is_a_label_in_all_tables(mean: int, count: int) -> None:
    roles = ["job=workload", "servers=factor", "repeat=round", "elapsed_s=metric:elapsed:s"]
    rows = [f"{job},{n},{s + 2}" for (job, n), s in SCALING.items()]
    summary = "job,servers,mean_s\n" + "\n".join(rows).replace("277", str(mean))
    found = reviewed(RUNS, roles, summary=summary)
    wrong = "mean_s = arithmetic mean of elapsed_s: load 9 -> 277, the arithmetic mean of elapsed_s"
    assert found == [wrong] * count


# --- counts and nominal numbers -------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 4])
def test_a_count_has_no_digits_to_cut_off(n: int) -> None:
    runs = "job,elapsed_s\n" + "".join(f"{j},{s}\n" for j in "abcd" for s in (101, 107, 112))
    summary = "job,n,mean_s\n" + "".join(f"{j},3,106.7\n" for j in "abcd")
    assert reviewed(runs, summary=summary) == []
    found = reviewed(runs, summary=summary.replace("d,3", f"d,{n}"))
    assert found == [f"n = number of rows: d n {n} -> 3, the number of rows"]


def test_means_of_counts_are_rounded() -> None:
    table = parse_table("job,mean_tasks,tasks,nodes,n\na,12,37,8,3\nb,15,40,8,3\n", "t.csv")
    columns = profile(table).columns
    assert [columns[c].exact for c in ("mean_tasks", "tasks", "nodes", "n")] == [0, 1, 1, 1]


def test_a_line_rate_is_nominal() -> None:
    rows = "10G,9.40,10,94.0\n10G,9.85,10,98.5\n25G,18.50,25,74.0\n25G,24.12,25,96.5\n"
    text = "link,rate_gbit_s,line_rate_gbit_s,pct_of_line_rate\n" + rows
    assert reviewed(text) == []
    (found,) = reviewed(text.replace("98.5", "95.8"))
    assert found.startswith("pct_of_line_rate = rate_gbit_s / line_rate_gbit_s")


# --- units ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("aggregate_gbit_s", ("B/s", 1e9 / 8)),
        ("read_Mb_s", ("B/s", 1e6 / 8)),
        ("read_mb_s", ("B/s", 1e6)),
        ("mb_s_per_node", ("B/s/node", 1e6)),
        ("per_node_mb_s", ("B/s/node", 1e6)),
        ("median_power_per_node_w", ("W/node", 1.0)),
        ("usd_per_hour", ("usd/s", 1 / 3600)),
        ("price_per_hour_usd", ("usd/s", 1 / 3600)),
        ("price_per_gb", None),
        ("eur_per_unit", ("price eur", 1.0)),
        ("bytes_per_record", ("B/records", 1.0)),
        ("mb_per_joule", ("B/J", 1e6)),
        ("mean_ops_per_s", ("operations/s", 1.0)),
        ("throughput [ops/s]", ("operations/s", 1.0)),
        ("requests_per_second", ("requests/s", 1.0)),
        ("watt_hours", ("J", 3600.0)),
        ("energy_kj_per_run", ("J", 1e3)),
        ("seconds_per_task", ("s", 1.0)),
        ("runtime_msec", ("s", 1e-3)),
        ("power_mW", ("W", 1e-3)),
        ("power_MW", ("W", 1e6)),
        ("power_mw", None),
        ("write 10 mb (s)", ("s", 1.0)),
        ("energy (Wh)", ("J", 3600.0)),
        ("cost (USD/h)", ("usd/s", 1 / 3600)),
    ],
)
def test_units_of_names(name: str, unit: tuple[str, float] | None) -> None:
    assert unit_of_name(name) == unit


def test_units_of_cells() -> None:
    assert unit_of("mJ") == ("J", 1e-3) and unit_of("MJ") == ("J", 1e6)
    assert unit_of("MB/J") == ("B/J", 1e6)
    assert unit_of("s/s") is unit_of("per host") is unit_of("a/b/c") is None


def test_a_rate_in_bits_is_compared_with_that_in_bytes() -> None:
    rows = [f"{n},{g},{g * 125:.0f}" for n, g in enumerate((0.98, 1.77, 9.40, 18.50))]
    text = "link,gbit_s,mb_s\n" + "\n".join(rows)
    assert reviewed(text) == []
    (found,) = reviewed(text.replace("2312", "2132"))
    assert found == "mb_s = gbit_s: line 5 -> 2312.5 from gbit_s 18.5"


def test_a_cost_is_number_x_price_x_hours() -> None:
    text = "role,nodes,usd_per_hour,hours,cost_usd\na,12,0.624,74,554.11\nb,3,0.192,74,42.62\n"
    assert reviewed(f"{text}c,4,0.680,74,201.28\n") == []
    (found,) = reviewed(f"{text}c,4,0.680,74,210.28\n")
    assert found.startswith("cost_usd = nodes x usd_per_hour x hours: c -> 201.28 from nodes 4")
    # a price of all nodes
    assert reviewed("role,nodes,usd_per_hour,hours,cost_usd\na,12,2,74,148\nb,3,3,74,222\n") == []


def test_a_quotient_of_units_x_its_divisor() -> None:
    rows = [f"{n},{gb},{kj},{gb * 1000 / kj / 1000:.4f}" for n, gb, kj in JOBS]
    text = "job,input_gb,energy_kj,mb_per_joule\n" + "\n".join(rows)
    assert reviewed(text) == []
    (found,) = reviewed(text.replace("0.2061", "0.2601"))
    assert found.startswith("input_gb = mb_per_joule x energy_kj: a")


JOBS = [("a", 500, 2426), ("b", 510, 517), ("c", 120, 3393), ("d", 130, 622)]


# --- forms of numbers -----------------------------------------------------------------------


def test_signs_and_separators_of_numbers() -> None:
    assert plain("+26.9", "unknown") == "26.9"
    assert plain("\u22125", "unknown") == "-5"
    assert plain("1,072.9 s", "thousands") == "1072.9 s"
    assert plain("2,002", "unknown") == "2,002"
    assert plain("1.072,9", "decimals") == "1072.9"
    assert plain("10,20,30", "thousands") == "10,20,30"
    assert [without_spread(c) for c in ("3255 \u00b1 92", "7 +/- 1 kJ", "7 s")] == [
        "3255",
        "7 kJ",
        "7 s",
    ]


@pytest.mark.parametrize("wrong", [False, True])
def test_a_column_with_signs_separators_and_spreads_has_numbers(wrong: bool) -> None:
    rows = [f'{n},"{100 * n:,} \u00b1 3",{50.5 * n:.1f},"{150.5 * n:,.1f}"' for n in range(7, 12)]
    text = "job,map_s,reduce_s,total_s\n" + "\n".join(rows)
    found = reviewed(text.replace("1,655.5", "1,566.5") if wrong else text)
    assert found == [
        "total_s = map_s + reduce_s: line 6 -> 1655.5 from map_s 1100, reduce_s 555.5"
    ] * int(wrong)


def test_decimal_commas_of_a_file_with_semicolons() -> None:
    rows = [f"{n};{10.25 * n};{5.5 * n};{15.75 * n}".replace(".", ",") for n in range(3, 8)]
    text = "job;map_s;reduce_s;total_s\n" + "\n".join(rows)
    assert reviewed(text) == []
    assert len(reviewed(text.replace("110,25", "101,25"))) == 1


def test_marks_of_missing_numbers_are_no_numbers() -> None:
    rows = "".join(f"{n},{s}\n" for n, s in enumerate(("10", "12", "n/a", "13", "-", "11", "12")))
    assert reviewed("job,elapsed_s\n" + rows) == []


def test_points_have_no_exponents_and_no_endless_cells() -> None:
    assert [figure(x) for x in (437_767.4, 12.34567, 99999.2, 2.5e7)] == [
        "437,767",
        "12.346",
        "99999",
        "2.5e+07",
    ]
    long = "1" + "0" * 95
    rows = [f"{n},{n},{n},{2 * n}" for n in range(303, 309)]
    text = "job,map_s,reduce_s,total_s\n" + "\n".join(rows) + f"\n{'x' * 300},9,9,{long}\n"
    (point,) = [p for p in points(text) if p.check == "relations"]
    assert max(map(len, (point.subject, point.stated))) < 150
