"""The engine Pig: its client's command, its settings, its folder for what is passed on."""

from __future__ import annotations

import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engines.test_hadoop_program import Cluster
from tools import build_engine_jar
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.engine import line_of
from windtunnel.engines.pig.engine import OWN_JAR, Pig
from windtunnel.errors import DescriptionError

CLUSTER = load_cluster("local-1")


def pig(folder: Path, **changes: Any) -> tuple[Pig, Any]:
    hadoop: Any = Cluster("HadoopJobId: job_1_0001\n")
    hadoop.cluster = apply_overrides(CLUSTER, changes)
    hadoop.client = SimpleNamespace(
        address="127.0.0.1", root=folder, logs=folder / "logs", write_text=write_text
    )
    engine = Pig(hadoop, ArtifactSet("pig-0.18", Path("/pig"), []))
    engine.start()
    return engine, hadoop


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_script_runs_as_jobs_of_the_cluster(tmp_path: Path) -> None:
    engine, hadoop = pig(tmp_path)
    run = engine.run("count", "STORE x INTO 'y';", "/w/t/pig", 60.0)
    (command,) = hadoop.ran

    assert run.phase.job_id == "job_1_0001"
    assert command[:3] == ["org.apache.pig.Main", "-x", "mapreduce"]
    assert command[-1] == f"/conf:/pig/lib/*:{OWN_JAR}", (
        "Hadoop's settings and jars are the cluster's"
    )
    assert Path(command[command.index("-f") + 1]).read_text() == "STORE x INTO 'y';"
    assert Path(command[command.index("-l") + 1]) == tmp_path / "logs/clients"
    assert not engine.processes(), "nothing of it runs between scripts"


def test_its_settings_reach_it_and_no_other(tmp_path: Path) -> None:
    changes = {"settings.pig.splitCombination": False, "settings.dfs.replication": 1}
    engine, hadoop = pig(tmp_path, **changes, **{"settings.pig.x": "a\\b"})
    engine.run("count", "", "/w/t/pig", 60.0)
    (command,) = hadoop.ran
    rows = Path(command[command.index("-P") + 1]).read_text().splitlines()
    assert set(rows) == {"pig.temp.dir=/w/t/pig", "pig.splitCombination=false", "pig.x=a\\\\b"}


def test_two_scripts_do_not_meet(tmp_path: Path) -> None:
    engine, hadoop = pig(tmp_path)
    for script in ("first", "second"):
        engine.run("count", script, "/w", 60.0)
    files = [Path(command[command.index("-f") + 1]) for command in hadoop.ran]
    assert [path.read_text() for path in files] == ["first", "second"]


def test_the_jar_was_made_of_the_sources_that_lie_beside_it() -> None:
    with zipfile.ZipFile(OWN_JAR) as jar:
        made_of = jar.read(build_engine_jar.HASH).decode()
    assert made_of == build_engine_jar.source_hash("pig"), (
        "run: python tools/build_engine_jar.py pig"
    )


def test_the_line_that_ships() -> None:
    assert line_of(Pig, CLUSTER).lock == "pig-0.18"
    with pytest.raises(DescriptionError, match=r"pig 0\.17 .* supported release lines: 0\.18"):
        line_of(Pig, apply_overrides(CLUSTER, {"software.engines": {"pig": "0.17"}}))
