"""The speed of the cores in the phases of a scale model whose CPU quotas follow the core probe."""

from __future__ import annotations

from windtunnel.results.record import Phase, StudyRecord


def core_factor(study: StudyRecord, phase: Phase) -> float:
    """Mean CPU time of the core probe in a phase, relative to the time for the planned quotas.

    1.0 if the quotas do not follow the probe, or the phase has no probe.
    """
    planned_ms = study.scale.core_probe_ms if study.scale else None
    probe = phase.metrics.get("core_probe")
    return 1.0 if planned_ms is None or probe is None else probe.value / planned_ms


def quota_factor(phase: Phase) -> float:
    """The quotas of a phase relative to the planned ones, mean; 1.0 if they did not change."""
    found = phase.metrics.get("quota_factor")
    return 1.0 if found is None else found.value
