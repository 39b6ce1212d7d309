"""The example of a plug-in: built and installed as a user does, and at work in every command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.packages import install
from tests.support.synthetic import Plan, study_folder
from windtunnel.results.record import Metric, Trial

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/plugin"
RATE = 5000.0

LOADED = """
import contextlib, io, json, sys
from windtunnel.cli import run

found = {}
for command in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()):
        code = run(command.split())
    ours = sorted(n for n in sys.modules if n.startswith("windtunnel_small_files"))
    found[command] = [code, ours]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the example's wheel, installed without network, and nothing else."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    where = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run([*pip, *where, str(EXAMPLE)], check=True, capture_output=True)
    return target


def python(
    folder: Path, path: Sequence[Path], *words: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python with some folders of packages, a cache and a state of its own."""
    own = {
        "PYTHONPATH": os.pathsep.join(map(str, [ROOT, *path])),
        "WINDTUNNEL_CACHE": str(folder / "cache"),
        "WINDTUNNEL_STATE": str(folder / "state"),
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **own, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def windtunnel(
    folder: Path, path: Sequence[Path], *words: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return python(folder, path, "-m", "windtunnel", *words, **environment)


def test_the_example_is_listed_and_described(site: Path, tmp_path: Path) -> None:
    version = windtunnel(tmp_path, [site], "version")
    assert version.stdout.splitlines()[1:] == [
        "plug-in windtunnel-small-files 0.1.0 (workloads: small-files; probes: context-switches; "
        "sections: context-switches)"
    ]
    described = windtunnel(tmp_path, [site], "catalogue", "workloads", "small-files", "--json")
    (workload,) = json.loads(described.stdout)
    assert list(workload["metrics"]) == ["small_file_rate"]
    assert [one["name"] for one in workload["parameters"]][:2] == ["files", "file_size"]
    assert "small-files: create" in windtunnel(tmp_path, [site], "catalogue", "list").stdout
    schema = windtunnel(tmp_path, [site], "catalogue", "schema", "small-files")
    assert "listings" in json.loads(schema.stdout)["properties"]


def test_its_study_makes_a_plan(site: Path, tmp_path: Path) -> None:
    planned = windtunnel(tmp_path, [site], "plan", str(EXAMPLE / "study.yaml"), "--json")
    assert planned.returncode == 0, planned.stderr
    plan = json.loads(planned.stdout)
    assert [t["levels"] for t in plan["treatments"]] == [{"files": "100"}, {"files": "400"}]
    checked = windtunnel(tmp_path, [site], "check", str(EXAMPLE / "study.yaml"))
    # a machine may have too little memory for the cluster, which is no matter of the plug-in
    assert checked.returncode in (0, 4), checked.stderr
    assert "small-files" not in checked.stderr

    study = (EXAMPLE / "study.yaml").read_text().replace("replication: 2", "replication: 4")
    (tmp_path / "study.yaml").write_text(study)
    refused = windtunnel(tmp_path, [site], "check", "study.yaml")
    assert refused.returncode == 4
    assert "replication is 4, but the cluster has 3 datanodes" in refused.stderr


def test_a_command_imports_no_part_that_it_does_not_need(site: Path, tmp_path: Path) -> None:
    study = str(EXAMPLE / "study.yaml")
    commands = ["--help", "version", "status", "plan demo", "check demo", f"plan {study}"]
    done = python(tmp_path, [site], "-c", LOADED, json.dumps(commands))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [modules for _, modules in list(found.values())[:-1]] == [[]] * 5
    package = "windtunnel_small_files"
    assert found[commands[-1]] == [0, [package, f"{package}.make_files", f"{package}.workload"]]


def results(folder: Path) -> Path:
    """Results of the example: phases and a metric of its workload, samples of its probe."""

    def edit(trial: Trial) -> Trial:
        phases = [
            phase.model_copy(
                update={"name": name, "metrics": {"small_file_rate": Metric(value=50, unit="1/s")}}
            )
            for name, phase in zip(("create", "list", "delete"), trial.phases, strict=True)
        ]
        return trial.model_copy(update={"workload": "small-files", "phases": phases})

    made = study_folder(folder / "results", Plan(trials=8, edit=edit))
    for path in (made / "samples").glob("*.parquet"):
        table = pq.read_table(path)
        times = sorted(set(table.column("t").to_pylist()))
        rows = [
            {
                "trial": path.stem,
                "t": t,
                "host": "this-machine",
                "metric": "context_switches",
                "unit": "1/s",
                "value": RATE,
            }
            for t in times
        ]
        more = pa.Table.from_pylist(rows, schema=table.schema)
        pq.write_table(pa.concat_tables([table, more]), path)
    return made


def test_its_section_is_in_the_report(site: Path, tmp_path: Path) -> None:
    folder = results(tmp_path)
    done = windtunnel(tmp_path, [site], "report", str(folder), "--full")
    assert done.returncode == 0, done.stderr
    assert "Context switches" in done.stdout
    assert "5000 times per second" in done.stdout.replace("\xa0", " ")
    exported = json.loads(windtunnel(tmp_path, [site], "report", str(folder), "--json").stdout)
    rows = exported["context-switches"]
    assert {row["phase"] for row in rows} == {"create", "list", "delete"}
    assert {row["mean"] for row in rows} == {RATE}
    metric = exported["metrics"]["small_file_rate"]
    assert metric["better"] == "more" and metric["meaning"].startswith("files that were created")


def test_its_results_are_readable_where_it_is_switched_off(site: Path, tmp_path: Path) -> None:
    folder = results(tmp_path)
    off = {"WINDTUNNEL_PLUGINS": "0"}
    done = windtunnel(tmp_path, [site], "report", str(folder), "--json", **off)
    assert done.returncode == 0, done.stderr
    exported = json.loads(done.stdout)
    assert "context-switches" not in exported
    assert {cell["workload"] for cell in exported["cells"]} == {"small-files"}
    assert "plug-in" not in windtunnel(tmp_path, [site], "version", **off).stdout
    planned = windtunnel(tmp_path, [site], "plan", str(EXAMPLE / "study.yaml"), **off)
    assert planned.returncode == 3
    assert "there is no workload 'small-files'" in planned.stderr


def test_a_broken_plug_in_stops_only_what_needs_it(site: Path, tmp_path: Path) -> None:
    entries = {
        "workloads": {"broken": "plug_broken:It", "pi": "plug_broken:It"},
        "sections": {"broken": "plug_broken:It"},
        "testbeds": {"broken": "plug_broken:It"},
        "engines": {"broken": "plug_broken:It"},
    }
    install(tmp_path / "site", "plug-broken", entries, "raise RuntimeError('it does not load')")
    path = [site, tmp_path / "site"]
    for command in ("--help", "version", "status", "plan demo", "catalogue testbeds"):
        done = windtunnel(tmp_path, path, *command.split())
        assert done.returncode == 0, done.stderr
    assert "plug-in plug-broken 1.0" in windtunnel(tmp_path, path, "version").stdout

    lead = "the {} 'broken' of the plug-in plug-broken 1.0 (plug_broken:It) cannot be used"
    listed = windtunnel(tmp_path, path, "catalogue", "list")
    assert listed.returncode == 0 and "small-files" in listed.stdout
    assert listed.stderr.splitlines() == [
        "warning: the workload 'pi' of the plug-in plug-broken 1.0 is refused: Windtunnel has one "
        "of that name",
        f"warning: {lead.format('workload')}: RuntimeError: it does not load",
    ]
    report = windtunnel(tmp_path, path, "report", str(results(tmp_path)), "--full")
    assert report.returncode == 0 and "Context switches" in report.stdout
    assert f"{lead.format('section')}: RuntimeError: it does not load" in report.stderr

    study = (EXAMPLE / "study.yaml").read_text().split("workloads:")[0]
    (tmp_path / "study.yaml").write_text(study + "workloads: {broken: {}}\n")
    planned = windtunnel(tmp_path, path, "plan", "study.yaml")
    assert planned.returncode == 5
    assert lead.format("workload") in planned.stderr and "plug-broken" in planned.stderr
    assert "WINDTUNNEL_PLUGINS=0" in planned.stderr
