"""A fault in a real WordCount: the trial counts, its output is verified, the next one is whole.

The output is compressed.
"""

from __future__ import annotations

from pathlib import Path

from tests.real.conftest import SMALL_STUDY, Cli
from windtunnel.results.folder import read_results

STUDY = f"""\
study: killed
cluster: local-3
set:
{SMALL_STUDY}
  hosts.worker.count: 2
  settings.dfs.namenode.reconstruction.pending.timeout-sec: 2
  settings.mapreduce.output.fileoutputformat.compress: true
workloads:
  wordcount: {{size: 10 MB, replication: 2}}
factors:
  fault:
    none: {{}}
    killed:
      fault:
        {{kind: kill-daemon, role: datanode, phase: wordcount, after: 500 ms, watch: 0 s}}
baseline: {{fault: none}}
protocol: {{rounds: 1, seed: 5, trial_time_limit: 5 min, extra_rounds: 0}}
"""


def test_a_datanode_dies_on_purpose_and_the_study_goes_on(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    done = cli("run", "study.yaml", "--results", "results")
    assert done.returncode == 0, done.stderr
    trials = read_results(tmp_path / "results").trials

    assert [trial.verdict.valid for trial in trials] == [True, True], "both were verified"
    assert trials[0].treatment.id == "killed", "a trial without a fault follows: see the seed"
    assert trials[0].outcome == "finished"
    (fault,) = trials[0].faults
    count = next(phase for phase in trials[0].phases if phase.name == "wordcount")
    assert fault.at is not None and fault.undone_at is not None
    assert fault.at < count.finished_at <= fault.undone_at
    assert fault.target == "the datanode on worker-2"
    # one start of the cluster: it was put back, and not dropped
    assert [trial.deployment for trial in trials] == [1, 1]
    assert trials[1].faults == []
    full = cli("report", "results", "--full")
    assert "the datanode on worker-2 killed 500 ms into wordcount" in " ".join(full.stdout.split())
