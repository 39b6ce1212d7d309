"""The published studies of the catalogue as results."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import fmean, stdev

import pytest

from tests.support.published import case_of
from windtunnel.analysis.cost.energy import with_energy
from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.errors import UsageError
from windtunnel.published import open_results, published_names
from windtunnel.published.sources import build_published, fact_table, facts, published_folder
from windtunnel.results.power import read_power

NAMES = ["cern-2016", "cisco-2014", "intel-2012", "mellanox-2014", "vmware-2011"]
TRIALS = {
    "cern-2016": 6,
    "cisco-2014": 72,
    "intel-2012": 2,
    "mellanox-2014": 0,
    "vmware-2011": 35,
}
REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"


def reference(name: str) -> list[dict[str, str]]:
    """A table that the catalogue's facts can be held against, where it is at hand."""
    file = REFERENCE / name
    if not file.is_file():
        pytest.skip("the reference tables are not beside this checkout")
    with file.open(newline="", encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


def test_the_catalogue_has_the_five_studies() -> None:
    assert published_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_study_is_a_results_folder(name: str) -> None:
    results = open_results(f"published:{name}")
    assert results.study.kind == "published"
    assert len(results.trials) == TRIALS[name]
    assert {trial.kind for trial in results.trials} <= {"published"}
    assert results.study.sources
    assert results.study.baseline.keys() <= results.study.factors.keys()
    for factor, level in results.study.baseline.items():
        assert level in results.study.factors[factor]
    ids = {warning.id for warning in case_of(name).analysis.warnings}
    assert ("published-as-is" if results.trials else "published-nothing") in ids


@pytest.mark.parametrize("name", NAMES)
def test_every_treatment_is_a_cluster(name: str) -> None:
    study = build_published(name).study
    base = Cluster.model_validate(study.cluster)
    for treatment in study.treatments:
        own = {p: v for p, v in treatment.overrides.items() if not p.startswith("workloads.")}
        assert apply_overrides(base, own).hosts


@pytest.mark.parametrize("name", NAMES)
def test_every_fact_has_a_source(name: str) -> None:
    for file in facts(name):
        if file.endswith(".csv"):
            assert all(row["source"] for row in fact_table(name, file).rows), file


def test_the_folder_is_made_once() -> None:
    folder = published_folder("published:cern-2016")
    before = (folder / "study.json").stat().st_mtime_ns
    assert published_folder("published:cern-2016") == folder
    assert (folder / "study.json").stat().st_mtime_ns == before


def test_an_unknown_study_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no published study 'cisco'") as caught:
        open_results("published:cisco")
    assert "cisco-2014" in caught.value.remedy


def test_cisco_effects_are_matched_pairs() -> None:
    """Each level is compared with the test that differs in this factor only."""
    found = case_of("cisco-2014").analysis
    totals = {
        (e.factor, e.level): e
        for e in found.effects
        if (e.workload, e.phase, e.metric) == ("terasort-1tb", "total", "elapsed")
    }
    assert {key for key in totals if key[0] == "cpu"} == {
        ("cpu", name) for name in ("E5-2695 v2", "E5-2643 v2", "E5-2667 v2", "E5-2690 v2")
    }
    assert totals["cpu", "E5-2690 v2"].matched == 1
    assert totals["network", "1 Gb/s"].mean_baseline == totals["network", "5 Gb/s"].mean_baseline
    assert totals["network", "1 Gb/s"].ci_low is not None


def test_cisco_power_covers_the_runs_of_tests_2_to_8() -> None:
    results = open_results("published:cisco-2014")
    assert [record.words for record in read_power(results.path)] == [
        "metered: DCM, GroupBD, 8 hosts"
    ]
    found = with_energy(results)
    have = {t.treatment.id for t in found.trials if "energy_metered" in t.phases[0].metrics}
    assert have == {f"test{number}" for number in range(2, 9)}


def test_cisco_spreads_are_those_of_the_reference() -> None:
    cells = case_of("cisco-2014").analysis
    workloads = {"tera1": "terasort-1tb", "tera2": "terasort-2tb", "pig": "wordcount"}
    for row in reference("cisco_run_spread_derived.csv"):
        for metric, column in (("elapsed", "elapsed"), ("cpu_time", "cpu_time")):
            cell = cells.cell(row["test"], workloads[row["workload"]], row["phase"], metric)
            assert cell is not None
            assert cell.n == int(row["runs"])
            assert cell.mean == pytest.approx(float(row[f"{column}_mean_s"]), abs=0.01)
            spread = float(row[f"{column}_rsd_pct"])
            if cell.equal:  # equal printed values: the reference has 0, the report "unknown"
                assert (cell.cv, spread) == (None, 0.0)
            else:
                assert cell.cv is not None
                assert cell.cv * 100 == pytest.approx(spread, abs=0.01)


def test_cisco_energy_is_near_the_reference() -> None:
    """The reference takes whole samples only, we integrate: the same within a few percent."""
    found = with_energy(open_results("published:cisco-2014"))
    workloads = {"tera1": "terasort-1tb", "tera2": "terasort-2tb", "pig": "wordcount"}
    ours = {
        (t.treatment.id, t.workload, p.name, t.round): p.metrics["energy_metered"].value / 3.6e6
        for t in found.trials
        for p in t.phases
        if "energy_metered" in p.metrics
    }
    ratios = []
    for row in reference("cisco_job_power_derived.csv"):
        if row["energy_kwh"] and int(row["dcm_samples"]) >= 5:
            key = (row["test"], workloads[row["workload"]], row["phase"], int(row["run"]))
            ratios.append(ours[key] / float(row["energy_kwh"]))
    assert len(ratios) > 50
    assert fmean(ratios) == pytest.approx(1.0, abs=0.02)
    assert stdev(ratios) < 0.03


FACTS = {
    "cern_clusters.csv": ("cern-2016", "clusters.csv"),
    "cern_general.csv": ("cern-2016", "general.csv"),
    "cern_scan.csv": ("cern-2016", "runs.csv"),
    "cern_ycsb.csv": ("cern-2016", "ycsb.csv"),
    "cisco_chart_series.csv": ("cisco-2014", "chart_series.csv"),
    "cisco_cis_scores.csv": ("cisco-2014", "cis_scores.csv"),
    "cisco_claims.csv": ("cisco-2014", "claims.csv"),
    "cisco_config.csv": ("cisco-2014", "config.csv", "tuning.csv"),
    "cisco_cpu_deltas_derived.csv": ("cisco-2014", "cpu_deltas.csv"),
    "cisco_cpu_runs.csv": ("cisco-2014", "runs.csv"),
    "cisco_cpu_skus.csv": ("cisco-2014", "cpu_skus.csv"),
    "cisco_deltas.csv": ("cisco-2014", "deltas.csv"),
    "cisco_idle_power_derived.csv": ("cisco-2014", "idle_power.csv"),
    "cisco_network_totals.csv": ("cisco-2014", "network_totals.csv"),
    "cisco_onboot.csv": ("cisco-2014", "onboot.csv"),
    "cisco_ports.csv": ("cisco-2014", "ports.csv"),
    "cisco_power_summary.csv": ("cisco-2014", "power_summary.csv"),
    "cisco_power_timeseries.csv": ("cisco-2014", "power_series.csv"),
    "cisco_power_windows.csv": ("cisco-2014", "power_windows.csv"),
    "cisco_pricing.csv": ("cisco-2014", "pricing.csv"),
    "cisco_security_settings.csv": ("cisco-2014", "security_settings.csv"),
    "cisco_summary.csv": ("cisco-2014", "summary.csv"),
    "cisco_sysctl.csv": ("cisco-2014", "sysctl.csv"),
    "cisco_task_counts.csv": ("cisco-2014", "task_counts.csv"),
    "cisco_test_matrix.csv": ("cisco-2014", "test_matrix.csv"),
    "intel_10gbe.csv": ("intel-2012", "facts.csv"),
    "mellanox_ceph_config.csv": ("mellanox-2014", "config.csv"),
    "mellanox_ceph_hardware.csv": ("mellanox-2014", "hardware.csv"),
    "vmware_claims.csv": ("vmware-2011", "claims.csv"),
    "vmware_config.csv": ("vmware-2011", "config.csv"),
    "vmware_elapsed.csv": ("vmware-2011", "elapsed.csv"),
    "vmware_hardware.csv": ("vmware-2011", "hardware.csv"),
    "vmware_tasks.csv": ("vmware-2011", "tasks.csv"),
    "vmware_vm_config.csv": ("vmware-2011", "vm_config.csv"),
    "vmware_workloads.csv": ("vmware-2011", "workloads.csv"),
}
"""Each table of the reference, and the catalogue's files that hold its rows."""
ELSEWHERE = {
    "cisco_run_spread_derived.csv": "test_cisco_spreads_are_those_of_the_reference",
    "cisco_job_power_derived.csv": "test_cisco_energy_is_near_the_reference",
    "cisco_network_timeseries.csv": "test_network_samples_are_those_of_the_reference",
}
NOTE = " (copy-paste errors"
"""A remark of the reference about its own rows."""
COMPUTED = {"elapsed_s", "cpu_time_s"}
"""Columns of the job list that the map computes from the printed values."""


def test_every_table_of_the_reference_has_its_place() -> None:
    if not REFERENCE.is_dir():
        pytest.skip("the reference tables are not beside this checkout")
    tables = {file.name for file in REFERENCE.glob("*.csv")}
    assert tables == FACTS.keys() | ELSEWHERE.keys()
    assert set(ELSEWHERE.values()) <= globals().keys()


@pytest.mark.parametrize("table", FACTS)
def test_facts_are_those_of_the_reference(table: str) -> None:
    name, *files = FACTS[table]
    theirs = reference(table)
    columns = theirs[0].keys() - {"source"}
    if table == "cisco_cpu_runs.csv":
        columns -= COMPUTED
    ours = [
        {column: row.cells.get(column) for column in columns}
        for file in files
        for row in fact_table(name, file).rows
    ]
    wanted = [{column: row[column].split(NOTE)[0].strip() for column in columns} for row in theirs]
    missing = [row for row in wanted if row not in ours]
    assert not missing
    assert len(ours) == len(wanted) or table == "cern_scan.csv"  # its file has YCSB as well


def test_network_samples_are_those_of_the_reference() -> None:
    ours = {
        (test, *column.rsplit(" / ", 1), row["timestamp_local"], cell)
        for test in ("test2", "test6", "test7", "test8")
        for row in fact_table("cisco-2014", f"network_{test}.csv").rows
        for column, cell in row.cells.items()
        if column not in ("timestamp_local", "source") and cell
    }
    names = ("test", "graph_title", "series", "timestamp_local", "bits_per_s")
    theirs = {
        tuple(row[name] for name in names) for row in reference("cisco_network_timeseries.csv")
    }
    assert ours == theirs
