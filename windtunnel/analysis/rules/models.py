"""Rules on scale models."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from windtunnel.analysis.evidence import Evidence, ReportWarning
from windtunnel.analysis.subjects.work import baseline_probe_ms, baseline_work

_TOLERANCE = 0.1  # of a similarity group that matches


def core_speed(evidence: Evidence) -> Iterator[ReportWarning]:
    """The CPU quotas of a model assume another speed of this machine's cores than was measured."""
    scale = evidence.results.study.scale
    if scale is None:
        return
    assumed = scale.core_speed or 1.0
    for phase, full in scale.cpu_s_per_gb.items():
        found = baseline_work(evidence.results, phase)
        if not found:
            continue
        own = median(found)
        speed = full / own
        if abs(speed / assumed - 1) <= _TOLERANCE:
            continue
        change = abs(speed / assumed - 1) * 100
        setting, probes = f"'core_speed: {speed:.3g}'", baseline_probe_ms(evidence.results, phase)
        if scale.core_probe_ms is None and probes:
            setting += f" and 'core_probe_ms: {median(probes):.3g}'"
        yield ReportWarning(
            id="core-speed",
            severity="caution",
            text=f"'core_speed' is {assumed:.3g}, but it should be {speed:.3g} on this machine: "
            f"the tasks of the phase {phase} had {own:.0f} s of CPU time per GB in the model, and "
            f"{full:.0f} s at full size. Relative to its disks and NICs, the CPUs of the model do "
            f"{change:.0f} % {'more' if speed > assumed else 'less'} work than at full size",
            advice=f"set {setting} in 'testbed', and run the study again with another results "
            "folder.",
        )
