"""What key-value stores have in common: their jars and sizes, YCSB's words, what clients tell."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ycsb as texts
from windtunnel import engines
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.engines.artifacts import ArtifactSet
from windtunnel.engines.hbase.engine import HBase
from windtunnel.engines.registry import ENGINES as REGISTERED
from windtunnel.engines.ycsb.results import done_in, options, results_in
from windtunnel.engines.ycsb.sizes import CACHE_MB, MIB, own_memory, server_mb
from windtunnel.engines.ycsb.store import ClientOutput, Store, _UntilWarm
from windtunnel.engines.ycsb.stores import STORES
from windtunnel.errors import TrialInvalidError

ENGINES = Path(engines.__file__).parent


def test_every_store_is_an_engine() -> None:
    known = {name: kind for name, kind in REGISTERED.items() if issubclass(kind, Store)}
    assert known == STORES
    assert all(kind.serving in kind.placed(load_cluster("local-3")) for kind in STORES.values())


def test_the_smallest_host_decides_what_each_server_gets() -> None:
    cluster = apply_overrides(load_cluster("local-3"), {"hosts.worker.memory": "4 GiB"})
    assert own_memory(cluster, ["worker-1", "worker-2"]) == 4 << 30
    assert own_memory(cluster, []) is None


@pytest.mark.parametrize("name", STORES)
def test_a_store_s_jar_is_made_of_its_sources_and_the_common_ones(name: str) -> None:
    folders = [ENGINES / name, ENGINES / "ycsb"]
    sources = [path for f in folders for path in sorted((f / "java").rglob("*.java"))]
    wanted = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    with zipfile.ZipFile(ENGINES / name / f"windtunnel-{name}.jar") as jar:
        assert jar.read("io/windtunnel/sources.sha256").decode() == wanted
        for kind in STORES[name].binding, STORES[name].tables:
            assert f"{kind.replace('.', '/')}.class" in jar.namelist()


@given(memory=st.integers(1 << 30, 1 << 44), servers=st.integers(1, 500))
def test_heaps_are_sized_to_the_machine(memory: int, servers: int) -> None:
    heap = server_mb(memory, servers)
    assert 384 <= heap <= 2048
    assert heap >= server_mb(memory, servers + 1)
    # what HBase demands of heap that is neither block cache nor memstore (0.4)
    assert 0.4 * heap * MIB >= CACHE_MB * MIB


def test_a_host_with_memory_of_its_own_gives_a_quarter() -> None:
    machine = 24 << 30
    assert server_mb(machine, 2) == 768
    assert server_mb(machine, 2, 8 << 30) == 768
    assert server_mb(machine, 2, 2 << 30) == 512
    assert server_mb(machine, 2, 100 << 20) == 192


def test_progress_is_the_share_of_operations_done(tmp_path: Path) -> None:
    hadoop: Any = SimpleNamespace()
    engine = HBase(hadoop, ArtifactSet("hbase", tmp_path, []))
    assert engine.progress() is None
    log = tmp_path / "run.log"
    engine._working[log] = 1000
    assert engine.progress() is None, "it has not begun"
    log.write_text(texts.status(0, 0, 0) + texts.status(1, 250, 250))
    assert engine.progress() == 0.25


def test_the_moment_after_the_warm_up_is_told_once(tmp_path: Path) -> None:
    log, looks, told = tmp_path / "run.log", [], []
    log.write_text("some warning\n")
    needed = SimpleNamespace(check_alive=lambda: looks.append(1))
    watched = _UntilWarm(needed, log, lambda: told.append(len(looks)))
    watched.check_alive()
    assert not told
    log.write_text("some warning\nwindtunnel: warm_ms=17\n")
    watched.check_alive()
    watched.check_alive()
    assert told == [2] and len(looks) == 3


def test_ycsb_measures_from_the_intended_start_and_checks_what_it_reads() -> None:
    words = options(
        "io.windtunnel.hbase.HBaseStore", {"recordcount": 5}, load=False, threads=4, target=250
    )
    assert words[:7] == [
        "-t",
        "-s",
        "-db",
        "io.windtunnel.hbase.HBaseStore",
        "-threads",
        "4",
        "-target",
    ]
    for wanted in ("measurement.interval=both", "dataintegrity=true", "recordcount=5"):
        assert words[words.index(wanted) - 1] == "-p"
    assert "-target" not in options("any", {}, load=True, threads=4, target=None)


def test_results_tell_intended_and_actual_latencies() -> None:
    text = texts.run(
        texts.result("READ", 1900, 4000, intended=80_000),
        texts.result("READ-FAILED", 3, 9000, answers="ERROR"),
        "[READ], Return=ERROR, 3\n[VERIFY], Return=OK, 897\n[VERIFY], Return=ERROR, 3\n",
    )
    found = results_in(text)
    read = found.operations["READ"]
    assert found.elapsed_s == 10
    assert read.latency == pytest.approx(
        {"mean": 20, "max": 240, "p50": 10, "p95": 40, "p99": 80, "p99.9": 160}
    )
    assert read.service["p99"] == 4
    assert read.answers == {"OK": 1900, "ERROR": 3}
    assert found.operations["VERIFY"].answers == {"OK": 897, "ERROR": 3}


def test_a_percentile_of_too_few_operations_is_left_out() -> None:
    text = texts.run(*(texts.result(n, c, 4000) for n, c in (("SCAN", 999), ("READ", 1000))))
    found = results_in(text).operations
    assert "p99.9" not in found["SCAN"].latency and "p99" in found["SCAN"].latency
    assert "p99.9" in found["READ"].latency


def test_status_lines_tell_the_throughput_of_each_second() -> None:
    lines = [texts.status(0, 0, 0.0), texts.status(1, 800, 800.0), texts.status(2, 2000, 1200.0, 7)]
    lines.append(texts.status(2, 2000, 0.0))  # the last line comes when all have ended
    text = "Starting test.\n" + "some log line\n".join(lines)
    seconds = results_in(text).status
    assert [(s.at, s.operations) for s in seconds] == [
        (texts.START + 1, 800),
        (texts.START + 2, 1200),
    ]
    assert seconds[1].p99 == {"READ": 0.007}
    assert done_in(text) == 2000
    assert done_in("Starting test.\n") is None


@given(st.text())
def test_whatever_a_client_writes_is_read(text: str) -> None:
    assert results_in(text).elapsed_s is None or "[OVERALL]" in text


def test_a_client_that_does_not_tell_is_no_result() -> None:
    told = ClientOutput("", {"rows": "12", "lost": "few"}, Path("/log"))
    assert told.number("rows") == 12
    for name in ("lost", "absent"):
        with pytest.raises(TrialInvalidError, match=name):
            told.number(name)
