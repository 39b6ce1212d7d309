"""The time that the harness adds to a trial, and the CPU time of the sampler.

Run: ``python bench/bench_harness.py [TRIALS]``. It runs a small TeraSort on one worker. The
overhead is the wall time of the trial minus its phases (job start to job finish). It consists of
the time of the clients, the start of the application masters and the rest, which is the harness.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from windtunnel.cluster import load_text, validate
from windtunnel.study.file import StudyFile
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import make_plan
from windtunnel.study.record import study_record
from windtunnel.study.trial import run_trial
from windtunnel.testbeds.local import LocalTestbed

STUDY = """\
study: harness
cluster: local-1
workloads:
  terasort: {rows: 10000, input_replication: 1, output_replication: 1}
protocol: {rounds: %d}
"""


def main() -> None:
    """Run the trials on one deployment and print the medians."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    located = load_text(STUDY % count, "study.yaml")
    plan = make_plan(validate(StudyFile, located), located)
    trials = []
    with tempfile.TemporaryDirectory() as folder:
        testbed = LocalTestbed(Path(folder) / "logs", lambda text: None)
        with (
            open_journal(Path(folder) / "results", study_record(plan)) as journal,
            testbed.deploy(plan.base) as deployment,
        ):
            for number in range(1, count + 1):
                slot = plan.round_slots(number)[0]
                trials.append(run_trial(plan, slot, 1, deployment, journal)[0])
    valid = [trial for trial in trials if trial.verdict.valid]
    print(f"{len(valid)} valid trials of {len(trials)}")
    wall = [trial.metrics["trial_wall"].value for trial in valid]
    phases = [sum(phase.elapsed_s for phase in trial.phases) for trial in valid]
    clients = [sum(p.metrics["client_overhead"].value for p in trial.phases) for trial in valid]
    masters = [sum(p.metrics["master_start"].value for p in trial.phases) for trial in valid]
    parts = zip(wall, phases, clients, masters, strict=True)
    ours = [w - p - c - m for w, p, c, m in parts]
    sampler = [100 * trial.metrics["sampler_cpu_share"].value for trial in valid]
    for name, values, unit in (
        ("trial", wall, "s"),
        ("phases", phases, "s"),
        ("clients", clients, "s"),
        ("masters", masters, "s"),
        ("harness", ours, "s"),
        ("sampler", sampler, "% of a core"),
    ):
        low, high = min(values), max(values)
        print(f"{name:9} median {statistics.median(values):6.2f} {unit}  ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
