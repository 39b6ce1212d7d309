"""``predict``, ``fit``, ``accuracy`` and the clusters of published studies on the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import cloud
from windtunnel.analysis.cost.tariff import Tariff
from windtunnel.analysis.prediction.points import chosen
from windtunnel.cli import run
from windtunnel.cli.predict import _lines
from windtunnel.errors import ResultsError, UsageError
from windtunnel.published.clusters import cluster_names, find_cluster, parameters_for

MAP = """
name: cloud
cluster: base.yaml
workload: workload
workloads:
  terasort: {size: 100 GB}
  wordcount: {size: 100 GB}
metrics:
  elapsed: {column: seconds, unit: s}
factors:
  instance:
    column: instance
    levels:
"""


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_prediction_has_all_fields(capsys: pytest.CaptureFixture[str]) -> None:
    found = output(
        capsys, "predict", "cisco-2014/test9", "terasort", "--set", "workloads.terasort.size=1 TB"
    )
    assert [row["phase"] for row in found["predictions"]] == ["teragen", "terasort", "teravalidate"]
    for row in found["predictions"]:
        assert row["workload"] == "terasort"
        assert 0 < row["low_s"] < row["elapsed_s"] < row["high_s"]
        assert row["cpu_s"] > 0
        assert row["bottleneck"] != row["next_bottleneck"]
        assert row["inside_fitted_range"] is False  # no fitted cluster had five data nodes


def test_changes_of_the_cluster_and_of_parameters_count(capsys: pytest.CaptureFixture[str]) -> None:
    base = output(capsys, "predict", "cisco-2014/test6", "terasort")["predictions"]
    double = output(
        capsys, "predict", "cisco-2014/test6", "terasort", "--set", "workloads.terasort.size=2TB"
    )["predictions"]
    slow = output(
        capsys,
        "predict",
        "cisco-2014/test6",
        "terasort",
        "--set",
        "hosts.worker.nics.0.rate=1 Gb/s",
    )["predictions"]
    assert double[0]["elapsed_s"] == pytest.approx(2 * base[0]["elapsed_s"], rel=0.1)
    assert slow[0]["elapsed_s"] > 4 * base[0]["elapsed_s"]
    assert slow[0]["bottleneck"] == "network"


def test_rows_and_size_replace_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    times = [
        output(capsys, "predict", "cisco-2014/test6", "terasort", "--set", change)["predictions"][0]
        for change in ("workloads.terasort.rows=20000000000", "workloads.terasort.size=2 TB")
    ]
    assert times[0] == times[1]


def test_a_phase_costs_its_part_of_the_price(capsys: pytest.CaptureFixture[str]) -> None:
    rows = output(capsys, "predict", "cisco-2014", "terasort")["predictions"]
    price = 6 * 29988.92 + 2 * (29988.92 - 6540.84)  # six hosts, and two with half of the disks
    for row in rows:
        assert row["currency"] == "USD"
        hours = row["elapsed_s"] / 3600
        assert row["cost"] == pytest.approx(price / Tariff().busy_hours * hours, rel=1e-3)
    assert run(["predict", "cisco-2014", "terasort"]) == 0
    assert f"{rows[0]['cost']:.2f} USD" in capsys.readouterr().out
    assert output(capsys, "predict", "model-3", "terasort")["predictions"][0]["cost"] is None


def test_the_text_names_interval_bottleneck_and_assumptions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["predict", "cern-2016-vm-ssd", "pi"]) == 0
    text = capsys.readouterr().out
    assert "bottleneck: cpu, next: " in text
    assert "intervals: 90 %" in text
    assert "assumed: rate of the NICs unknown: 10 Gb/s" in text
    replicas = "assumed: replicas of the sorted data: 1, the default of TeraSort"
    for more, stated in ([], False), (["--set", "workloads.terasort.output_replication=3"], True):
        assert run(["predict", "cisco-2014", "terasort", *more]) == 0
        assert (replicas in capsys.readouterr().out) is not stated


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    """A spreadsheet of 69 configurations, imported with a cluster and levels that set paths."""
    (tmp_path / "base.yaml").write_text(json.dumps(cloud.BASE.plain()))
    levels = "".join(
        f"      {json.dumps(one.name)}: {{hosts.worker.count: {one.hosts}, "
        f"hosts.worker.cpu.cores_per_socket: {one.cores}, "
        f"hosts.worker.memory: {one.memory_gib} GiB}}\n"
        for one in cloud.configurations()
    )
    (tmp_path / "map.yaml").write_text(MAP + levels)
    rows = [f"{p.treatment},{p.workload},{p.elapsed_s:.1f}" for p in cloud.points()]
    (tmp_path / "runs.csv").write_text("\n".join(["instance,workload,seconds", *rows]) + "\n")
    folder = tmp_path / "cloud"
    files = [str(tmp_path / name) for name in ("runs.csv", "map.yaml")]
    assert run(["import", files[0], "--map", files[1], "--results", str(folder)]) == 0
    return folder


def test_eight_of_an_imported_spreadsheet_predict_the_others(
    imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only, fitted = tmp_path / "eight.txt", tmp_path / "fit.json"
    only.write_text("\n".join(cloud.eight(2)) + "\n")
    assert run(["fit", str(imported), "--only", str(only), "--out", str(fitted)]) == 0
    assert "fitted to 16 elapsed times" in capsys.readouterr().out
    found = output(capsys, "predict", "--for", str(imported), "--fit", str(fitted))
    assert len(found["predictions"]) == 138
    assert {row["phase"] for row in found["predictions"]} == {"total"}
    assert found["errors"]["fitted"]["points"] == 16
    assert found["errors"]["not_fitted"]["points"] == 122
    assert found["errors"]["not_fitted"]["mean_absolute_error"] < 0.15
    row = found["predictions"][0]
    assert {"treatment", "measured_s", "fitted", "elapsed_s", "low_s", "high_s"} <= set(row)


STOPPED = """\
instance,hosts,workload,seconds,stopped
small,4,terasort,900,0
small,8,terasort,500,0
small,8,terasort,300,1
small,16,terasort,100,1
large,?,terasort,300,0
"""
STOPPED_MAP = """\
cluster: base.yaml
workload: workload
workloads: {terasort: {size: 100 GB}}
factors:
  instance: {column: instance}
  hosts:
    column: hosts
    levels: {"4": {hosts.worker.count: 4}, "8": {hosts.worker.count: 8},
             "16": {hosts.worker.count: 16}, "?": {workloads.terasort.size: many}}
metrics:
  elapsed: {column: seconds, unit: s}
  timeout: {column: stopped, unit: ratio}
"""


def test_jobs_that_were_stopped_have_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "base.yaml").write_text(json.dumps(cloud.BASE.plain()))
    (tmp_path / "map.yaml").write_text(STOPPED_MAP)
    (tmp_path / "runs.csv").write_text(STOPPED)
    folder, made = str(tmp_path / "runs"), str(tmp_path / "fit.json")
    files = [str(tmp_path / name) for name in ("runs.csv", "map.yaml")]
    assert run(["import", files[0], "--map", files[1], "--results", folder]) == 0
    assert run(["fit", folder, "--out", made]) == 0
    notes = capsys.readouterr().err
    assert "(1 of 4 treatments, such as 'large, ?')" in notes

    found = output(capsys, "predict", "--for", folder, "--fit", made)
    rows = {row["treatment"]: row for row in found["predictions"]}
    assert rows["small, 8"]["measured_s"] == 500, "the stopped run is in no mean"
    assert {name: row["timeout"] for name, row in rows.items()} == {
        "small, 4": False,
        "small, 8": False,
        "small, 16": True,
    }
    fitted = found["errors"]["fitted"]
    assert (fitted["points"], fitted["timeouts"]) == (2, 1)
    assert run(["predict", "--for", folder, "--fit", made]) == 0
    assert "not finished after 100 s, fitted" in capsys.readouterr().out

    report = output(capsys, "report", folder)
    means = {c["treatment"]: c["mean"] for c in report["cells"] if c["metric"] == "elapsed"}
    assert means == {"small, 4": 900, "small, 8": 500, "large, ?": 300}
    assert any("2 runs did not finish" in one["text"] for one in report["warnings"])


def test_an_empty_list_of_treatments_is_refused(imported: Path, tmp_path: Path) -> None:
    only = tmp_path / "none.txt"
    only.write_text("# nothing\n")
    with pytest.raises(ResultsError, match="the list names no treatment"):
        chosen(cloud.points(), _lines(only))
    assert run(["fit", str(imported), "--only", str(only), "--out", str(tmp_path / "f")]) != 0
    assert not (tmp_path / "f").exists()


def test_a_list_of_treatments_as_a_spreadsheet_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = [
        replace(point, treatment=point.treatment.replace(" x", ", ")) for point in cloud.points()
    ]
    file = tmp_path / "only.csv"
    file.write_bytes(b'\xef\xbb\xbf# eight\r\n"c.large, 6"\r\nc.large,8\r\n\r\n')
    assert {one.treatment for one in chosen(points, _lines(file))} == {"c.large, 6", "c.large, 8"}
    with pytest.raises(ResultsError, match=r"no treatment 'c\.large'"):
        chosen(points, ["c.large"])


def test_a_sample_of_treatments(
    imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "fit.json"
    found = output(capsys, "fit", str(imported), "--sample", "5", "--seed", "2", "--out", str(made))
    assert len({point["treatment"] for point in found["points"]}) == 5
    assert set(found["constants"]["disk_read"]) == {"value", "unit", "low", "high", "determined"}


def test_all_clusters_of_the_published_studies_can_be_named() -> None:
    assert list(cluster_names("cisco-2014")) == [f"test{n}" for n in range(1, 13)]
    assert "4vm-on" in cluster_names("vmware-2011")
    test12 = find_cluster("cisco-2014/test12")
    disks = test12.cluster.hosts["worker"].disks or ()
    assert [disk.count for disk in disks] == [12]
    assert parameters_for(test12, "terasort")["reduces"] == 96
    assert find_cluster("cern-2016-vm_ssd").cluster.hosts["worker"].count == 4
    assert find_cluster("vmware-2011/native-off").workloads["pi"]["maps"] == 84
    assert find_cluster("mellanox-2014-hdfs").cluster.storage.kind == "hdfs"
    with pytest.raises(UsageError, match="no cluster 'test13'"):
        find_cluster("cisco-2014/test13")


def test_catalogue_shows_a_cluster_of_a_study(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["catalogue", "show", "cluster", "vmware-2011/4vm-on"]) == 0
    text = capsys.readouterr().out
    assert "vcpus" not in text
    assert "name: vmware-2011/4vm-on" in text
    assert "# predictions assume: containers per host unknown" in text


def test_what_if_scales_the_measured_times(capsys: pytest.CaptureFixture[str]) -> None:
    same = output(capsys, "whatif", "published:cisco-2014", "--set", "hosts.worker.model=another")[
        "predictions"
    ]
    assert all(row["ratio"] == pytest.approx(1.0) for row in same)
    assert all(row["ratio_high"] == pytest.approx(1.0) for row in same)
    slow = output(
        capsys, "whatif", "published:cisco-2014", "--set", "hosts.worker.nics.0.rate=1 Gb/s"
    )["predictions"]
    row = next(r for r in slow if (r["treatment"], r["phase"]) == ("test6", "teragen"))
    # measured by test 8: 3,010 s
    assert row["low_s"] < 3010 < row["high_s"]
    assert row["ratio_high"] < 1.6 * row["ratio_low"]
    assert row["bottleneck"] == "network"


def test_size_finds_the_cheapest_cluster_for_a_goal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chart = tmp_path / "front.svg"
    goal = ("size", "sizing", "--within", "30 min")
    found = output(capsys, *goal, "--chart", str(chart))["candidates"]
    assert len(found) == 20
    assert "<svg" in chart.read_text()
    meeting = [row for row in found if row["meets"]]
    assert found[: len(meeting)] == meeting
    assert [row["price"] for row in meeting] == sorted(row["price"] for row in meeting)
    assert all(row["probability"] >= 0.9 for row in meeting)
    for row in found:
        better = [r for r in found if r["price"] < row["price"]]
        assert row["dominated"] or all(r["elapsed_s"] > row["elapsed_s"] for r in better)
    poor = output(capsys, *goal, "--budget", "1000 USD", "--power", "1 W")["candidates"]
    assert not any(row["meets"] for row in poor)
    assert {"price", "power unknown"} <= set(poor[0]["misses"])
    assert run([*goal, "--budget", "1000 USD"]) == 0
    said = capsys.readouterr().out
    assert (
        "none of 20 candidates finishes in at most 1,800 s" in said and "missed: price (20)" in said
    )
    assert run([*goal, "--power", "12 kW"]) == 0
    said = capsys.readouterr().out
    assert "missed: power unknown (20)" in said and "or remove --power" in said
    assert "1,800 s with a probability of 90%, with at most 12 kW" in said
