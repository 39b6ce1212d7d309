"""Settings of daemons that an operator changes: what is refused, the wait, the order of trials."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster_web import ClusterWeb
from tests.support.mock import plan_from
from windtunnel.cluster import apply_overrides, load_cluster
from windtunnel.errors import NotRealisableError, StudyStoppedError
from windtunnel.study.check import check_plan, study_request
from windtunnel.study.plan import Plan
from windtunnel.testbeds.attached.access import ClusterAccess, open_access
from windtunnel.testbeds.attached.by_hand import ByHand
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.testbed import AttachedTestbed

MEMORY = "yarn.nodemanager.resource.memory-mb"
HANDLERS = "dfs.datanode.handler.count"
STUDY = """\
study: toy
cluster: local-1
testbed: {{kind: attached, conf: {conf}{options}}}
workloads:
  terasort: {{rows: 1000, input_replication: 1, output_replication: 1}}
  pi: {{maps: 1, samples_per_map: 1000}}
factors:
  memory: {{small: {{{small}}}, large: {{settings.{name}: 8192}}}}
  buffer: {{"100": {{}}, "200": {{settings.mapreduce.task.io.sort.mb: 200}}}}
baseline: {{memory: small, buffer: "100"}}
design: full-factorial
protocol: {{rounds: 8}}
"""
SMALL = f"settings.{MEMORY}: 4096"


def study(
    conf: Path, options: str = ", apply: by-hand", small: str = SMALL, name: str = MEMORY
) -> Plan:
    return plan_from(STUDY.format(conf=conf, options=options, small=small, name=name))


def bed_of(plan: Plan) -> AttachedTestbed:
    return AttachedTestbed(Path("logs"), lambda text: None, plan.testbed_options)


def test_without_the_option_a_setting_of_a_daemon_is_refused_with_the_remedy(conf: Path) -> None:
    plan = study(conf, options="")

    with pytest.raises(NotRealisableError, match="With 'apply: by-hand', the study waits"):
        check_plan(plan, bed_of(plan))


def test_a_setting_of_a_daemon_is_admitted_with_a_caveat_and_its_changes(
    conf: Path, web: ClusterWeb
) -> None:
    plan = study(conf)
    with pytest.raises(NotRealisableError, match="no NodeManager is running"):
        check_plan(plan, bed_of(plan))
    port = (conf / "core-site.xml").read_text().partition("127.0.0.1:")[2].partition("<")[0]
    web.nodes = [node(f"127.0.0.1:{port}")]
    bed = bed_of(plan)

    caveats = check_plan(plan, bed)
    assert any(f"settings.{MEMORY} is changed by hand: the trials of a" in one for one in caveats)
    text = "\n".join(bed.footprint(study_request(plan), 3600.0))
    assert f"changes by hand: about 2 in each round, of {MEMORY}; each is awaited for" in text


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"small": ""}, "some treatments state no value"),
        ({"small": "settings.yarn.nodemanager.resource.memory-mb: '${size}'"}, "without variables"),
        (
            {
                "small": "settings.yarn.scheduler.capacity.root.queues: a",
                "name": "yarn.scheduler.capacity.root.queues",
            },
            "does not know which daemon reports it at /conf",
        ),
    ],
)
def test_a_setting_that_cannot_be_checked_is_refused(
    conf: Path, given: dict[str, str], says: str
) -> None:
    plan = study(conf, **given)

    with pytest.raises(NotRealisableError, match=says):
        check_plan(plan, bed_of(plan))


def test_the_trials_of_a_round_run_in_blocks_in_random_order(conf: Path) -> None:
    plan, free = study(conf), study(conf, options="")
    first = set()
    for number in range(1, 9):
        slots = plan.round_slots(number)
        sizes = [slot.treatment.overrides[f"settings.{MEMORY}"] for slot in slots]
        assert sizes in ([4096] * 4 + [8192] * 4, [8192] * 4 + [4096] * 4)
        assert [slot.position for slot in slots] == list(range(1, 9))
        first.add(sizes[0])
        assert {slot.id for slot in slots} == {slot.id for slot in free.round_slots(number)}
    assert first == {4096, 8192}
    mixed = [slot.treatment.overrides[f"settings.{MEMORY}"] for slot in free.round_slots(1)]
    assert mixed not in ([4096] * 4 + [8192] * 4, [8192] * 4 + [4096] * 4)


def test_results_of_earlier_versions_keep_their_options() -> None:
    assert "apply" not in AttachedOptions(conf="c").to_record()
    options = AttachedOptions(conf="c", apply="by-hand")
    assert options.to_record()["apply"] == "by-hand"
    assert "daemons are changed by hand" in options.words()


class Operator:
    """Changes the cluster while the study waits; the steps follow the messages."""

    def __init__(self, web: ClusterWeb, steps: list[dict[str, Any]]) -> None:
        self.web = web
        self.steps = steps
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)
        if text.startswith("not in force") and self.steps:
            step = self.steps.pop(0)
            self.web.conf |= step.get("conf", {})
            self.web.nodes = step.get("nodes", self.web.nodes)
            self.web.beans["NameNodeInfo"] |= step.get("info", {})


def waiting(access: ClusterAccess, names: list[str], limit_s: float = 30) -> ByHand:
    return ByHand(names, access.status, limit_s, 0.01)


def node(web_address: str) -> dict[str, str]:
    host, _, port = web_address.partition(":")
    return {"id": f"{host}:1", "nodeHostName": host, "nodeHTTPAddress": f"{host}:{port}"}


@pytest.fixture
def access(conf: Path, web: ClusterWeb) -> Iterator[ClusterAccess]:
    """Two NodeManagers and a DataNode, which are the same server under two names."""
    opened = open_access(AttachedOptions(conf=str(conf)), conf, None)
    port = opened.site.namenodes[0].rpartition(":")[2]
    web.nodes = [node(f"127.0.0.1:{port}"), node(f"localhost:{port}")]
    live = {"127.0.0.1:9866": {"infoAddr": f"127.0.0.1:{port}"}}
    web.beans["NameNodeInfo"]["LiveNodes"] = json.dumps(live)
    yield opened
    opened.close()


def test_it_waits_until_every_daemon_has_the_value(web: ClusterWeb, access: ClusterAccess) -> None:
    cluster = apply_overrides(
        load_cluster("local-1"), {f"settings.{MEMORY}": 8192, f"settings.{HANDLERS}": 20}
    )
    web.conf = {MEMORY: "4096"}
    both = web.nodes
    operator = Operator(
        web,
        [
            {"conf": {HANDLERS: "20"}, "nodes": both[:1]},
            {"conf": {MEMORY: "8192"}},
            {"nodes": both, "info": {"Safemode": "Safe mode is ON."}},
            {"info": {"Safemode": ""}},
        ],
    )
    hand = waiting(access, [MEMORY, HANDLERS])
    hand.wait(cluster, operator.note, lambda: None)

    assert operator.steps == []
    told = [one for one in operator.notes if one.startswith("change by hand")]
    assert told == [
        f"change by hand, within 30 s: set {HANDLERS} = 20 in hdfs-site.xml of each DataNode, "
        "and restart these daemons",
        f"change by hand, within 30 s: set {MEMORY} = 8192 in yarn-site.xml of each NodeManager, "
        "and restart these daemons",
    ]
    states = [one for one in operator.notes if one.startswith("not in force")]
    assert f"not in force yet: {MEMORY}: 2 of 2 NodeManagers have 4096" in states
    assert any("1 of 2 NodeManagers does not answer (localhost:" in one for one in states)
    assert states[-1] == "not in force yet: the NameNode is in safe mode"
    assert operator.notes[-1].startswith("in force after ")
    assert hand.confirmed == {MEMORY: 2, HANDLERS: 1}

    before = len(operator.notes)
    hand.wait(cluster, operator.note, lambda: None)
    assert len(operator.notes) == before, "in force already: nothing is printed"


def test_a_change_that_is_not_made_stops_the_study(web: ClusterWeb, access: ClusterAccess) -> None:
    web.conf = {MEMORY: "4096"}
    cluster = apply_overrides(load_cluster("local-1"), {f"settings.{MEMORY}": 8192})

    with pytest.raises(StudyStoppedError, match="2 of 2 NodeManagers have 4096") as caught:
        waiting(access, [MEMORY], 0.0).wait(cluster, lambda text: None, lambda: None)
    assert caught.value.remedy == "make the change."


def test_without_such_settings_nothing_is_requested(web: ClusterWeb, access: ClusterAccess) -> None:
    web.requests.clear()
    waiting(access, []).wait(load_cluster("local-1"), lambda text: None, lambda: None)
    assert web.requests == []


def test_no_daemon_is_a_reason_to_wait(web: ClusterWeb, access: ClusterAccess) -> None:
    web.conf, web.nodes = {MEMORY: "8192"}, []
    cluster = apply_overrides(load_cluster("local-1"), {f"settings.{MEMORY}": 8192})

    (missing,) = waiting(access, [MEMORY]).missing(cluster)
    assert missing.reason == f"{MEMORY}: no NodeManager is running"


def test_a_daemon_without_a_known_address_does_not_answer(
    web: ClusterWeb, access: ClusterAccess
) -> None:
    web.conf = {MEMORY: "8192"}
    web.nodes = [{"nodeHostName": "dark"}]
    cluster = apply_overrides(load_cluster("local-1"), {f"settings.{MEMORY}": 8192})

    hand = waiting(access, [MEMORY])
    assert hand.unreadable(cluster) == [
        f"settings.{MEMORY}: 1 of 1 NodeManager does not answer (dark): the settings of its "
        "daemons must be readable at /conf"
    ]


def test_only_what_an_operator_changes_may_differ(access: ClusterAccess) -> None:
    hand = waiting(access, [MEMORY])
    one, other = (
        apply_overrides(load_cluster("local-1"), {f"settings.{MEMORY}": size}) for size in (1, 2)
    )

    assert one != other
    assert hand.without(one) == hand.without(other)
