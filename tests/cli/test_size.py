"""``size`` with a parts file: combinations, prices, power, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from windtunnel.cli import run

PARTS = """
cluster: base.yaml
counts: [4, 8, 16]
workloads:
  terasort: {size: 300 GB, input_replication: 3, output_replication: 1}
parts:
  instances:
    small:
      price: 1000 EUR
      power: 100 W
      cpu: {sockets: 1, cores_per_socket: 2, threads_per_core: 2, clock: 2.4 GHz}
      memory: 16 GiB
      disks: [{kind: ssd, read_rate: 94 MB/s, write_rate: 94 MB/s}]
      nics: [{rate: 1 Gb/s}]
    large:
      price: 4500 EUR
      power: 300 W
      cpu: {sockets: 1, cores_per_socket: 8, threads_per_core: 2, clock: 2.4 GHz}
      memory: 64 GiB
      disks: [{kind: ssd, count: 4, read_rate: 94 MB/s, write_rate: 94 MB/s}]
      nics: [{rate: 10 Gb/s}]
"""
BASE = """
name: cloud
hosts:
  master:
    count: 1
    roles: [namenode, resourcemanager, client]
    price: 500 EUR
    power: {peak: 100 W}
  worker: {count: 4, roles: [datanode, nodemanager]}
"""


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    (tmp_path / "base.yaml").write_text(BASE)
    file = tmp_path / "parts.yaml"
    file.write_text(PARTS)
    return file


def sized(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert run(["size", *words, "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["candidates"]
    return found


def test_every_combination_has_the_sum_of_its_parts(
    parts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = sized(capsys, "--parts", str(parts), "--within", "1 h")
    rows = {row["name"]: row for row in found}
    assert set(rows) == {f"{n} hosts, {size}" for n in (4, 8, 16) for size in ("small", "large")}
    assert rows["8 hosts, small"]["price"] == 8 * 1000 + 500
    assert rows["8 hosts, large"]["power_w"] == 8 * 300 + 100
    assert rows["8 hosts, large"]["elapsed_s"] < rows["8 hosts, small"]["elapsed_s"]
    more = sized(
        capsys, "--parts", str(parts), "--within", "1 h", "--set", "workloads.terasort.size=600GB"
    )
    assert {row["name"]: row for row in more}["8 hosts, small"]["elapsed_s"] > (
        1.5 * rows["8 hosts, small"]["elapsed_s"]
    )


def test_rows_replace_the_size_of_the_parts_file(
    parts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--parts", str(parts), "--within", "1 h", "--set")
    by_rows = sized(capsys, *words, "workloads.terasort.rows=6000000000")
    assert by_rows == sized(capsys, *words, "workloads.terasort.size=600GB")


def test_limits_of_price_and_power(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--parts", str(parts), "--within", "10 h", "--budget", "40000", "--power", "3 kW")
    rows = {row["name"]: row for row in sized(capsys, *words)}
    assert rows["8 hosts, small"]["meets"]
    assert rows["8 hosts, large"]["meets"]
    assert {"price", "power"} <= set(rows["16 hosts, large"]["misses"])
    rows = {row["name"]: row for row in sized(capsys, *words[:5], "40000 USD")}
    assert all("price in EUR, not in USD" in row["misses"] for row in rows.values())
    assert run(["size", *words[:5], "40000 USD"]) == 0
    assert "what to do: specify --budget in EUR" in capsys.readouterr().out


def test_a_part_without_a_price_leaves_the_price_unknown(
    parts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts.write_text(
        PARTS.replace("      price: 4500 EUR\n", "").replace("power: 300 W", "model: x")
    )
    rows = {row["name"]: row for row in sized(capsys, "--parts", str(parts), "--within", "1 h")}
    assert rows["8 hosts, large"]["price"] is None
    assert rows["8 hosts, large"]["power_w"] is None
    # candidates without a price are compared among themselves
    assert rows["8 hosts, large"]["dominated"]
    assert not rows["16 hosts, large"]["dominated"]


def test_the_parts_of_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["catalogue", "show", "parts", "servers-2014"]) == 0
    assert "E5-2690 v2: {price: 6500.86 USD" in capsys.readouterr().out
    words = ("--workload", "terasort", "--within", "30 min", "--budget", "250000")
    found = sized(capsys, *words)
    meeting = [row for row in found if row["meets"]]
    assert len(found) == 220
    assert meeting
    assert all(row["price"] <= 250000 and row["probability"] >= 0.9 for row in meeting)
    # six hosts of the study: five and one without tasks, 208,000 USD with the parts of test 6
    named = {row["name"]: row for row in found}
    assert named["6 hosts, E5-2690 v2, 256 GiB, 24 disks"]["price"] == pytest.approx(
        8 * 29988.92 - 2 * 6540.84, rel=0.001
    )


@pytest.mark.parametrize(
    ("old", "new", "words", "code", "says"),
    [
        ("counts: [4, 8, 16]", "counts: []", (), 3, "counts"),
        ("counts: [4, 8, 16]", f"counts: {list(range(1, 3000))}", (), 3, "more than 5,000"),
        ("base.yaml", "base.yaml\nhost: workers", (), 3, "no host class 'workers'"),
        ("clock: 2.4 GHz", "speed: 2.4 GHz", (), 3, "speed"),
        ("base.yaml", "none.yaml", (), 3, "none.yaml"),
        ("", "", ("--workload", "wordcount"), 3, "workloads.wordcount.replication"),
        ("", "", ("--workload", "wordcont"), 3, "did you mean 'wordcount'?"),
        ("terasort:", "terrasort:", (), 3, "parts.yaml:5: key 'workloads.terrasort': there is no"),
        ("terasort:", "terrasort:", (), 3, "did you mean 'terasort'?"),
        ("base.yaml", "none", (), 3, "parts.yaml:2: key 'cluster': there is no cluster"),
        ("base.yaml", "base.yaml\nset: {hosts.stre: null}", (), 3, "parts.yaml:3: key 'set'"),
        (
            "base.yaml\ncounts: [4, 8, 16]",
            "base.yaml\ncounts: [2]\nset: {storage.replication: 3}",
            (),
            3,
            "parts.yaml:3: key 'counts': storage.replication",
        ),
        ("parts:", "parts:\n  box: {b: {price: 1 USD}}", (), 3, "parts.yaml:6: key 'parts': hosts"),
        ("", "", ("--set", "workloads.pi.maps=3"), 2, "the workload 'pi' is not predicted"),
        ("", "", ("--budget", "much"), 2, "much"),
    ],
)
def test_mistakes(
    parts: Path,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    words: tuple[str, ...],
    code: int,
    says: str,
) -> None:
    parts.write_text(PARTS.replace(old, new))
    assert run(["size", "--parts", str(parts), "--within", "1 h", *words]) == code
    assert says in capsys.readouterr().err


def test_a_study_excludes_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["size", "sizing", "--within", "1 h", "--workload", "terasort"]) == 2
    assert "a study has its own candidates" in capsys.readouterr().err


def test_values_that_candidates_do_not_state_are_named(
    parts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts.write_text(PARTS.replace("{sockets: 1, cores_per_socket: 2,", "{"))
    words = ["size", "--parts", str(parts), "--within", "1 h"]
    assert run([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    cores = "cores of a processor unknown: 8 in each socket"
    assert f"{cores} (3 of 6 candidates)" in found["assumed"]
    rows = {row["name"]: row["assumed"] for row in found["candidates"]}
    assert cores in rows["8 hosts, small"] and cores not in rows["8 hosts, large"]
    assert run(words) == 0
    assert f"assumed: {cores} (3 of 6 candidates)" in capsys.readouterr().out
