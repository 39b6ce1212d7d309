"""Section "Context switches": their mean in each phase, by treatment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import fmean

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.observations import counts
from windtunnel.analysis.parquet_files import read_files
from windtunnel.report.sections.base import Section, Table, column
from windtunnel_small_files.probe import SWITCHES

Key = tuple[str, str, str]
"""Workload, phase, treatment."""


def section(analysis: Analysis) -> Section | None:
    """None where the probe did not run."""
    means: dict[Key, list[float]] = defaultdict(list)
    for key, values in _phases(analysis):
        means[key].append(fmean(values))
    if not means:
        return None
    rows = [
        [workload, phase, analysis.name(treatment), f"{fmean(of_trials):.0f}", str(len(of_trials))]
        for (workload, phase, treatment), of_trials in means.items()
    ]
    (workload, phase, treatment), most = max(means.items(), key=lambda item: fmean(item[1]))
    return Section(
        id="context-switches",
        title="Context switches",
        said=[
            f"This machine switched contexts most often in {phase} of {workload} "
            f"({analysis.name(treatment)}): {fmean(most):.0f} times per second"
        ],
        tables=[
            Table(
                "Context switches per second, means of trials",
                column("workload", "phase", "treatment", "mean", "n", text=3),
                rows,
            )
        ],
        data=[
            {
                "workload": workload,
                "phase": phase,
                "treatment": treatment,
                "unit": SWITCHES.unit,
                "mean": fmean(of_trials),
                "n": len(of_trials),
            }
            for (workload, phase, treatment), of_trials in means.items()
        ],
        group="why",
    )


def _phases(analysis: Analysis) -> Iterator[tuple[Key, list[float]]]:
    """The samples of each phase of each trial that counts."""
    counted = [trial for trial in analysis.results.trials if counts(trial)]
    paths = {trial.id: analysis.results.samples_path(trial) for trial in counted}
    query = f"SELECT trial, t, value FROM read_parquet(?) WHERE metric = '{SWITCHES.name}'"
    found = read_files(paths.values(), query)
    by_trial: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for trial, t, value in found.rows:
        by_trial[trial].append((t, value))
    for trial in counted:
        for phase in trial.phases:
            begin, end = phase.started_at, phase.finished_at
            values = [value for t, value in by_trial[trial.id] if begin <= t <= end]
            if values:
                yield (trial.workload, phase.name, trial.treatment.id), values
