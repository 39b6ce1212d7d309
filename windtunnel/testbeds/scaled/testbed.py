"""The testbed ``scaled``: real daemons on shaped virtual hosts of this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment
from windtunnel.engines.faulty import Part
from windtunnel.engines.hadoop.software import Software
from windtunnel.hosts.fabric.plan import FabricPlan
from windtunnel.hosts.fabric.state import capabilities
from windtunnel.results.calibration import CalibrationRecord
from windtunnel.results.record import Phase
from windtunnel.testbeds.base import Judgement, Realisation, Row, Tell
from windtunnel.testbeds.hadoop_testbed import HadoopTestbed, impossible_with_hadoop
from windtunnel.testbeds.scaled.calibrations import ready
from windtunnel.testbeds.scaled.deployment import ScaledDeployment
from windtunnel.testbeds.scaled.fabric import fabric_plan
from windtunnel.testbeds.scaled.model import unknown_values, unshaped
from windtunnel.testbeds.scaled.propose import too_busy, too_large
from windtunnel.testbeds.scaled.reconfigure import covers, reconfigure
from windtunnel.testbeds.scaled.scale import FULL_SIZE, Scale
from windtunnel.testbeds.scaled.walls import judge

_UNSHAPED_RUN = "'testbed: local' runs the same cluster without shaping and without rights"


class ScaledTestbed(HadoopTestbed[ScaledDeployment]):
    """The scale model of a cluster.

    Parameters
    ----------
    scale:
        Descriptions are of the full size; the model's parts are slower by ``scale.rate``, its
        data smaller by ``scale.data``.
    """

    name = "scaled"
    breakable: frozenset[Part] = frozenset({"daemons", "links", "disks", "NICs"})

    def __init__(self, logs: Path, tell: Tell, scale: Scale = FULL_SIZE) -> None:
        super().__init__(logs, tell)
        self.scale = scale
        self._coming: dict[object, Cluster] = {}

    def check(self, cluster: Cluster) -> Realisation:
        """What of the description virtual hosts of this machine can and cannot realise."""
        lacks = capabilities(cluster.storage.file_system or "ext4")
        impossible = [
            f"this machine lacks {lack.what}: {lack.remedy} ({_UNSHAPED_RUN})"
            for lack in lacks
            if lack.fatal
        ]
        impossible += impossible_with_hadoop(cluster)
        impossible += [
            f"{path} is not known, and a model must shape it: write what it is"
            for path in unknown_values(cluster)
        ]
        unrealised = unshaped(cluster)
        if not impossible:
            free, cores = psutil.virtual_memory().available, psutil.cpu_count() or 1
            walls = (too_large(cluster, self.scale, free), too_busy(cluster, self.scale, cores))
            unrealised += filter(None, walls)
        latency = cluster.network.latency if cluster.network else None
        for lack in lacks:
            if not lack.fatal and (latency or "netem" not in lack.what):
                unrealised.append(f"this machine lacks {lack.what}")
        return self.isolated(Realisation(impossible, unrealised))

    def can_drop_caches(self) -> bool:
        """Each virtual host has a page cache of its own, which can always be emptied."""
        return True

    def cache_bytes(self) -> int:
        """All memory of this machine: an upper bound of the virtual hosts' page caches."""
        return psutil.virtual_memory().total

    def ready(self, clusters: Iterable[Cluster], tell: Tell) -> CalibrationRecord | None:
        """Calibrate all rates that the clusters ask for, or take the stored calibration of them.

        Raises
        ------
        NotRealisableError
            If a shaped part gives more than 10 % more or less than it is set to.
        """
        plans = []
        for cluster in clusters:
            plans.append(fabric_plan(cluster, self.scale))
            self._coming.setdefault(_extent(plans[-1]), cluster)
        return ready(plans, tell)

    @contextmanager
    def deploy(self, cluster: Cluster) -> Iterator[ScaledDeployment]:
        """A running cluster, on hosts and disks that its study's larger clusters can use as well.

        Errors as :meth:`HadoopTestbed.deploy`.
        """
        known = [one for one in self._coming.values() if covers(one, cluster, self.scale)]
        largest = max([cluster, *known], key=lambda one: _size(fabric_plan(one, self.scale)))
        with super().deploy(largest) as deployment:
            for line in reconfigure(deployment, cluster, self.tell):
                self.tell(f"  {line}")
            yield deployment

    def judge(self, rows: Sequence[Row], phases: Sequence[Phase]) -> Judgement:
        """Whether the machine below the model, and not the model, was the bottleneck."""
        return judge(rows, phases)

    def new_deployment(self, cluster: Cluster, software: Software, logs: Path) -> ScaledDeployment:
        """A deployment that has not been opened yet."""
        return ScaledDeployment(cluster, software, logs, self.isolation, self.scale)

    def reconfigure(self, deployment: Deployment, cluster: Cluster) -> list[str]:
        """Change what differs while the cluster runs; one line for each change.

        Raises
        ------
        DeploymentError
            If the difference needs a new deployment.
        """
        assert isinstance(deployment, ScaledDeployment)
        return reconfigure(deployment, cluster, self.tell)


def _extent(plan: FabricPlan) -> object:
    """Which hosts and disks there are, whatever their limits."""
    return tuple((host.name, len(host.disks), len(host.guests)) for host in plan.hosts)


def _size(plan: FabricPlan) -> tuple[int, int]:
    return len(plan.hosts), sum(len(host.disks) for host in plan.hosts)
