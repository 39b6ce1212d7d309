"""The space that a study needs in HDFS, and the bytes that it writes."""

from __future__ import annotations

from pathlib import Path

from tests.support.mock import plan_from
from windtunnel.inspection.site_files import ClientConfiguration, Entry
from windtunnel.study.check import study_request
from windtunnel.testbeds.attached.site import Site
from windtunnel.testbeds.attached.space import Space, space_of, written_bytes
from windtunnel.testbeds.base import StudyRequest

JOB_FILES = 512 << 20
STUDY = """\
study: toy
cluster: local-3
testbed: {{kind: attached, conf: conf}}
workloads:
  {workload}
{more}
protocol: {{rounds: 2}}
"""


def request(workload: str, more: str = "") -> StudyRequest:
    return study_request(plan_from(STUDY.format(workload=workload, more=more)))


def factor(path: str, *levels: object) -> str:
    named = ", ".join(f"l{n}: {{{path}: {level}}}" for n, level in enumerate(levels))
    return f"factors: {{f: {{{named}}}}}\nbaseline: {{f: l0}}"


def space(found: StudyRequest, containers: int = 20, **conf: str) -> Space:
    """The space on a cluster with these properties, such as ``dfs_blocksize``."""
    entries = {
        name.replace("_", "."): Entry(name, value, "x-site.xml:1") for name, value in conf.items()
    }
    site = Site(ClientConfiguration(Path("conf"), "Apache", entries), [], [], "")
    return space_of(found, site, containers)


def space_bytes(found: StudyRequest) -> int:
    """The space without that of blocks that are open."""
    return space(found).data


def test_a_mix_writes_all_phases_of_its_parts_alone_and_together() -> None:
    part = "parameters: {rows: 1000000, input_replication: 3, output_replication: 1}"
    gen = "parameters: {rows: 1000000, replication: 2}"
    parts = (
        f"{{sort: {{workload: terasort, weight: 2, {part}}}, gen: {{workload: teragen, {gen}}}}}"
    )
    found = request(f"mix: {{parts: {parts}}}")
    # TeraSort: input 3, spills and output 2; three instances; TeraGen: two instances
    each = 100_000_000 * (3 * (3 + 2) + 2 * 2)
    assert space_bytes(found) == each
    assert written_bytes(found) == found.trials * each + JOB_FILES


def test_each_shared_input_is_counted_with_its_own_replicas() -> None:
    sort = "terasort: {rows: 1000000, input_replication: 4, output_replication: 1, "
    sort += "reuse_input: true}"
    trial = 2 * 100_000_000
    one = 4 * 100_000_000
    alone = request(sort)
    assert space_bytes(alone) == trial + one
    assert written_bytes(alone) == alone.trials * trial + one + JOB_FILES
    settings = request(sort, factor("settings.mapreduce.task.io.sort.mb", 100, 200))
    assert space_bytes(settings) == space_bytes(alone)
    maps = request(sort, factor("workloads.terasort.maps", 2, 4))
    assert space_bytes(maps) == trial + 2 * one
    replicas = request(sort, factor("workloads.terasort.input_replication", 1, 3))
    assert space_bytes(replicas) == trial + one


def test_texts_of_the_same_size_are_other_inputs() -> None:
    count = "wordcount: {size: 100 MB, replication: 2}"
    one = request(count)
    seeds = request(count, factor("workloads.wordcount.seed", 1, 2))
    assert space_bytes(seeds) - space_bytes(one) == 200_000_000


def test_parts_of_a_mix_share_their_input() -> None:
    part = "workload: wordcount, parameters: {size: 100 MB, replication: 2}"
    both = request(f"mix: {{parts: {{a: {{{part}}}, b: {{{part}}}}}}}")
    assert [dict(load.shared_bytes) for load in both.treatments[0].loads] == [
        {"text-100000000-1-1-2": 200_000_000}
    ]


def test_hdfs_reserves_full_blocks_of_open_files() -> None:
    """Ten replicas for a submitted job, and the replicas of each container."""
    pi = request("pi: {maps: 2, samples_per_map: 10}")
    mib = 1 << 20
    found = space(pi)
    assert (found.data, found.job_files, found.open_blocks) == (0, 1280 * mib, 20 * 3 * 128 * mib)
    assert found.total == 1280 * mib + 7680 * mib
    large = space(pi, 4, dfs_blocksize="512m", dfs_replication="2")
    assert (large.job_files, large.open_blocks) == (5120 * mib, 4 * 2 * 512 * mib)
    many = space(pi, mapreduce_client_submit_file_replication="20")
    assert many.job_files == 2560 * mib
    assert space(pi, dfs_blocksize="1m").job_files == JOB_FILES
    blocks = request(
        "pi: {maps: 2, samples_per_map: 10}", factor("settings.dfs.blocksize", "1m", "256m")
    )
    assert space(blocks).job_files == 2560 * mib


def test_the_clients_of_a_mix_submit_at_the_same_time() -> None:
    part = "workload: pi, weight: 2, parameters: {maps: 2, samples_per_map: 10}"
    copy = "workload: transfer, parameters: {size: 8 MB, files: 4, streams: 3, replication: 3}"
    found = space(request(f"mix: {{parts: {{a: {{{part}}}, b: {{{copy}}}}}}}"))
    assert found.job_files == 5 * (1280 << 20)
    assert "for 5 x 10 replicas of a block of 128 MiB" in found.words
