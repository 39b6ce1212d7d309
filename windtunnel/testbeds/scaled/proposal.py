"""The proposed scale of a model for this machine, and its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from windtunnel.cluster import Cluster
from windtunnel.results.record import SimilarityGroup
from windtunnel.testbeds.scaled.expected_error import total
from windtunnel.testbeds.scaled.scale import Scale
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan


@dataclass(frozen=True)
class Proposal:
    """A scale and its consequences.

    ``limits`` state the reasons; ``slots`` and ``disks`` are those of one worker of the model.
    ``errors`` are the terms of the expected error of ratios; ``settings`` are paths of the
    description with the values that the proposal needs.
    """

    scale: Scale
    limits: list[str]
    cluster: Cluster
    slots: int
    disks: int
    hosts: int
    trial_s: float
    study_s: float
    groups: list[SimilarityGroup]
    errors: Mapping[str, float]
    settings: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)


def lines(proposal: Proposal, cpu_s_per_gb: Mapping[str, float] | None = None) -> list[str]:
    """The proposal as text, without its groups.

    ``cpu_s_per_gb``: the option of the study that the proposal keeps.
    """
    study = proposal.scale
    phases = ", ".join(f"{name}: {value:g}" for name, value in (cpu_s_per_gb or {}).items())
    more = f", cpu_s_per_gb: {{{phases}}}" if phases else ""
    nic = max(h.nic_bytes_s or 0.0 for h in fabric_plan(proposal.cluster, study).hosts)
    disk = next(h for h in fabric_plan(proposal.cluster, study).hosts if h.cpu_cores).disks[0]
    found = [
        "proposal for this machine (copy it to the study file):",
        f"  testbed: {{kind: scaled, {str(study)[1:-1]}{more}}}",
    ]
    if proposal.settings:
        found.append("  set:")
        found += [f"    {path}: {value}" for path, value in proposal.settings.items()]
    found += [
        f"  {proposal.hosts} hosts as described; per worker {proposal.slots} "
        f"slot{'s' * (proposal.slots != 1)}, "
        f"{proposal.disks} disk{'s' * (proposal.disks != 1)} of "
        f"{(disk.read_bytes_s or 0) / 1e6:.3g} MB/s read, NIC "
        f"{nic * 8 / 1e6:.3g} Mb/s",
        f"  about {proposal.trial_s / 60:.1f} min per trial, {proposal.study_s / 3600:.1f} h in "
        "total (estimated from the baseline, not measured)",
    ]
    if proposal.errors:
        terms = ", ".join(f"{name} {error:.0%}" for name, error in proposal.errors.items())
        found.append(
            f"  expected error of ratios: about {total(proposal.errors):.0%} ({terms}); an "
            "estimate from earlier models"
        )
    found += [f"  {line}" for line in (*proposal.limits, *proposal.notes)]
    found += [f"  one second of the model is {1 / study.time:.3g} s at full size"]
    return found
