"""The testbed ``scaled``: real daemons on virtual hosts with limited resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import psutil

from windtunnel.cluster import Cluster
from windtunnel.cluster.yamlfile import Located, validate
from windtunnel.engines.faults import Part
from windtunnel.engines.storage_systems import outside_of, storage_system
from windtunnel.errors import DescriptionError
from windtunnel.hosts.fabric.groups import find_trees
from windtunnel.hosts.fabric.plan import FabricPlan
from windtunnel.hosts.fabric.state import Lack, capabilities
from windtunnel.hosts.leftovers import state_root
from windtunnel.results.calibration import CalibrationRecord
from windtunnel.results.record import Phase, ScaleRecord
from windtunnel.results.sample import Sample
from windtunnel.testbeds.base import (
    Judgement,
    Notify,
    PlannedTreatment,
    Progress,
    Proposal,
    Realisation,
    TestbedOptions,
    ValidationStudy,
)
from windtunnel.testbeds.hadoop_software import Installed
from windtunnel.testbeds.hadoop_testbed import HadoopTestbed, impossible_with_hadoop
from windtunnel.testbeds.scaled import calibrate
from windtunnel.testbeds.scaled.calibration_store import distinct, keep, ready
from windtunnel.testbeds.scaled.deployment import ScaledDeployment
from windtunnel.testbeds.scaled.machine import too_busy, too_large, unlimited_starters
from windtunnel.testbeds.scaled.model_record import model_record, proposal
from windtunnel.testbeds.scaled.reconfigure import LiveDeployment, covers
from windtunnel.testbeds.scaled.saturation import judge
from windtunnel.testbeds.scaled.scale import FULL_SIZE, Scale, ScaledOptions
from windtunnel.testbeds.scaled.scale_model import scaled, unknown_values, unshaped
from windtunnel.testbeds.scaled.shaping_plan import fabric_plan
from windtunnel.testbeds.scaled.tasks import small_blocks, uber_tasks
from windtunnel.testbeds.scaled.validation import validation_studies

_UNSHAPED_RUN = "'testbed: local' runs the same cluster without limits and without root"


class ScaledTestbed(HadoopTestbed[ScaledDeployment]):
    """The scale model of a cluster; without options, a model at full size.

    Descriptions have the full size. The rates of the model are those times ``scale.rate``, its
    sizes are those times ``scale.data``.
    """

    name = "scaled"
    about = "real daemons on virtual hosts with limited resources: a scale model (Linux, root)"
    options_type = ScaledOptions
    breakable: ClassVar[frozenset[Part]] = frozenset({"daemons", "links", "disks", "NICs"})

    def __init__(self, logs: Path, notify: Notify, options: TestbedOptions | None = None) -> None:
        super().__init__(logs, notify)
        self.scale = _scale_of(options)
        self._coming: dict[object, Cluster] = {}

    @classmethod
    def lacks(cls) -> Sequence[Lack]:
        """The requirements of virtual hosts that this machine lacks."""
        return capabilities()

    @classmethod
    def study_record(
        cls, options: TestbedOptions, planned: Iterable[PlannedTreatment]
    ) -> ScaleRecord | None:
        """The scale with the similarity groups; errors as ``Testbed.study_record``."""
        assert isinstance(options, ScaledOptions)
        treatments = list(planned)
        phases = {phase.name for one in treatments for load in one.loads for phase in load.phases}
        if unknown := [name for name in options.cpu_s_per_gb if name not in phases]:
            raise DescriptionError(
                f"no workload has the phase {unknown[0]}",
                key="testbed.cpu_s_per_gb",
                remedy=f"use the name of a phase: {', '.join(sorted(phases))}.",
            )
        made = model_record(options.scale, treatments)
        return made.model_copy(update={"cpu_s_per_gb": options.cpu_s_per_gb})

    @classmethod
    def as_run(cls, options: TestbedOptions, cluster: Cluster) -> tuple[Cluster, float]:
        """The model's description; the quota of its processors is the rate of the model."""
        assert isinstance(options, ScaledOptions)
        return scaled(cluster, options.scale), options.rate / options.core_speed

    @classmethod
    def propose(
        cls,
        planned: Sequence[PlannedTreatment],
        trials: int,
        within_s: float | None,
        given: Mapping[str, object],
    ) -> Proposal | None:
        """The scale at which this machine can run the model of a study with the least error.

        The speed of the cores is that of the study's own options, if these are of this testbed.
        """
        own = given if given.get("kind") == "scaled" else {}
        # the study can lack a scale before it has this proposal
        options = validate(ScaledOptions, Located({"rate": 1, "data": 1, **own}))
        return proposal(planned, trials, state_root(), within_s, options)

    @classmethod
    def validation(
        cls, options: TestbedOptions, core_speeds: Mapping[str, float]
    ) -> Sequence[ValidationStudy] | None:
        """The reference, and its models at two smaller scales."""
        return validation_studies(_scale_of(options), core_speeds)

    @classmethod
    def calibrate(
        cls,
        clusters: Sequence[Cluster],
        options: TestbedOptions | None,
        progress: Progress,
    ) -> CalibrationRecord:
        """Measure every limited resource of the models and store the record for later studies.

        Raises
        ------
        NotRealisableError
            If this machine does not support virtual hosts.
        """
        scale = _scale_of(options)
        plans = [fabric_plan(cluster, scale) for cluster in clusters]
        plans = distinct(plans if options else calibrate.sweep(plans[0]))
        calibrate.refuse_without_rights()
        record = calibrate.calibrate(plans, progress)
        keep(plans, record)
        return record

    def check(self, cluster: Cluster) -> Realisation:
        """Check which parts of the description virtual hosts on this machine do not support."""
        lacks = capabilities(cluster.storage.file_system or "ext4")
        impossible = [
            f"this machine lacks {lack.what}: {lack.remedy} ({_UNSHAPED_RUN})"
            for lack in lacks
            if lack.fatal
        ]
        impossible += impossible_with_hadoop(cluster)
        storage = storage_system(cluster.storage.kind)
        if storage is not None and storage.one_machine:
            impossible.append(
                f"storage.kind: {storage.name} needs hosts that share the files of this machine; "
                "the virtual hosts have their own"
            )
        if outside := outside_of(cluster):
            impossible.append(
                f"storage.kind: the virtual hosts have no connection to {outside}; the testbed "
                "local has one"
            )
        impossible += [
            f"{path} is unknown, but a model requires it: add it to the description"
            for path in unknown_values(cluster)
        ]
        impossible += filter(None, [uber_tasks(cluster)])
        if not impossible and cluster.storage.code:
            impossible += filter(None, [small_blocks(scaled(cluster, self.scale))])
        unrealised = unshaped(cluster)
        if not impossible:
            free, cores = psutil.virtual_memory().available, psutil.cpu_count() or 1
            limits = (too_large(cluster, self.scale, free), too_busy(cluster, self.scale, cores))
            unrealised += filter(None, limits)
            unrealised += filter(None, [unlimited_starters(cluster, find_trees())])
            unrealised += self.pool_notes(cluster, scaled(cluster, self.scale).settings)
        latency = cluster.network.latency if cluster.network else None
        for lack in lacks:
            if not lack.fatal and (latency or "netem" not in lack.what):
                unrealised.append(f"this machine lacks {lack.what}")
        return self.isolated(cluster, Realisation(impossible, unrealised))

    def can_drop_caches(self) -> bool:
        """True: each virtual host has its own page cache, which can always be emptied."""
        return True

    def cache_bytes(self) -> int:
        """The memory of this machine, an upper bound of the page caches of the virtual hosts."""
        return psutil.virtual_memory().total

    def ready(self, clusters: Iterable[Cluster], notify: Notify) -> CalibrationRecord | None:
        """Calibrate all rates of the clusters, or use their stored calibration.

        Raises
        ------
        NotRealisableError
            If a resource deviates by more than 10 % from its set rate.
        """
        plans = []
        for cluster in clusters:
            plans.append(fabric_plan(cluster, self.scale))
            self._coming.setdefault(_extent(plans[-1]), cluster)
        return ready(plans, notify)

    @contextmanager
    def deploy(self, cluster: Cluster) -> Iterator[ScaledDeployment]:
        """A running cluster, with hosts and disks for the larger clusters of its study.

        Raises the errors of :meth:`HadoopTestbed.deploy`.
        """
        known = [one for one in self._coming.values() if covers(one, cluster, self.scale)]
        largest = max([cluster, *known], key=lambda one: _size(fabric_plan(one, self.scale)))
        with super().deploy(largest) as deployment:
            for line in deployment.reconfigure(cluster):
                self.notify(f"  {line}")
            yield deployment

    def judge(self, rows: Sequence[Sample], phases: Sequence[Phase]) -> Judgement:
        """Judge whether the host machine limited a trial instead of the model."""
        return judge(rows, phases)

    def new_deployment(
        self, cluster: Cluster, installed: Installed, logs: Path
    ) -> ScaledDeployment:
        """A deployment that has not been opened yet."""
        isolated = self.isolation(cluster)
        return LiveDeployment(cluster, installed, logs, isolated, self.notify, self.scale)


def _scale_of(options: TestbedOptions | None) -> Scale:
    return options.scale if isinstance(options, ScaledOptions) else FULL_SIZE


def _extent(plan: FabricPlan) -> object:
    """The hosts and their numbers of disks and guests, without their limits."""
    return tuple((host.name, len(host.disks), len(host.guests)) for host in plan.hosts)


def _size(plan: FabricPlan) -> tuple[int, int]:
    return len(plan.hosts), sum(len(host.disks) for host in plan.hosts)
