"""Three cases on real daemons that were built to have one cause each: the report names it.

- Processors: pi with many points, which moves no data.
- One long reducer: TeraSort takes its partitions from four sampled keys instead of 100,000.
  The keys of TeraGen depend on nothing but the number of the row, and with this number of
  rows the keys of rows 1/4, 2/4 and 3/4 all lie in the last 2 % of the key space: the first
  of three reducers gets 98 % of the data. It writes three copies of it, so that it is alone
  for twice the time that the rule asks for.
- A starved sort buffer: 1 MiB for 100 times as much map output, merged three files at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.bottleneck.tails import tails
from windtunnel.analysis.bottleneck.verdicts import Verdict, bottlenecks, cause_of
from windtunnel.cluster import apply_overrides, load_text, validate
from windtunnel.probes.machine import machine_facts
from windtunnel.results.folder import read_results
from windtunnel.study.file import StudyFile
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import make_plan
from windtunnel.study.record import study_record
from windtunnel.study.trial import Conditions, run_trial
from windtunnel.testbeds.local import LocalDeployment, LocalTestbed

pytestmark = pytest.mark.alone
SKEWED_ROWS = 3_505_952
SATURATED = 4  # runnable threads a processor
STUDY = """\
study: built
cluster: local-3
workloads:
  {workload}
protocol: {{rounds: 1, trial_time_limit: 5 min}}
"""
TERASORT = (
    "terasort: {{rows: {rows}, maps: 4, reduces: {reduces}, input_replication: 1, "
    "output_replication: {copies}}}"
)


@dataclass
class Bench:
    """Runs one trial of a workload with job settings on the shared deployment."""

    folder: Path
    testbed: LocalTestbed
    deployment: LocalDeployment

    def run(self, workload: str, settings: dict[str, str | int]) -> Analysis:
        located = load_text(STUDY.format(workload=workload), "study.yaml")
        plan = make_plan(validate(StudyFile, located), located)
        stock = self.deployment.cluster
        changes = {f"settings.{name}": value for name, value in settings.items()}
        self.deployment.reconfigure(apply_overrides(stock, changes))
        try:
            with open_journal(self.folder / "results", study_record(plan)) as journal:
                provenance = journal.store_provenance({"machine": machine_facts()})
                slot = plan.round_slots(1)[0]
                trial, _ = run_trial(
                    plan, slot, 1, self.deployment, journal, Conditions(provenance=provenance)
                )
        finally:
            self.deployment.reconfigure(stock)
        assert trial.verdict.valid, trial.verdict.reason
        return analyse(read_results(self.folder / "results"))


@pytest.fixture
def bench(tmp_path: Path, testbed: LocalTestbed, deployment: LocalDeployment) -> Iterator[Bench]:
    yield Bench(tmp_path, testbed, deployment)


def verdict(analysis: Analysis, phase: str) -> Verdict:
    (found,) = (v for v in analysis.once(bottlenecks) if v.phase == phase)
    return found


def skip_if_saturated(analysis: Analysis) -> None:
    """Where others keep all processors busy, their work is what binds: nothing can be shown."""
    before = analysis.results.trials[0].before
    assert before is not None
    if before.load_1min > SATURATED * (psutil.cpu_count() or 1):
        pytest.skip(f"the machine is saturated by other work: load {before.load_1min:.1f}")


def test_many_points_are_bound_by_the_processors(bench: Bench) -> None:
    analysis = bench.run("pi: {maps: 4, samples_per_map: 200000000}", {})
    found = verdict(analysis, "pi")

    assert found.binding.kind == "CPU", found.text
    assert found.text.startswith("CPU-bound: ")
    metrics = analysis.results.trials[0].phases[0].metrics
    assert metrics["cpu_time"].value > 10, "the job's own work, whatever else the machine did"
    assert metrics["hdfs_bytes_read"].value < 1e5
    assert cause_of(analysis, found.treatment, "pi", "pi") == "CPU"


def test_partitions_from_four_keys_are_bound_by_one_long_reducer(bench: Bench) -> None:
    settings: dict[str, str | int] = {
        "mapreduce.terasort.partitions.sample": 4,
        "mapreduce.terasort.num.partitions": 4,
    }
    analysis = bench.run(TERASORT.format(rows=SKEWED_ROWS, reduces=3, copies=3), settings)
    found = verdict(analysis, "terasort")

    (reduces,) = (t for t in analysis.once(tails) if (t.phase, t.kind) == ("terasort", "REDUCE"))
    assert reduces.bytes_skew is not None
    assert reduces.bytes_skew > 10, "the data is where the construction puts it"
    skip_if_saturated(analysis)
    assert found.binding.kind == "one long reducer", found.text


def test_a_tiny_sort_buffer_is_bound_by_its_merge_passes(bench: Bench) -> None:
    settings: dict[str, str | int] = {
        "mapreduce.task.io.sort.mb": 1,
        "mapreduce.task.io.sort.factor": 3,
    }
    analysis = bench.run(TERASORT.format(rows=500_000, reduces=2, copies=1), settings)
    found = verdict(analysis, "terasort")

    assert found.binding.kind == "the map sort buffer", found.text
    assert "additional merge passes" in found.text
    assert found.binding.numbers["spills"] > 3
