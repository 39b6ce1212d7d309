"""Utilisation against limits, the rules, and the verdicts made from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.built import Built, built, task
from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.bottleneck.causes import BUSY, EXTRA_PASSES, IDLE_MOST, LONE, SINGLE
from windtunnel.analysis.bottleneck.described_hosts import HostLimits
from windtunnel.analysis.bottleneck.facts import Facts, Load, cpu_of_workers, mean_facts
from windtunnel.analysis.bottleneck.utilisation import HostUse, host_uses
from windtunnel.analysis.bottleneck.verdicts import (
    Verdict,
    before_and_after,
    bottlenecks,
    cause_of,
    judge,
)

BUSY_CPU = {"this-machine": {"cpu_idle": 0.07, "cpu_iowait": 0.0, "disk_write": 9e7}}
IDLE_CPU = {"this-machine": {"cpu_idle": 0.9, "cpu_iowait": 0.0}}
DISKS = [{"count": 2, "read_rate": "100 MB/s", "write_rate": "50 MB/s"}]
NICS = [{"rate": "1 Gb/s"}]
WORKERS: dict[str, Any] = {
    "name": "described",
    "hosts": {
        "master": {"count": 1, "roles": ["namenode", "resourcemanager", "historyserver"]},
        "worker": {
            "count": 2,
            "roles": ["datanode", "nodemanager"],
            "cpu": {"sockets": 1, "cores_per_socket": 4, "threads_per_core": 2},
            "memory": "64 GiB",
            "disks": DISKS,
            "nics": NICS,
        },
    },
}


def verdict(analysis: Analysis) -> Verdict:
    (found,) = analysis.once(bottlenecks)
    return found


def use(analysis: Analysis, resource: str, host: str = "this-machine") -> HostUse:
    uses = [u for group in analysis.once(host_uses).values() for u in group]
    (found,) = (u for u in uses if (u.resource, u.host) == (resource, host))
    return found


# -- utilisation -----------------------------------------------------------------------


def test_a_phase_is_judged_by_its_own_seconds_only(tmp_path: Path) -> None:
    """The machine is idle before and behind the phase; half of the phase is at 100 %."""
    half = [0.0] * 10 + [0.4] * 10
    analysis = built(tmp_path, [Built(samples={"this-machine": {"cpu_idle": half}})])
    cpu = use(analysis, "CPU")

    assert cpu.share == pytest.approx(0.8)
    assert cpu.pressed == pytest.approx(0.5)


def test_waiting_for_disks_is_not_busy(tmp_path: Path) -> None:
    samples = {"this-machine": {"cpu_idle": 0.3, "cpu_iowait": 0.5}}
    analysis = built(tmp_path, [Built(samples=samples)])

    assert use(analysis, "CPU").share == pytest.approx(0.2)
    assert use(analysis, "waiting for disks").share == pytest.approx(0.5)
    assert verdict(analysis).binding.kind == "disk"


def test_of_a_shared_machine_disks_and_network_have_no_limit(tmp_path: Path) -> None:
    analysis = built(tmp_path, [Built(samples=BUSY_CPU)], cluster=WORKERS)
    disk = use(analysis, "disk write")

    assert (disk.used, disk.limit, disk.share) == (9e7, None, None)
    assert "limit unknown: disk write 90.0 MB/s" in verdict(analysis).text


def test_described_hosts_are_measured_against_their_own_parts(tmp_path: Path) -> None:
    samples = {
        "worker-1": {"cpu_idle": 0.8, "disk_write": 95e6, "net_sent": 25e6, "memory_used": 2**35},
        "worker-2": {"cpu_idle": 0.8, "disk_write": 20e6},
        "master": {"cpu_idle": 0.1},
    }
    trials = [Built(samples=samples)]
    analysis = built(tmp_path, trials, cluster=WORKERS, testbed="attached")

    assert use(analysis, "disk write", "worker-1").share == pytest.approx(0.95)
    assert use(analysis, "network out", "worker-1").share == pytest.approx(0.2)
    assert use(analysis, "memory", "worker-1").share == pytest.approx(0.5)
    assert not use(analysis, "CPU", "master").worker
    found = verdict(analysis)
    assert found.binding.kind == "disk"
    assert "95 % of its limit on worker-1" in found.text, "the master's busy CPU is no worker's"


def test_a_full_degraded_nic_is_the_bottleneck(tmp_path: Path) -> None:
    slow = [{"host": 1, "part": "nic", "to": 0.1}]
    worker = {**WORKERS["hosts"]["worker"], "degraded": slow}
    samples = {
        "worker-1": {"cpu_idle": 0.9, "net_sent": 12e6},
        "worker-2": {"cpu_idle": 0.9, "net_sent": 0.95 * 12.5e6},
    }
    analysis = built(
        tmp_path,
        [Built(samples=samples)],
        cluster={**WORKERS, "hosts": {**WORKERS["hosts"], "worker": worker}},
        testbed="attached",
    )
    assert use(analysis, "network out", "worker-2").share == pytest.approx(0.95)
    found = verdict(analysis)
    assert found.binding.kind == "network"
    assert "95 % of its limit on worker-2" in found.text


def test_monitored_hosts_have_the_limits_that_the_monitoring_reports(tmp_path: Path) -> None:
    """Hosts of an existing cluster have names of their own; the description knows only classes."""
    facts = {"cpu_threads": 16, "memory_bytes": 2**36, "network_bytes_s": 125e6}
    hosts = {"dn1.example": {"worker": True, **facts}, "nn.example": {"worker": False, **facts}}
    samples = {
        "dn1.example": {
            "cpu_idle": 0.5,
            "net_sent": 110e6,
            "memory_used": 2**35,
            "disk_write": 5e7,
        },
        "nn.example": {"cpu_idle": 0.02},
    }
    analysis = built(
        tmp_path,
        [Built(samples=samples)],
        cluster=WORKERS,
        testbed="attached",
        software={"hosts": hosts},
    )

    assert use(analysis, "network out", "dn1.example").share == pytest.approx(0.88)
    assert use(analysis, "memory", "dn1.example").share == pytest.approx(0.5)
    # no exporter reports it: that of the only class of workers that is described
    assert use(analysis, "disk write", "dn1.example").share == pytest.approx(0.5)
    assert not use(analysis, "CPU", "nn.example").worker
    assert verdict(analysis).binding.kind == "network"


def test_the_clients_nic_may_bind_and_the_machine_below_a_model_never(tmp_path: Path) -> None:
    cluster = {
        "name": "with a client",
        "hosts": {**WORKERS["hosts"], "client": {"count": 1, "roles": ["client"], "nics": NICS}},
    }
    samples = {
        "client": {"net_sent": 120e6},
        "worker-1": {"cpu_idle": 0.7, "net_received": 40e6, "disk_write": 30e6},
        "this-machine": {"cpu_idle": 0.05, "cpu_iowait": 0.5},
    }
    analysis = built(tmp_path, [Built(samples=samples)], cluster=cluster, testbed="scaled")
    found = verdict(analysis)
    assert found.binding.kind == "network"
    assert found.binding.words == "network out 120 MB/s, 96 % of its limit on client"
    assert {load.host for load in found.loads} == {"client", "worker-1"}
    (cpu,) = (load for load in found.loads if load.resource == "CPU")
    assert cpu.share == pytest.approx(0.3)


def test_limits_are_those_of_the_treatment(tmp_path: Path) -> None:
    """The same use, but the second level has half of the disks."""
    samples = {"worker-1": {"cpu_idle": 0.8, "disk_write": 45e6}}
    analysis = built(
        tmp_path,
        [Built(samples=samples)],
        cluster=WORKERS,
        testbed="attached",
    )
    trial = analysis.results.trials[0]
    changed = trial.treatment.model_copy(update={"overrides": {"hosts.worker.disks.0.count": 1}})
    analysis.results.trials[0] = trial.model_copy(update={"treatment": changed})
    assert use(analysis, "disk write", "worker-1").share == pytest.approx(0.9)


def test_a_damaged_sample_file_is_unknown_not_idle(tmp_path: Path) -> None:
    built(tmp_path, [Built(samples=BUSY_CPU)])
    (tmp_path / "samples" / "t1.parquet").write_bytes(b"nothing")
    analysis = built(tmp_path / "other", [Built()])

    found = verdict(analysis)
    assert not found.known
    assert found.binding.words == "there are no host samples and no task times"
    assert cause_of(analysis, "stock", "work", "sort") is None


# -- rules -----------------------------------------------------------------------------


def cpu(share: float, pressed: float = 0.0) -> Load:
    return Load("CPU", share, pressed, share, "ratio")


def kind(**facts: Any) -> str:
    return judge(Facts(**facts))[0].kind


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"loads": (cpu(BUSY),)}, "CPU"),
        ({"loads": (cpu(BUSY - 0.01),)}, "no single cause"),
        ({"loads": (cpu(0.6, pressed=0.51),)}, "CPU"),
        ({"loads": (cpu(0.2),)}, "start-up and waiting"),
        ({"loads": (Load("disk vda", 0.9, 0.2, 0.9, "ratio"), cpu(0.5))}, "disk"),
        ({"loads": (Load("network out", 0.9, 0.2, 1e8, "bytes/s"), cpu(0.5))}, "network"),
        ({"loads": (Load("memory", 0.96, 1.0, 1e9, "bytes"), cpu(0.5))}, "memory"),
        ({"loads": (Load("memory", 0.94, 1.0, 1e9, "bytes"), cpu(0.5))}, "no single cause"),
        ({"loads": (cpu(0.5),), "idle": IDLE_MOST}, "start-up and waiting"),
        ({"loads": (cpu(0.5),), "gc": 0.2}, "garbage collection"),
        ({"lone_reduce": LONE, "reduce_skew": 1.5, "reduces": 4}, "one long reducer"),
        ({"lone_reduce": LONE, "reduce_skew": 1.4, "reduces": 4}, "unknown"),
        ({"lone_reduce": LONE, "reduces": 1}, "unknown"),
        ({"lone_reduce": 0.1, "reduces": 4, "reduce_bytes_skew": 3.0}, "one long reducer"),
        ({"lone_reduce": 0.1, "reduces": 4, "reduce_bytes_skew": 2.9}, "unknown"),
        ({"lone_reduce": 0.09, "reduces": 4, "reduce_bytes_skew": 9.0}, "unknown"),
        ({"lone_reduce": SINGLE, "reduces": 1}, "a single reducer"),
        ({"lone_map": 0.5, "map_skew": 3.0, "maps": 9, "lone_reduce": 0.1}, "one long map"),
        ({"map_spills": EXTRA_PASSES, "maps_stage": 0.5}, "the map sort buffer"),
        ({"map_spills": EXTRA_PASSES, "maps_stage": 0.2}, "unknown"),
        ({"map_spills": 2.0, "maps_stage": 0.9}, "unknown"),
        ({"all_spills": 4.0}, "the map sort buffer"),
        ({"all_spills": 3.0}, "unknown"),
        (
            {"loads": (cpu(0.5),), "full": 0.7, "waves": 3.0, "slots": 4.0, "maps": 12.0},
            "too few containers",
        ),
        (
            {"loads": (cpu(0.9),), "full": 0.7, "waves": 3.0, "slots": 4.0, "maps": 12.0},
            "CPU",
        ),
        ({}, "unknown"),
    ],
)
def test_each_rule_holds_from_its_threshold_on(facts: dict[str, Any], expected: str) -> None:
    assert kind(**facts) == expected


def test_what_makes_the_hardware_work_needlessly_comes_first() -> None:
    """Merge passes keep the processors busy: more processors would be the wrong answer."""
    found, runner_up = judge(Facts(loads=(cpu(0.95),), map_spills=4.0, maps_stage=0.6))

    assert found.kind == "the map sort buffer"
    assert runner_up is not None
    assert runner_up.kind == "CPU"


def test_a_quota_is_a_number_of_cores() -> None:
    found, _ = judge(Facts(loads=(cpu(0.92),), threads=0.68))
    assert "92 % of 0.68 cores busy" in found.words


def test_means_are_over_the_trials_that_know() -> None:
    mean = mean_facts([Facts(idle=0.2, loads=(cpu(0.4),)), Facts(loads=(cpu(0.6),)), Facts()])

    assert mean.idle == 0.2
    assert mean.gc is None
    assert mean.loads[0].share == pytest.approx(0.5)


# -- verdicts --------------------------------------------------------------------------


def test_a_verdict_says_cause_evidence_agreement_and_what_is_next(tmp_path: Path) -> None:
    trials = [Built(samples=BUSY_CPU, metrics={"cpu_time": 34.0}) for _ in range(3)]
    found = verdict(built(tmp_path, trials))

    assert found.text == (
        "CPU-bound: 93 % of 2 threads busy (same cause in all 3 trials; next bottleneck: "
        "processors waited for disks 0 % of the time; limit unknown: disk write 90.0 MB/s)"
    )
    assert found.binding.numbers == {"CPU": pytest.approx(0.93), "own_cpu": pytest.approx(0.85)}


def test_busy_processors_that_are_not_the_jobs_are_told(tmp_path: Path) -> None:
    found = verdict(built(tmp_path, [Built(samples=BUSY_CPU, metrics={"cpu_time": 8.0})]))

    assert "93 % of 2 threads busy, only 20 % by the job's tasks" in found.text
    assert "one trial, spread unknown" in found.text


def test_the_busiest_worker_does_not_stand_for_all_workers(tmp_path: Path) -> None:
    """It is another one in each trial, and the job used half of the CPU time of all workers."""
    idle = ({"worker-1": 0.1, "worker-2": 0.9}, {"worker-1": 0.9, "worker-2": 0.1})
    trials = [
        Built(samples={host: {"cpu_idle": share} for host, share in row.items()}, metrics=cpu_time)
        for row in idle
        for cpu_time in [{"cpu_time": 0.3 * 16 * 20}]
    ]
    found = verdict(built(tmp_path, trials, cluster=WORKERS, testbed="attached"))

    assert found.binding.words == "CPU 90 % busy on the busiest worker"


def test_other_work_is_that_of_all_workers() -> None:
    busiest = Load("CPU", 0.9, None, 0.9, "ratio", sampled=True, varies=True)
    known: dict[str, Any] = {"loads": (busiest,), "threads": 40.0, "own_cpu": 0.1}

    assert judge(Facts(**known, mean_cpu=0.12))[0].words == "CPU 90 % busy on the busiest worker"
    assert judge(Facts(**known, mean_cpu=0.6))[0].words == (
        "CPU 90 % busy on the busiest worker; all workers 60 %, only 10 % by the job's tasks"
    )


def test_the_mean_of_the_workers_counts_their_threads() -> None:
    uses = [
        HostUse("t1", "sort", host, "CPU", "ratio", share, 1.0, share, 0.0)
        for host, share in (("small", 0.9), ("large", 0.1))
    ]
    limits = {"small": HostLimits(threads=4), "large": HostLimits(threads=12)}

    assert cpu_of_workers(uses, limits) == pytest.approx(0.3)
    assert cpu_of_workers(uses, {}) == pytest.approx(0.5)
    assert cpu_of_workers([], limits) is None


def test_one_of_several_workers_with_samples_is_named(tmp_path: Path) -> None:
    trials = [Built(samples={"worker-1": {"cpu_idle": 0.05}})]
    found = verdict(built(tmp_path, trials, cluster=WORKERS, testbed="attached"))

    assert found.binding.words == "CPU 95 % busy on worker-1"


def test_trials_that_disagree_are_counted(tmp_path: Path) -> None:
    busy, idle = Built(samples=BUSY_CPU), Built(samples=IDLE_CPU)
    most = verdict(built(tmp_path / "most", [busy, busy, idle]))
    assert (most.binding.kind, most.agree) == ("CPU", 2)
    assert "same cause in 2 of 3" in most.text

    few = verdict(built(tmp_path / "few", [busy, idle, idle]))
    assert (few.binding.kind, few.agree) == ("no single cause", 0)


def test_one_long_reducer_from_its_tasks(tmp_path: Path) -> None:
    rows = [task("MAP", i, 1, 6) for i in range(2)]
    rows += [task("REDUCE", i, 6, 8 if i else 19) for i in range(4)]
    found = verdict(built(tmp_path, [Built(tasks=rows, samples=IDLE_CPU)]))

    assert found.text.startswith(
        "bound by one long reducer: it worked alone for 55 % of the phase; it took 6.50 times the "
        "median time of 4 tasks"
    )


def test_before_and_after(tmp_path: Path) -> None:
    trials = [
        Built(samples=BUSY_CPU),
        Built(samples=BUSY_CPU, level="more"),
        Built(samples={"this-machine": {"cpu_idle": 0.5, "cpu_iowait": 0.4}}, level="slow"),
        Built(samples={"this-machine": {"cpu_idle": 0.5, "cpu_iowait": 0.0}}, level="easy"),
    ]
    analysis = built(tmp_path, trials)

    def said(level: str) -> str | None:
        return before_and_after(analysis, "work", "sort", "stock", level)

    assert said("more") == "bound by CPU at both levels"
    assert said("slow") == "bound by CPU at the baseline, by disk at this level"
    assert said("easy") is None


def test_loads_of_trials_without_samples_do_not_count_if_others_have_samples() -> None:
    sampled = Load("disk read", 0.6, 0.1, 60e6, "B/s", "worker-1", sampled=True)
    counted = Load("disk read", None, None, 480e6, "B/s")  # of all workers
    (load,) = mean_facts([Facts(loads=(sampled,)), Facts(loads=(counted,))]).loads
    assert (load.used, load.share, load.host) == (60e6, 0.6, "worker-1")
    (load,) = mean_facts([Facts(loads=(counted,)), Facts(loads=(counted,))]).loads
    assert load.used == 480e6
