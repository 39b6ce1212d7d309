"""Key-value: what is asked of YCSB, what comes of its words, and what the verdict catches."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from tests.support import ycsb as texts
from windtunnel.cluster import Located, apply_overrides, load_cluster, validate
from windtunnel.engines.deployment import JobRun
from windtunnel.engines.ycsb.results import Second
from windtunnel.engines.ycsb.store import Cache, ClientOutput
from windtunnel.engines.ycsb.stores import STORES
from windtunnel.errors import DescriptionError, TrialInvalidError
from windtunnel.workloads.base import Execution
from windtunnel.workloads.keyvalue.keyvalue import KeyValue, KeyValueParameters
from windtunnel.workloads.keyvalue.result import longest_stall

CLUSTER = apply_overrides(load_cluster("local-3"), {"hosts.worker.count": 2})
MIB = 1 << 20
GOOD = {
    "rows": 1000,
    "expected": 1000,
    "unsure": 0,
    "lost": 0,
    "altered": 0,
    "outdated": 0,
    "unknown": 0,
}


def keyvalue(**changes: Any) -> KeyValue:
    wanted = {"workload": "A", "records": 1000, "operations": 1000} | changes
    return KeyValue(validate(KeyValueParameters, Located(wanted)))


class Store:
    """An engine that answers with texts."""

    def __init__(self, folder: Path) -> None:
        self.hadoop = SimpleNamespace(client=SimpleNamespace(name="master", root=folder))
        self.commands: list[list[str]] = []
        self.stored = 200 * MIB
        self.rows = dict(GOOD)
        self.example = ""
        self.load = texts.run(texts.result("INSERT", 1000, 4000), tells={"acknowledged": 1000})
        self.ran = texts.run(
            texts.result("READ", 500, 4000, intended=80_000),
            texts.result("UPDATE", 500, 6000),
            "[VERIFY], Return=OK, 500\n",
        )
        self.caches = [Cache(64 * MIB, hits, 10) for hits in (0, 500, 530)]

    def engine(self, kind: object) -> Store:
        return self

    def copies(self) -> int:
        return 2

    def settle(self, table: str, deadline_s: float) -> float:
        self.commands.append(["settle", table])
        return float(self.stored)

    def cache(self) -> Cache | None:
        return self.caches.pop(0) if self.caches else Cache(64 * MIB, 30, 20)

    def run(self, name: str, words: list[str], *, warm: Any = None, **_: Any) -> ClientOutput:
        self.commands.append(words)
        if warm is not None:
            warm()
        values: dict[str, Any] = {}
        text = ""
        if words[0] == "ycsb":
            text = self.load if name == "load" else self.ran
            values = dict(
                line.removeprefix("windtunnel: ").split("=", 1)
                for line in text.splitlines()
                if line.startswith("windtunnel: ")
            )
        elif words[0] == "verify":
            values = {**self.rows, **({"example": self.example} if self.example else {})}
        return ClientOutput(text, {k: str(v) for k, v in values.items()}, Path("/log"), 12.0)


def run(workload: KeyValue, store: Store) -> Execution:
    execution = Execution("/windtunnel/trials/r1-p2-a1", "/w/shared", time.monotonic() + 60)
    deployment: Any = store
    workload.prepare(deployment, execution)
    for phase in workload.phases():
        execution.runs[phase] = workload.run_phase(phase, deployment, execution)
    return execution


def verdict(workload: KeyValue, store: Any) -> Any:
    return workload.verify(store, run(workload, store))


def values(run: JobRun) -> dict[str, float]:
    return {name: metric.value for name, metric in run.phase.metrics.items()}


def test_a_store_that_kept_everything_is_valid(tmp_path: Path) -> None:
    found = verdict(keyvalue(), Store(tmp_path))
    assert found.valid, found.reason
    assert len(found.checks) == 10


def test_the_phases_tell_rates_and_latencies_from_the_intended_start(tmp_path: Path) -> None:
    execution = run(keyvalue(), Store(tmp_path))
    found = values(execution.runs["run"])
    assert found["throughput"] == 100
    assert found["read_p99"] == 80 and found["read_service_p99"] == 4
    assert "read_p99.9" not in found, "of 500 operations none lies above it"
    assert found["update_p50"] == 0.75
    assert found["cache_hits"] == pytest.approx(1)
    assert "saturated" not in found
    load = values(execution.runs["load"])
    assert load["data_to_cache"] == pytest.approx(200 / 64)
    assert execution.runs["run"].phase.started_at == texts.START
    assert execution.runs["run"].phase.elapsed_s == 10


@pytest.mark.parametrize(("target", "saturated"), [(100, 0), (103, 0), (104, 1), (5000, 1)])
def test_a_rate_that_was_not_reached_is_saturated(
    target: int, saturated: int, tmp_path: Path
) -> None:
    execution = run(keyvalue(target_rate=target), Store(tmp_path))
    found = execution.runs["run"]
    assert values(found)["saturated"] == saturated
    assert any("saturated" in note for note in found.notes) == bool(saturated)
    assert "saturated" not in values(execution.runs["load"])


def test_status_lines_become_samples(tmp_path: Path) -> None:
    store = Store(tmp_path)
    lines = texts.status(0, 0, 0), texts.status(1, 60, 60), texts.status(2, 100, 40)
    store.ran = "".join(lines) + store.ran
    rows = run(keyvalue(), store).runs["run"].samples
    assert rows[0] == (texts.START + 1, "master", "kv_throughput", "ops/s", 60)
    assert rows[1] == (texts.START + 1, "master", "kv_p99:read", "ms", 2.0)
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("name", "count", "told"),
    [
        ("lost", 1, "acknowledged rows that are lost: expected 0, got 1, such as user7: lost"),
        ("altered", 2, "rows with a wrong value"),
        ("outdated", 1, "rows without their last acknowledged write"),
        ("unknown", 1, "rows that nobody wrote"),
        ("rows", 999, "rows: expected 1000, got 999"),
    ],
)
def test_what_the_last_scan_finds_is_caught(
    name: str, count: int, told: str, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    store.rows[name] = count
    store.example = "user7: lost"
    found = verdict(keyvalue(), store)
    assert not found.valid
    assert told in found.reason


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[VERIFY], Return=UNEXPECTED_STATE, 2\n", "reads with a wrong value: expected 0, got 2"),
        ("[VERIFY], Return=ERROR, 1\n", "reads that found no record: expected 0, got 1"),
        ("[READ], Return=NOT_FOUND, 1\n", "reads that found no record: expected 0, got 1"),
    ],
)
def test_what_a_read_finds_wrong_is_caught(line: str, told: str, tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.ran += line
    found = verdict(keyvalue(), store)
    assert not found.valid
    assert told in found.reason


def test_a_wrong_row_of_a_scan_is_caught(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.ran = texts.run(texts.result("SCAN", 1000, 9000), tells={"rows_scanned_wrong": 3})
    assert (
        "scans or scanned rows that were wrong: expected 0, got 3"
        in verdict(keyvalue(), store).reason
    )


def test_a_read_of_a_row_whose_insert_failed_is_no_loss(tmp_path: Path) -> None:
    ran = [texts.result("READ", 950, 4000), "[READ], Return=NOT_FOUND, 2\n"]
    ran.append("[VERIFY], Return=OK, 948\n[VERIFY], Return=ERROR, 2\n")
    store = Store(tmp_path)
    for excused, passed in ((2, True), (1, False)):
        store.ran = texts.run(*ran, tells={"reads_excused": excused})
        found = {check.name: check for check in verdict(keyvalue(), store).checks}
        assert found["reads that found no record"].passed == passed


def test_a_load_that_was_not_acknowledged_whole_is_caught(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.load = texts.run(texts.result("INSERT", 1000, 4000), tells={"acknowledged": 998})
    assert "records loaded: expected 1000, got 998" in verdict(keyvalue(), store).reason


def test_an_operation_that_failed_is_said_and_is_no_throughput(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.ran += "[READ], Return=ERROR, 100\n[VERIFY], Return=ERROR, 100\n"
    execution = run(keyvalue(), store)
    assert values(execution.runs["run"])["throughput"] == 90
    assert execution.runs["run"].notes == ["run: 100 of 1,000 operations failed"]
    deployment: Any = store
    assert keyvalue().verify(deployment, execution).valid


def test_data_that_fits_in_the_block_caches_is_caught_unless_warm_is_asked(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.stored = 63 * MIB
    assert "data over block caches: expected more than 100 %" in verdict(keyvalue(), store).reason
    warm = Store(tmp_path)
    assert verdict(keyvalue(warm=True), warm).valid
    assert not any(words[0] == "settle" for words in warm.commands)


def test_too_little_data_is_refused_before_anything_starts() -> None:
    problem = "16.6 MB of records fit in the block caches"
    assert problem in " ".join(keyvalue(records=10_700).check(CLUSTER))
    assert not keyvalue(records=10_700, warm=True).check(CLUSTER)
    assert not keyvalue(records=100_000).check(CLUSTER)
    three = {"hosts.worker.count": 3, "storage.erasure_code": "XOR-2-1"}
    coded = apply_overrides(CLUSTER, three)
    (refused,) = keyvalue(records=200_000).check(coded)
    assert "storage.erasure_code does not apply to the files of HBase" in refused
    larger = apply_overrides(CLUSTER, {"settings.hfile.block.cache.size": 0.4})
    assert keyvalue(records=100_000).check(larger)


def test_values_too_short_to_tell_their_record_are_refused() -> None:
    problems = keyvalue(field_length="16 B", records=10**6).check(CLUSTER)
    assert "does not identify its record and field" in problems[0]


@pytest.mark.parametrize("changes", [{"workload": "G"}, {"records": 0}, {"distribution": "flat"}])
def test_impossible_parameters_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DescriptionError):
        keyvalue(**changes)


@pytest.mark.parametrize(
    ("workload", "wanted"),
    [
        ("A", {"readproportion=0.5", "updateproportion=0.5", "requestdistribution=zipfian"}),
        ("D", {"insertproportion=0.05", "requestdistribution=latest", "updateproportion=0"}),
        ("E", {"scanproportion=0.95", "readproportion=0", "maxscanlength=100"}),
        ("F", {"readmodifywriteproportion=0.5", "readproportion=0.5"}),
    ],
)
def test_workloads_are_those_of_ycsb(workload: str, wanted: set[str], tmp_path: Path) -> None:
    store = Store(tmp_path)
    run(keyvalue(workload=workload, target_rate=50), store)
    load, ran = (words for words in store.commands if words[0] == "ycsb")
    assert wanted <= set(ran)
    assert "-target" in ran and "-target" not in load
    assert load[2:4] == ["0", "-load"] and ran[2:4] == ["5000", "-t"]


def test_the_last_scan_reads_the_ledgers_of_both_phases(tmp_path: Path) -> None:
    store = Store(tmp_path)
    verdict(keyvalue(), store)
    words = store.commands[-1]
    assert words[:5] == ["verify", "trials_r1_p2_a1", "1000", "10", "100"]
    assert [Path(word).name for word in words[5:]] == [
        "trials_r1_p2_a1-load.ledger",
        "trials_r1_p2_a1-run.ledger",
    ]


def test_a_run_without_an_end_is_no_result(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.load = "Starting test.\n"
    with pytest.raises(TrialInvalidError, match="YCSB printed no results"):
        run(keyvalue(), store)


def test_the_longest_stall_is_that_without_any_operation() -> None:
    rates = [5, 0, 0, 3, 0, 7]
    seconds = [Second(float(i), n, 1.0, {}) for i, n in enumerate(rates)]
    assert longest_stall(seconds) == 2.0
    assert longest_stall([]) == 0.0


def test_the_parameter_names_every_store() -> None:
    assert set(get_args(KeyValueParameters.model_fields["store"].annotation)) == set(STORES)
    assert keyvalue(store="kudu").parameters.engines() == ("kudu",)


def test_what_differs_is_the_store_s_own() -> None:
    mine = {"store": "kudu", "records": 30_000}
    small = keyvalue(**mine).check(CLUSTER)
    assert "reduce settings.kudu.block_cache_capacity_mb" in small[0]
    assert not keyvalue(**mine).check(
        apply_overrides(CLUSTER, {"settings.kudu.block_cache_capacity_mb": 8})
    )
    both = {"hosts.worker.extra_roles": {0: ["kudu-master"], 1: ["kudu-master"]}}
    refused = keyvalue(store="kudu", records=10**6).check(apply_overrides(CLUSTER, both))
    assert refused == ["Kudu supports one kudu-master here, but 2 hosts have that role"]


@pytest.mark.parametrize(
    ("store", "setting", "fits", "too_large"),
    [
        ("kudu", "settings.kudu.block_cache_capacity_mb", 100, 4096),
        ("hbase", "settings.hfile.block.cache.memory.size", "100m", "4g"),
        ("hbase", "settings.hfile.block.cache.size", 0.4, 0.5),
    ],
)
def test_a_cache_with_which_no_server_starts_is_refused(
    store: str, setting: str, fits: object, too_large: object
) -> None:
    asked = keyvalue(store=store, records=10**8)
    assert not asked.check(apply_overrides(CLUSTER, {setting: fits}))
    (refused,) = asked.check(apply_overrides(CLUSTER, {setting: too_large}))
    assert "starts with a cache of at most" in refused
    room = {setting: too_large, "settings.hbase.regionserver.global.memstore.size": 0.2}
    assert (asked.check(apply_overrides(CLUSTER, room)) == []) == (too_large == 0.5)


def test_the_table_is_made_with_its_fields_and_copies(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run(keyvalue(fields=12, store="kudu"), store)
    assert store.commands[0] == ["create", "trials_r1_p2_a1", "8", "12", "2"]
    load = next(words for words in store.commands if words[0] == "ycsb")
    assert "io.windtunnel.kudu.KuduStore" in load


def test_a_scale_model_runs_a_share_of_records_and_operations() -> None:
    parameters = keyvalue().parameters
    assert parameters.at_scale(0.1)["records"] == 100
    assert parameters.engines() == ("hbase",)
