"""A deployment on an existing cluster: when the abort rule acts."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.cluster_web import CLUSTER, ClusterWeb, application
from tests.support.mock import job_run, plan_from
from windtunnel.errors import DeploymentError
from windtunnel.hosts.leftovers import Registration, registered
from windtunnel.study.check import check_plan
from windtunnel.study.plan import Plan
from windtunnel.testbeds.attached import deployment as deployments
from windtunnel.testbeds.attached import testbed as testbeds
from windtunnel.testbeds.attached.deployment import AttachedDeployment
from windtunnel.testbeds.attached.guard import Guard
from windtunnel.testbeds.attached.job_settings import TAGS
from windtunnel.testbeds.attached.options import QUEUE
from windtunnel.testbeds.attached.testbed import AttachedTestbed

STUDY = """\
study: toy
cluster: local-1
testbed: {{kind: attached, conf: {conf}, limits: {{interval: 1 h}}}}
workloads:
  terasort: {{rows: 1000, input_replication: 1, output_replication: 1}}
protocol: {{rounds: 2}}
"""


def opened(deployment: AttachedDeployment, study: str) -> None:
    """Watch the cluster, without a folder on it and without clients."""
    deployment.logs.mkdir(parents=True)
    made: Any = SimpleNamespace(alive=True, close=lambda: None)
    deployment.supervisor = made
    deployment.guard.start()


@pytest.fixture
def plan(conf: Path) -> Plan:
    return plan_from(STUDY.format(conf=conf))


@pytest.fixture
def bed(
    plan: Plan, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AttachedTestbed:
    """A testbed with an admitted study, whose deployments only watch the cluster."""
    made = AttachedTestbed(tmp_path / "logs", lambda text: None, plan.testbed_options)
    check_plan(plan, made)
    software: Any = (SimpleNamespace(), None, None)
    made._software[plan.base.software.hadoop] = software
    monkeypatch.setattr(AttachedDeployment, "open", opened)
    return made


def test_lost_nodes_count_from_the_start_of_the_study_in_each_deployment(
    bed: AttachedTestbed, plan: Plan, web: ClusterWeb
) -> None:
    web.metrics["activeNodes"] = 0
    for _ in range(2):
        with bed.deploy(plan.base) as deployment:
            reason = deployment.guard.look(before_trial=True)
            assert reason == "lost NodeManagers since the start: 1 (limit: 0)"
            assert deployment.guard.live() == {"datanodes": 1, "nodemanagers": 0}


def test_a_limit_ends_a_trial_and_delays_the_next_one(
    bed: AttachedTestbed, plan: Plan, web: ClusterWeb
) -> None:
    notes: list[str] = []

    def calm() -> None:
        web.metrics["activeNodes"] = 1

    with bed.deploy(plan.base) as deployment:
        guard = deployment.guard
        guard.limits = guard.limits.model_copy(update={"interval": 0.01})
        deployment.settle(notes.append, lambda: None)
        deployment.check_alive()
        web.metrics["activeNodes"] = 0
        guard.look()
        with pytest.raises(DeploymentError, match="ended its own job: lost NodeManagers"):
            deployment.check_alive()
        deployment.surroundings()
        deployment.check_alive()
        deployment.settle(notes.append, calm)
        assert notes[0].startswith("paused: lost NodeManagers") and len(notes) == 2
        deployment.check_alive()
        deployment.surroundings()
        dead: Any = SimpleNamespace(alive=False, close=lambda: None)
        deployment.supervisor = dead
        with pytest.raises(DeploymentError, match="supervisor"):
            deployment.check_alive()


def test_a_job_that_the_scheduler_put_into_another_queue_is_ended(
    bed: AttachedTestbed, plan: Plan, web: ClusterWeb
) -> None:
    with bed.deploy(plan.base) as deployment:
        deployment.guard.begin()
        web.applications = [application("1", deployment.id, queue="default")]
        deployment.guard.look()
        deployment.check_alive()
        web.applications = [application("1", deployment.id, queue="root.bench")]
        deployment.guard.look()
        with pytest.raises(DeploymentError, match=r"queue root\.bench; the study may use only"):
            deployment.check_alive()
        other = plan.base.model_copy(update={"settings": {QUEUE: "bench"}})
        deployment.access.client.settings[TAGS] = "windtunnel,id,toy"
        deployment.root = "/folder"
        deployment.reconfigure(other)
        assert deployment.guard.look() == ""


def test_a_job_with_times_of_another_clock_is_noted(bed: AttachedTestbed, plan: Plan) -> None:
    with bed.deploy(plan.base) as deployment:
        jobs: Any = SimpleNamespace(run=lambda *_: ("job_1_1", 1.0, "done"))
        deployment.jobs = jobs
        run = job_run("sort", 10.0, {})
        late = run.phase.model_copy(update={"finished_at": time.time() + 100})
        history: Any = SimpleNamespace(collect=lambda *_: replace(run, phase=late, notes=["one"]))
        deployment.history = history
        found = deployment.run_job("sort", [], {}, deadline_s=time.monotonic() + 60)
    assert found.output == "done" and found.notes[0] == "one"
    assert "clock of the cluster is at least" in found.notes[1]


def test_jobs_and_files_are_removed_also_if_the_end_of_the_abort_rule_is_interrupted(
    bed: AttachedTestbed, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def fail(guard: Guard) -> None:
        raise KeyboardInterrupt

    def removed(access: object, entry: Registration) -> list[str]:
        done.append(entry.id)
        return []

    monkeypatch.setattr(Guard, "close", fail)
    monkeypatch.setattr(deployments, "end_and_remove", removed)
    with pytest.raises(KeyboardInterrupt) as caught, bed.deploy(plan.base) as deployment:
        deployment.registration.update(attached={})
        supervisor: Any = SimpleNamespace(close=lambda: done.append("supervisor"))
        deployment.supervisor = supervisor
    id_ = deployment.id
    assert done == ["supervisor", id_]
    assert caught.value.__notes__ == [f"jobs and files of {id_} on the cluster"]
    assert [entry.id for entry in registered()] == [id_], "'clean' finds it"


def test_a_deployment_begins_with_the_removal_of_what_earlier_runs_left(
    bed: AttachedTestbed, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters: list[str] = []
    monkeypatch.setattr(testbeds, "remove_earlier", lambda cluster, note: clusters.append(cluster))
    with bed.deploy(plan.base):
        assert clusters == [CLUSTER]
