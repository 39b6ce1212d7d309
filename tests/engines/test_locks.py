"""Lock files: those that are shipped, and those that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from windtunnel.engines import locks
from windtunnel.errors import SetupError


@pytest.mark.parametrize(
    "text",
    [
        "not toml [",
        "",
        '[[dependencies]]\ngroupId = "g"\nartifactId = "a"\nversion = "1"\npackaging = "jar"',
    ],
)
def test_a_broken_lock_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.lock.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SetupError, match=r"broken\.lock\.toml"):
        locks.read_lock(path)


def test_a_missing_lock_file_and_an_unknown_name_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"none\.lock\.toml"):
        locks.read_lock(tmp_path / "none.lock.toml")
    with pytest.raises(SetupError, match="hadoop-9") as caught:
        locks.shipped_lock("hadoop-9")
    assert "hadoop-3.5" in caught.value.remedy


@pytest.mark.parametrize("path", locks.shipped_locks(), ids=lambda path: path.name)
def test_shipped_locks_are_jgo_s_and_small(path: Path) -> None:
    from jgo.env import LockFile

    lock = locks.read_lock(path)
    assert len(LockFile.load(path).dependencies) == len(lock.jars)
    # Trino's client of HDFS brings Hadoop and access to clouds along; Ozone's daemons and its
    # client each have RocksDB, gRPC and Hadoop
    more = {"trino-474.lock.toml": 175e6, "ozone-2.2.lock.toml": 310e6}
    assert 0 < lock.size < more.get(path.name, 125e6)


@pytest.mark.parametrize(
    "path",
    [path for path in locks.shipped_locks() if path.name.startswith("hadoop")],
    ids=lambda path: path.name,
)
def test_locks_of_hadoop_hold_what_it_needs(path: Path) -> None:
    lock = locks.read_lock(path)
    assert lock.size > 80e6
    names = {jar.name for jar in lock.jars if jar.folder == locks.LIB}
    assert {"org.apache.hadoop:hadoop-hdfs", "org.lz4:lz4-java"} <= names
    assert "com.microsoft.sqlserver:mssql-jdbc" not in names
    clients = {jar.name for jar in lock.jars if jar.folder == locks.CLIENT_LIB}
    assert clients == {
        "org.apache.hadoop:hadoop-mapreduce-examples",
        "org.apache.hadoop:hadoop-mapreduce-client-jobclient:tests",
    }
