"""Reviews: what contradicts is found, what agrees is left alone, and nothing is written down."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.support.detection import points_of as table_points
from tests.support.published import case_of
from tests.support.synthetic import Plan, study_folder
from windtunnel.published.case import Case, Point
from windtunnel.published.checks import CHECKS, arithmetic, energy, facts
from windtunnel.published.relations import Counters, Equation, Relations, Spelling
from windtunnel.published.review import open_case, review
from windtunnel.published.table import Row, Table, parse_table
from windtunnel.results.power import read_power


@cache
def points_of(name: str) -> tuple[Point, ...]:
    return tuple(review(case_of(name)).points)


def found(name: str, check: str) -> list[str]:
    return [point.subject for point in points_of(name) if point.check == check]


def changed(case: Case, table: str, fits: Callable[[Row], bool], column: str, to: str) -> Case:
    """The case with one column of the rows that fit changed."""
    rows = [
        Row({**row.cells, column: to}, row.line, row.file) if fits(row) else row
        for row in case.tables[table].rows
    ]
    assert rows != list(case.tables[table].rows)
    old = case.tables[table]
    return replace(case, tables={**case.tables, table: Table(old.name, old.columns, rows)})


def new_points(
    name: str, table: str, fits: Callable[[Row], bool], column: str, to: str
) -> list[str]:
    """Subjects that one changed cell adds to the points of the tables."""
    before = {p.subject for p in table_points(case_of(name))}
    after = table_points(changed(case_of(name), table, fits, column, to))
    return sorted({p.subject for p in after} - before)


# --- what the studies got wrong -------------------------------------------------------------


def test_cisco_settings_that_contradict_the_test_matrix() -> None:
    assert sorted(found("cisco-2014", "two-values")) == [
        f"{what}: two values"
        for what in (
            "test10, datanodes",
            "test12, hdd_per_datanode",
            "test6, effective_line_rate_gbps",
            "test7, hyper_threading",
            "test7, vcores_per_nodemanager",
            "test9, datanodes",
        )
    ]


def test_cisco_numbers_that_contradict_each_other() -> None:
    assert sorted(found("cisco-2014", "arithmetic")) == [
        "dropping one of N nodes, fraction: 6 to 5 nodes stated fraction",
        "fraction and percentage of the nodes taken away: 6 to 5 nodes",
        "gap in energy of word count, in the text: wordcount energy gap vs E5-2643 v2 low",
        "rest of the system price, the same for all CPUs: E5-2690 v2",
    ]
    assert found("cisco-2014", "summaries") == [
        "elapsed_min = arithmetic mean of elapsed_reported: test7 E5-2690v2 (HT-off) tera1 "
        "teravalidate"
    ]


def test_cisco_energy_holds_more_than_the_jobs() -> None:
    points = {p.subject: p for p in points_of("cisco-2014") if p.check == "energy-of-jobs"}
    assert set(points) == {
        "test3 (E5-2643v2): metered time",
        "energy of E5-2643v2 against E5-2660v2",
    }
    delta = points["energy of E5-2643v2 against E5-2660v2"]
    assert delta.stated == "+43.0 %"
    assert delta.found.startswith("+16")
    assert not found("cisco-2014", "energy-samples")


def test_power_samples_without_a_period_are_not_compared(tmp_path: Path) -> None:
    """Folders of earlier versions can have an interval of 0."""
    case = case_of("cisco-2014")
    (record,) = read_power(case.results.path)
    (tmp_path / "power").mkdir()
    data = replace(record, period_s=0.0).to_bytes()
    (tmp_path / "power" / record.name).write_bytes(data)
    assert not list(energy.of_samples(replace(case, results=replace(case.results, path=tmp_path))))


def test_cisco_energy_table_is_recomputed() -> None:
    rows = {row.treatment: row for row in review(case_of("cisco-2014"), ()).energy}
    assert list(rows) == [f"test{number}" for number in range(1, 9)]
    assert rows["test1"].jobs is None
    for row in rows.values():
        assert row.product == pytest.approx(row.stated, abs=0.06)
    assert rows["test2"].jobs == pytest.approx(17.9, abs=0.2)


def test_cisco_conduct() -> None:
    assert found("cisco-2014", "variation") == [
        "test6 / terasort-1tb / teravalidate: spread of 3 runs"
    ]
    assert found("cisco-2014", "missing") == [f"treatment test{n}" for n in (9, 10, 11, 12)]
    missing = [p for p in points_of("cisco-2014") if p.check == "missing"]
    assert {(p.severity, p.found) for p in missing} == {("note", "not in this catalogue")}
    for check in (
        "counters",
        "order",
        "spelling",
        "impossible",
        "duplicates",
        "one-meaning",
        "resolution",
        "unverified",
    ):
        assert len(found("cisco-2014", check)) == 1, check
    assert len(found("cisco-2014", "one-side")) == 2
    assert found("cisco-2014", "confounded") == ["factor cpu", "factor hyper_threading"]


def test_vmware() -> None:
    assert found("vmware-2011", "arithmetic") == [
        "memory that can cache what a run has just written, TestDFSIO (rule 7)"
    ]
    assert len(found("vmware-2011", "one-run")) == 1
    assert not found("vmware-2011", "mean-of-ratios")  # 4 % is the geometric mean, 4.32 %
    assert found("vmware-2011", "confounded") == [
        "setting nic_driver",
        "setting mapred.child.java.opts Xmx",
    ]


def test_cern() -> None:
    subjects = found("cern-2016", "arithmetic")
    assert [s for s in subjects if "rule 7" not in s] == [
        "throughput of all machines = machines x throughput of one: vm_ssd",
        "throughput of one VM, table and text: vm_hdd",
    ]
    assert found("cern-2016", "recaps") == ["recap IO per VM MB/s SSD, stated twice"]


def test_intel_and_mellanox() -> None:
    assert found("intel-2012", "arithmetic") == [
        "gain of E5 over the processor before, up to",
        "less latency of I/O, up to",
    ]
    assert found("mellanox-2014", "arithmetic") == [
        "placement groups per OSD",
        "replicas of HDFS and of CephFS (like with like)",
        "hosts of the two clusters (like with like)",
    ]
    assert found("mellanox-2014", "recaps") == [
        "hadoop_name_job boot_ssd_text 256 GB SAS SSD (body text), stated twice"
    ]
    assert found("mellanox-2014", "missing") == ["treatment hdfs", "treatment cephfs"]


@pytest.mark.parametrize("name", ["cisco-2014", "vmware-2011", "cern-2016"])
def test_every_point_has_both_numbers_and_their_sources(name: str) -> None:
    for point in points_of(name):
        assert all((point.stated, point.stated_source, point.found, point.found_source)), point
        assert point.means


# --- the findings come from the numbers -----------------------------------------------------


@pytest.mark.parametrize(
    ("name", "table", "where", "column", "to", "subject"),
    [
        (
            "cisco-2014",
            "power_summary.csv",
            {"label": "E5-2643v2"},
            "energy_kwh",
            "27.6",
            "energy_kwh = avg_power_w x duration_h: test3 E5-2643v2 E5-2660v2",
        ),
        (
            "cisco-2014",
            "deltas.csv",
            {"label": "E5-2690v2 (1Gb)", "metric": "Delta TeraGen - Time to Complete (MM)"},
            "delta_fraction",
            "6.1000",
            "difference to full line rate, elapsed: test 5-12 Tera (FLR ref) / E5-2690v2 (1Gb) / "
            "Delta TeraGen - Time to Complete (MM)",
        ),
        (
            "cisco-2014",
            "cpu_skus.csv",
            {"sku": "E5-2660 v2"},
            "max_turbo_ghz_1_core",
            "3.2",
            "turbo of one core = base clock + first turbo bin: E5-2660 v2",
        ),
        (
            "vmware-2011",
            "claims.csv",
            {"metric": "1vm_slower_than_native", "topic": "TeraSort"},
            "high",
            "18",
            "TeraSort, largest loss with 1 VM",
        ),
        (
            "vmware-2011",
            "elapsed.csv",
            {"benchmark": "Pi", "platform": "native", "ht": "on"},
            "elapsed_s",
            "655",
            "Pi, gain by Hyper-Threading, native",
        ),
        (
            "cern-2016",
            "runs.csv",
            {"cluster": "vm_hdd", "workload": "scan"},
            "scan_time_s",
            "85",
            "throughput x time = size of the data set: vm_hdd",
        ),
        (
            "intel-2012",
            "facts.csv",
            {"item": "PUT time reduction 10GbE vs GbE"},
            "value",
            "90",
            "time left and time saved by 10 GbE",
        ),
        (
            "mellanox-2014",
            "config.csv",
            {"item": "available"},
            "value",
            "5500",
            "used + available = total",
        ),
    ],
)
def test_a_changed_number_is_found(
    name: str, table: str, where: dict[str, str], column: str, to: str, subject: str
) -> None:
    fits = lambda row: all(row[key] == value for key, value in where.items())  # noqa: E731
    assert subject in new_points(name, table, fits, column, to)


def test_a_mended_number_is_no_longer_found() -> None:
    def is_it(row: Row) -> bool:
        return (row["test"], row["workload"], row["phase"]) == ("test7", "tera1", "teravalidate")

    mended = changed(case_of("cisco-2014"), "summary.csv", is_it, "elapsed_min", "1.77")
    subjects = {point.subject for point in table_points(mended)}
    assert not [s for s in subjects if s.startswith("elapsed_min = arithmetic mean")]


def test_a_rate_below_the_limit_of_the_counter_is_left_alone() -> None:
    slow = changed(
        case_of("cisco-2014"), "network_series.csv", lambda row: True, "max_bits_per_s", "9e7"
    )
    assert not list(facts.counters(slow))


@pytest.mark.parametrize("row", ["", "c,n/a,30\n", "c,1e9,30 s\n", "c,1e9,0\n", "c,1e9,-30\n"])
def test_rates_of_counters_without_a_number_are_skipped(row: str) -> None:
    text = "link,largest,interval\na,1145000000,30\nb,1144000000,30\n" + row
    described = Counters(table="t.csv", series=("link",), largest="largest", interval="interval")
    case = replace(
        case_of("intel-2012"),
        tables={"t.csv": parse_table(text, "t.csv")},
        relations=Relations(counters=described),
    )
    (point,) = facts.counters(case)
    assert point.subject.startswith("2 series of network rates: a")


@pytest.mark.parametrize("name", ["cisco-2014", "vmware-2011", "cern-2016", "intel-2012"])
def test_every_equation_is_worked_out_somewhere(name: str) -> None:
    """An equation whose picks fit no row would never find anything."""
    case = case_of(name)
    for equation in case.relations.equations:
        contrary = {"equal": "1e12", "at most": "1e12", "at least": "0 - 1e12"}[equation.kind]
        data = equation.model_dump() | {"stated": f"{contrary} + 0 * ({equation.stated})"}
        wrong = replace(case, relations=Relations(equations=(Equation.model_validate(data),)))
        assert list(arithmetic.equations(wrong)), equation.name


# --- any results folder ---------------------------------------------------------------------


def test_a_measured_folder_gets_the_rules_of_the_report(tmp_path: Path) -> None:
    study_folder(tmp_path / "out", Plan(trials=4, shuffled=False))
    points = review(open_case(str(tmp_path / "out"))).points
    assert points
    assert all(point.check.startswith("warnings/") for point in points)


def test_the_json_is_plain_and_counts() -> None:
    found_ = review(case_of("cern-2016")).to_json()
    assert json.loads(json.dumps(found_))["count"] == len(found_["points"])


def test_checks_have_names_of_their_own() -> None:
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert all(check.about for check in CHECKS)


def test_near_names_in_the_same_place_are_two_names() -> None:
    text = "key,variant,source\nnet.ipv4.tcp_rmem,a,x\nnet.ipv4.tcp_wmem,a,x\n"
    rule = Spelling(name="name", table="t.csv", column="key", place="variant", means="a typo")
    case = replace(
        case_of("cisco-2014"),
        relations=Relations(spelling=(rule,)),
        tables={"t.csv": parse_table(text, "t.csv")},
    )
    assert not list(facts.spelling(case))
    apart = parse_table(text.replace("wmem,a", "wmem,b"), "t.csv")
    assert len(list(facts.spelling(replace(case, tables={"t.csv": apart})))) == 1
