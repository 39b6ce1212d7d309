"""Means, intervals, totals, shares and repeated numbers: which one is printed, and which is not."""

from __future__ import annotations

import math
import statistics

import pytest

from tests.support.detection import points_of
from tests.support.published import case_of
from windtunnel.published.case import Case, Point
from windtunnel.published.mapping import Map
from windtunnel.published.table import parse_table

RUNS = {"a": (100.3, 118.9, 140.2), "b": (50.1, 61.7, 83.3), "c": (20.9, 33.4, 47.8)}
TEXT = "config,run,s\n" + "".join(
    f"{c},{n},{v}\n" for c, values in RUNS.items() for n, v in enumerate(values, 1)
)


def points(text: str, mapped: Map | None = None, **others: str) -> list[Point]:
    texts = {"t": text, **others}
    tables = {f"{name}.csv": parse_table(t, f"{name}.csv") for name, t in texts.items()}
    return points_of(Case(case_of("intel-2012").results, tables=tables, mapped=mapped))


def summary(name: str, wrong: float | None = None) -> str:
    harmonic = name == "harmonic_mean_s"
    values = {
        c: statistics.harmonic_mean(v) if harmonic else statistics.fmean(v) for c, v in RUNS.items()
    }
    values["b"] = wrong or values["b"]
    return f"config,{name}\n" + "".join(f"{c},{v:.2f}\n" for c, v in values.items())


@pytest.mark.parametrize(
    ("name", "wrong", "says"),
    [
        ("harmonic_mean_s", 65.03, "is the arithmetic mean, not the harmonic mean"),
        ("mean_s", 72.50, "is the arithmetic mean without one row: s 50.1 (runs.csv:5)"),
        ("mean_s", 69.99, "not the arithmetic, geometric or harmonic mean, nor the median, of "
         "these 3 rows"),
    ],
)  # fmt: skip
def test_what_a_wrong_mean_is(name: str, wrong: float, says: str) -> None:
    assert points(summary(name), runs=TEXT) == []
    (point,) = points(summary(name, wrong), runs=TEXT)
    assert point.subject.startswith(f"{name} = {name.split('_')[0].replace('mean', 'arithmetic')}")
    assert says in point.means


def test_a_column_of_intervals_with_the_normal_distribution() -> None:
    def intervals(quantile: float) -> str:
        return "config,ci95_s\n" + "".join(
            f"{c},{quantile * statistics.stdev(v) / math.sqrt(3):.1f}\n" for c, v in RUNS.items()
        )

    assert points(intervals(4.3027), runs=TEXT) == []
    (point,) = points(intervals(1.96), runs=TEXT)
    assert "1.96 instead of Student's t, all rows" in point.subject


COSTS = "role,nodes,cost_usd\nserver,12,554.11\nmaster,3,42.62\nclient,4,201.28\ntotal,19,798.01\n"


@pytest.mark.parametrize(
    ("old", "new", "column"), [("798.01", "789.01", "cost_usd"), ("l,19", "l,18", "nodes")]
)
def test_a_single_row_of_totals_is_confirmed_by_its_other_columns(
    old: str, new: str, column: str
) -> None:
    assert points(COSTS) == []
    (point,) = points(COSTS.replace(old, new))
    assert point.subject == f"{column} = sum of the rows: total"


@pytest.mark.parametrize(
    ("text", "old", "new", "subject"),
    [
        (
            "system,disks_eur,power_eur,rack_eur,sum_eur\na,59268,6621,17820,83709\n"
            "b,43524,1917,17820,63261\nc,37292,1513,41580,80385\n",
            "63261",
            "62361",
            "sum_eur = disks_eur + power_eur + rack_eur: b",
        ),
        (
            "job,min_w,mean_w,max_w\na,389,638,715\nb,393,644,722\nc,312,511,573\n",
            "511",
            "611",
            "min_w <= mean_w <= max_w: c",
        ),
        (
            "job,total_mb_s,per_node_mb_s\na,1759,219.9\nb,2877,359.6\nc,282,35.3\nd,448,56.0\n"
            "e,1411,176.4\n",
            "359.6",
            "431.5",
            "per_node_mb_s = total_mb_s / 8: b",
        ),
        (
            "job,nodes,speedup,efficiency_pct\na,3,1.00,100\na,6,1.86,93\na,9,2.63,88\n"
            "a,12,3.41,85\nb,6,1.73,87\n",
            "2.63,88",
            "2.63,98",
            "efficiency_pct = speedup / (nodes / 3): a",
        ),
        (
            "codec,disks,eur\nnone,24,2832.00\nsnappy,13,1534.00\nzstd,7,826.00\ngzip,8,944.00\n",
            "826.00",
            "1062.00",
            "eur = disks x 118: zstd",
        ),
    ],
)
def test_relations_that_names_state(text: str, old: str, new: str, subject: str) -> None:
    assert points(text) == []
    assert [p.subject for p in points(text.replace(old, new))] == [subject]


def test_a_number_that_another_table_repeats() -> None:
    bill = "system,part,line_eur\n" + "".join(
        f"{s},cpu,{total - 1000}\n{s},disk,1000\n{s},total,{total}\n"
        for s, total in (("a", 59268), ("b", 43524), ("c", 37292))
    )
    plan = "system,hardware_eur\na,59268\nb,43524\nc,37292\n"
    assert points(plan, bill=bill) == []
    (point,) = points(plan.replace("37292", "39272"), bill=bill)
    assert point.subject == "hardware_eur = line_eur of bill.csv: c"
    # Two equal numbers of few digits can be chance.
    few = [t.replace("59268", "60000").replace("43524", "40000") for t in (plan, bill)]
    assert points(few[0].replace("37292", "30000"), bill=few[1]) == []


def test_the_ratio_of_means_beside_a_median() -> None:
    runs = "config,run,s\n" + "".join(
        f"{c},{n},{v}\n"
        for c, values in {"x": (10, 11, 18), "y": (20, 21, 40), "z": (30, 33, 33)}.items()
        for n, v in enumerate(values, 1)
    )
    head = "config,median_s,relative_time\nx,11.0,1.000\n"
    medians = head + "y,21.0,1.909\nz,33.0,3.000\n"
    assert points(medians, runs=runs) == []
    assert points(medians.replace("1.909", "2.077"), runs=runs) == []  # 27.0 / 13.0
    assert points(medians + "w,44.0,4.000\nv,55.0,5.000\nu,66.0,6.900\n", runs=runs) != []


def test_a_speed_up_over_the_second_factor() -> None:
    mapped = Map.model_validate(
        {
            "workload": "job",
            "factors": {
                "store": {"column": "store", "baseline": "hbase"},
                "nodes": {"column": "nodes", "baseline": "3"},
            },
            "metrics": {"elapsed": {"column": "s", "unit": "s"}},
        }
    )
    rows = [
        (store, nodes, base * factor)
        for store, base in (("hbase", 27725), ("cassandra", 33111))
        for nodes, factor in ((3, 1.0), (6, 1.86), (9, 2.63), (12, 3.41))
    ]
    text = "store,nodes,mean_ops_per_s,speedup\n" + "".join(
        f"{s},{n},{v:.0f},{v / (27725 if s == 'hbase' else 33111):.2f}\n" for s, n, v in rows
    )
    assert points(text, mapped) == []
    (point,) = points(text.replace("2.63\ncass", "2.63\ncass").replace("2.63", "2.36", 1), mapped)
    assert point.subject == "speedup = mean_ops_per_s / baseline: hbase"


def test_repetitions_that_round_to_the_same_numbers_are_no_copies() -> None:
    seconds = {"none": (1185, 1160, 1185), "gzip": (1503, 1498, 1460), "zstd": (1011, 1032, 982)}
    rows = [
        f"{codec},{run},2023-0{run}-11,{s},{s * share / 60:.0f}\n"
        for codec, share in (("none", 6.1), ("gzip", 13.8), ("zstd", 8.7))
        for run, s in enumerate(seconds[codec], 1)
    ]
    text = "codec,run,date,time_s,cpu_min\n" + "".join(rows)
    assert points(text) == []
    copied = text.replace("zstd,1,2023-01-11,1011,147", "zstd,1,2023-01-11,1503,346")
    assert any(p.check == "copies" for p in points(copied))


def test_a_ratio_whose_name_says_of_what() -> None:
    mapped = Map.model_validate(
        {
            "workload": "job",
            "factors": {"format": {"column": "format", "baseline": "text"}},
            "metrics": {"elapsed": {"column": "s", "unit": "s"}},
        }
    )
    text = "format,sum_s,ratio_of_sums\ntext,2002,1.00\norc,810,2.47\nparquet,1010,1.98\n"
    assert points(text, mapped) == []
    (point,) = points(text.replace("1.98", "2.18"), mapped)
    assert point.subject == "ratio_of_sums = baseline / sum_s: parquet"
    other = text.replace("ratio_of_sums", "ratio_of_sizes")
    assert points(other.replace("1.98", "2.18"), mapped) == []


def test_the_same_power_in_two_tables() -> None:
    watts = [638, 644, 636, 511, 513, 508, 2211, 2198, 2204]
    keys = [f"{p},{j}" for p in ("arm", "atom", "xeon") for j in ("sort", "grep", "kmeans")]
    runs = "platform,job,repeat,mean_watts\n" + "".join(
        f"{key},{run},{w + (run - 1) * (4 if w % 2 else -4)}\n"
        for run in (1, 2)
        for key, w in zip(keys, watts, strict=True)
    )
    metering = "platform,job,mean_w\n" + "".join(
        f"{key},{w}\n" for key, w in zip(keys, watts, strict=True)
    )
    assert points(metering, runs=runs) == []
    (point,) = points(metering.replace("2211", "2011"), runs=runs)
    assert point.subject == "mean_w = mean_watts of runs.csv: xeon sort"


@pytest.mark.parametrize(("unit", "count"), [("s", 0), ("min", 1)])
def test_digits_are_compared_with_the_effect(unit: str, count: int) -> None:
    mapped = Map.model_validate(
        {
            "workload": "job",
            "factors": {"codec": {"column": "codec", "baseline": "none"}},
            "metrics": {"elapsed": "time"},
        }
    )
    seconds = {"none": (613, 1185, 885), "snappy": (496, 959, 723), "lz4": (560, 1080, 800)}
    rows = [
        f"{codec},{job},{run},{(s + 7 * run) / (60 if unit == 'min' else 1):.0f} {unit}\n"
        for codec, values in seconds.items()
        for job, s in zip(("wordcount", "join", "session"), values, strict=True)
        for run in (1, 2, 3)
    ]
    found = points("codec,job,run,time\n" + "".join(rows), mapped)
    assert [p.check for p in found] == ["precision"] * count


def test_a_number_of_runs_is_exact() -> None:
    text = "config,n\na,3\nb,3\nc,3\n"
    assert points(text, runs=TEXT) == []
    (point,) = points(text.replace("b,3", "b,2"), runs=TEXT)
    assert point.subject == "n = number of rows: b n 2"
