"""What the testbed refuses, and what it prints, before anything starts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.cluster_web import CLUSTER, ClusterWeb, application, write_site
from tests.support.mock import plan_from
from tests.support.prometheus_web import PrometheusWeb
from tests.support.ssh_server import SshServer, ssh_server
from tests.support.webserver import serving
from windtunnel.errors import (
    ClusterAccessError,
    DescriptionError,
    NotAllowedError,
    NotRealisableError,
)
from windtunnel.results.metrics import numbers
from windtunnel.results.trial_metrics import OTHER_CONTAINERS
from windtunnel.study.check import check_plan, study_request
from windtunnel.study.plan import Plan
from windtunnel.testbeds import parse_options
from windtunnel.testbeds.attached.access import open_access
from windtunnel.testbeds.attached.allowance import Allowance, allow
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.site import read_site
from windtunnel.testbeds.attached.testbed import AttachedTestbed

STUDY = """\
study: toy
cluster: local-1
testbed: {{kind: attached, conf: {conf}{options}}}
{more}
workloads:
  terasort: {{rows: 1000, input_replication: 1, output_replication: 1}}
{loads}
protocol: {{rounds: 2{protocol}}}
"""
FACTOR = "factors: {{f: {{a: {{}}, b: {{{path}: {value}}}}}}}\nbaseline: {{f: a}}"


def study(
    conf: Path, *, options: str = "", more: str = "", protocol: str = "", loads: str = ""
) -> Plan:
    text = STUDY.format(conf=conf, options=options, more=more, protocol=protocol, loads=loads)
    return plan_from(text)


def bed_of(plan: Plan) -> AttachedTestbed:
    return AttachedTestbed(Path("logs"), lambda text: None, plan.testbed_options)


def test_a_study_that_fits_is_admitted_with_what_is_unknown(conf: Path) -> None:
    plan = study(conf)

    caveats = check_plan(plan, bed_of(plan))
    assert len(caveats) == 2
    assert "CPU, memory, disks and network are UNKNOWN" in caveats[0]
    assert "the report cannot state the energy" in caveats[1]


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("settings.dfs.namenode.handler.count", "20", "needs a restart of daemons"),
        ("settings.yarn.nodemanager.resource.memory-mb", "4096", "needs a restart of daemons"),
        ("hosts.worker.count", "2", "the hosts and the software are not changed here"),
        ("storage.block_size", "64 MiB", "the hosts and the software are not changed here"),
    ],
)
def test_a_factor_that_needs_a_daemon_is_refused_by_its_path(
    conf: Path, path: str, value: str, says: str
) -> None:
    plan = study(conf, more=FACTOR.format(path=path, value=value))

    with pytest.raises(NotRealisableError, match=says) as caught:
        check_plan(plan, bed_of(plan))
    assert path in caught.value.message


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"protocol": ", cache: drop"}, "protocol.cache: the testbed attached drops no caches"),
        ({"protocol": ", restart: round"}, "protocol.restart: round"),
        ({"more": "set: {storage.kind: local}"}, "storage.kind: local is not supported here"),
        ({"more": "set: {software.task_start: warm}"}, "software.task_start"),
        ({"loads": "  metadata: {files: 1000}"}, "workloads.metadata: needs a program"),
        (
            {"loads": "  wordcount: {size: 1 MB, replication: 1, combiner: false}"},
            "workloads.wordcount: needs a program",
        ),
    ],
)
def test_what_it_never_does_is_refused(conf: Path, given: dict[str, str], says: str) -> None:
    plan = study(conf, **given)

    with pytest.raises(NotRealisableError, match=says):
        check_plan(plan, bed_of(plan))


def test_a_factor_of_job_settings_is_admitted(conf: Path) -> None:
    path = "settings.mapreduce.task.io.sort.mb"
    plan = study(conf, more=FACTOR.format(path=path, value="256"))

    assert check_plan(plan, bed_of(plan))


def test_described_settings_of_daemons_must_be_in_force(conf: Path, web: ClusterWeb) -> None:
    plan = study(conf, more="set: {settings.dfs.namenode.handler.count: 77}")

    noted = check_plan(plan, bed_of(plan))
    assert any("handler.count: not compared with the NameNode" in n for n in noted)
    web.conf["dfs.namenode.handler.count"] = "10"
    with pytest.raises(NotRealisableError, match="77 is described, the NameNode has 10"):
        check_plan(plan, bed_of(plan))
    web.conf["dfs.namenode.handler.count"] = " 77"
    check_plan(plan, bed_of(plan))


def test_a_setting_of_workers_is_compared_with_a_worker(conf: Path, web: ClusterWeb) -> None:
    plan = study(conf, more="set: {settings.dfs.datanode.balance.bandwidthPerSec: 100m}")
    noted = check_plan(plan, bed_of(plan))
    assert any("bandwidthPerSec: not compared with the DataNode" in n for n in noted)
    address = urlsplit(read_site(conf).history_server).netloc
    web.beans["NameNodeInfo"]["LiveNodes"] = json.dumps({"127.0.0.1:9866": {"infoAddr": address}})
    web.conf["dfs.datanode.balance.bandwidthPerSec"] = str(100 << 20)
    noted = check_plan(plan, bed_of(plan))
    assert not any("bandwidthPerSec" in n for n in noted)
    web.conf["dfs.datanode.balance.bandwidthPerSec"] = "10m"
    with pytest.raises(NotRealisableError, match="100m is described, the DataNode has 10m"):
        check_plan(plan, bed_of(plan))


def test_a_queue_that_does_not_exist_is_refused(conf: Path) -> None:
    allow(Allowance(CLUSTER, "nope", 1 << 40, 20, "2099-12-31"))
    plan = study(conf, options=", queue: nope")

    with pytest.raises(NotRealisableError, match="there is no queue nope; bench, default"):
        check_plan(plan, bed_of(plan))


def test_the_queues_of_a_fair_scheduler_are_known(conf: Path, web: ClusterWeb) -> None:
    leaves = [{"queueName": "root.default"}, {"queueName": "root.users.ann"}]
    inner = {"queueName": "root.users", "childQueues": {"queue": leaves[1:]}}
    root = {"queueName": "root", "childQueues": {"queue": [leaves[0], inner]}}
    web.scheduler = {"type": "fairScheduler", "rootQueue": root}
    for queue in ("default", "root.default", "root.users.ann"):
        allow(Allowance(CLUSTER, queue, 1 << 40, 20, "2099-12-31"))
        plan = study(conf, options=f", queue: {queue}")
        check_plan(plan, bed_of(plan))
    allow(Allowance(CLUSTER, "users", 1 << 40, 20, "2099-12-31"))
    plan = study(conf, options=", queue: users")
    with pytest.raises(NotRealisableError, match="there is no queue users"):
        check_plan(plan, bed_of(plan))


def test_each_queue_of_a_study_must_exist_and_be_allowed(conf: Path) -> None:
    path = "settings.mapreduce.job.queuename"
    plan = study(conf, more=FACTOR.format(path=path, value="bench"))

    with pytest.raises(NotAllowedError, match="the queue bench is not allowed; allowed: default"):
        check_plan(plan, bed_of(plan))
    allow(Allowance(CLUSTER, "bench", 1 << 40, 20, "2099-12-31"))
    bed = bed_of(plan)
    check_plan(plan, bed)
    assert "queue default, bench" in "\n".join(bed.footprint(study_request(plan), None))

    nowhere = study(conf, more=FACTOR.format(path=path, value="nowhere"))
    allow(Allowance(CLUSTER, "nowhere", 1 << 40, 20, "2099-12-31"))
    with pytest.raises(NotRealisableError, match="there is no queue nowhere; bench, default"):
        check_plan(nowhere, bed_of(nowhere))


def test_a_storage_policy_needs_disks_of_its_type(conf: Path, web: ClusterWeb) -> None:
    plan = study(conf, more=FACTOR.format(path="storage.policy", value="ALL_SSD"))

    (note,) = [one for one in check_plan(plan, bed_of(plan)) if "storage.policy" in one]
    assert "does not report the types of its disks, so it is UNKNOWN" in note
    web.beans["BlockStats"] = {"StorageTypeStats": [{"key": "DISK", "value": {}}]}
    with pytest.raises(NotRealisableError, match="ALL_SSD needs disks of the type SSD, and HDFS"):
        check_plan(plan, bed_of(plan))
    web.beans["BlockStats"]["StorageTypeStats"].append({"key": "SSD", "value": {}})
    check_plan(plan, bed_of(plan))


def test_the_allow_list_is_read_before_anything_else_is_sent(conf: Path, web: ClusterWeb) -> None:
    plan = study(conf, options=", containers: 21")

    with pytest.raises(NotAllowedError, match="21 containers, and 20 are allowed"):
        check_plan(plan, bed_of(plan))
    assert not [one for one in web.requests if "webhdfs" in one or "apps" in one]


def test_hosts_that_are_described_and_not_there_are_a_caveat(conf: Path) -> None:
    plan = study(conf, more="set: {hosts.worker.count: 3}")

    caveats = check_plan(plan, bed_of(plan))
    assert any("3 hosts with the role datanode are described" in one for one in caveats)


def test_a_variable_of_the_distribution_needs_its_own_client(conf: Path) -> None:
    path = {"mapreduce.application.framework.path": "/hdp/apps/${hdp.version}/mr.tar.gz"}
    write_site(conf / "mapred-site.xml", path)
    plan = study(conf)
    with pytest.raises(NotRealisableError, match="use the cluster's own client"):
        check_plan(plan, bed_of(plan))
    own = study(conf, options=", hadoop: sh")
    check_plan(own, bed_of(own))


def test_the_blocks_that_hdfs_reserves_need_space(conf: Path) -> None:
    write_site(conf / "hdfs-site.xml", {"dfs.blocksize": "256m", "dfs.replication": "2"})
    allow(Allowance(CLUSTER, "default", 1 << 30, 20, "2099-12-31"))
    plan = study(conf)
    with pytest.raises(NotAllowedError, match=r"it needs 13\.4 GB in HDFS") as caught:
        check_plan(plan, bed_of(plan))
    said = caught.value.message
    assert "files of submitted jobs 2.68 GB, for 1 x 10 replicas of a block of 256 MiB" in said
    assert "open blocks 10.7 GB, for 20 containers x 2 replicas of 256 MiB" in said
    assert "--space '13 GiB'" in caught.value.remedy


def test_a_namenode_in_standby_is_an_error_with_a_remedy(conf: Path, web: ClusterWeb) -> None:
    web.beans["NameNodeStatus"] = {"State": "standby"}
    plan = study(conf)

    with pytest.raises(ClusterAccessError, match="is in the state standby") as caught:
        check_plan(plan, bed_of(plan))
    assert caught.value.remedy


def test_the_footprint_lists_jobs_space_time_paths_and_requests(conf: Path) -> None:
    plan = study(conf)
    bed = bed_of(plan)
    check_plan(plan, bed)

    text = "\n".join(bed.footprint(study_request(plan), 3600.0))
    assert f"id {CLUSTER}" in text
    assert "teragen + terasort + teravalidate" in text
    assert "; about 20 for the expected time, 1 h" in text
    assert "/windtunnel/wt-XXXXXXXX (created and removed)" in text
    assert "/ws/v1/cluster/apps" in text


def test_a_trial_next_to_too_many_containers_of_others_is_invalid(conf: Path) -> None:
    bed = bed_of(study(conf, options=", limits: {other_containers: 3}"))

    few, many = (numbers({OTHER_CONTAINERS: number}) for number in (3.0, 3.5))
    assert bed.judge_surroundings(few).checks[0].passed
    check = bed.judge_surroundings(many).checks[0]
    assert not check.passed
    assert check.got == "other tenants had 3.5 containers on average (limit: 3)"
    unlimited = bed_of(study(conf))
    assert unlimited.judge_surroundings(many).checks == []


def test_own_applications_and_those_of_others_are_separated_by_tag(
    conf: Path, web: ClusterWeb
) -> None:
    wanted = [{"resourceName": "*", "numContainers": 4}, {"resourceName": "w", "numContainers": 4}]
    web.applications = [
        application("1", "windtunnel,wt-1,toy", resourceRequests=wanted),
        application("2", "wt-11", runningContainers=5),
        application("3", state="ACCEPTED", runningContainers=-1),
    ]
    web.metrics["containersPending"] = 10
    access = open_access(AttachedOptions(conf=str(conf)), conf, None)
    found = access.status.read("wt-1", 1.0)
    unfinished = access.status.unfinished("wt-1")
    access.close()

    assert [app.id[-1] for app in found.own] == ["1"]
    assert [app.id[-1] for app in found.others] == ["2", "3"]
    assert (found.own_containers, found.other_containers, found.pending) == (2, 5, 6)
    assert found.free_fraction == 0.6
    assert unfinished == ["application_1795560214636_1"]


PROMETHEUS = ", prometheus: {{url: '{url}'}}"


def test_a_cluster_with_prometheus_has_samples_of_its_hosts(conf: Path, web: ClusterWeb) -> None:
    web.nodes = [{"nodeHostName": "worker-1.wt", "nodeHTTPAddress": "worker-1.wt:8042"}]
    monitor = PrometheusWeb({"worker-1.wt:9100": "worker-1"})
    with serving(monitor) as url:
        plan = study(conf, options=PROMETHEUS.format(url=url))
        bed = bed_of(plan)
        caveats = check_plan(plan, bed)

    said = " ".join(caveats)
    assert "UNKNOWN" not in said
    assert "Prometheus has a sample every 1 s" in said
    assert "no samples of 1 host: 127.0.0.1" in said, "the host of the masters"
    printed = "\n".join(bed.footprint(study_request(plan), None))
    assert (
        "Prometheus /api/v1/query" in printed and "before the start and after each trial" in printed
    )


def test_a_prometheus_that_knows_no_host_refuses_the_study(conf: Path) -> None:
    with serving(PrometheusWeb({"elsewhere:9100": "elsewhere"})) as url:
        plan = study(conf, options=PROMETHEUS.format(url=url))
        with pytest.raises(ClusterAccessError, match="no node exporter of a host of the cluster"):
            check_plan(plan, bed_of(plan))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"url": "prometheus:9090"}, "is not the URL of a web server"),
        ({"url": "http://me:secret@p:9090"}, "must not contain a user"),
        ({"url": "http://p:9090", "selector": "{job=1}"}, "label matchers without braces"),
        ({"url": "http://p:9090", "password_file": "secret"}, "'password_file' needs 'user'"),
        ({"url": "http://p:9090", "user": "me"}, "'user' needs 'password_file'"),
    ],
)
def test_options_of_prometheus_that_cannot_be_used(given: dict[str, str], says: str) -> None:
    with pytest.raises(DescriptionError, match=re.escape(says)) as caught:
        parse_options("attached", {"conf": "conf", "prometheus": given})
    assert "prometheus" in str(caught.value.key)


def test_a_missing_password_file_of_prometheus_is_named(conf: Path) -> None:
    given = "{url: 'https://p:9090', user: me, password_file: nowhere}"
    plan = study(conf, options=f", prometheus: {given}")
    with pytest.raises(DescriptionError, match="there is no file nowhere") as caught:
        check_plan(plan, bed_of(plan))
    assert caught.value.key == "testbed.prometheus.password_file"


def test_the_record_has_no_addresses_and_files_of_prometheus(conf: Path) -> None:
    given = "url: 'https://p:9090', user: me, password_file: secret, power: watts"
    options = study(conf, options=f", prometheus: {{{given}}}").testbed_options
    assert options.to_record()["prometheus"] == {
        "selector": "",
        "power": "watts",
        "power_interval": None,
    }
    assert "prometheus" not in study(conf).testbed_options.to_record()


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    """A server for the host of the masters, which is the only one that answers."""
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with ssh_server(tmp_path, ("127.0.0.1",)) as server:
        server.serve_home(tmp_path)
        yield server


def test_a_cluster_with_ssh_has_samples_of_its_hosts(
    conf: Path, web: ClusterWeb, ssh: SshServer
) -> None:
    web.nodes = [{"nodeHostName": "worker-1.invalid", "nodeHTTPAddress": "worker-1.invalid:8042"}]
    plan = study(conf, options=f", ssh: {{port: {ssh.port}}}")
    bed = bed_of(plan)
    said = " ".join(check_plan(plan, bed))

    assert "UNKNOWN" not in said
    assert "the sampler has a sample every 5 s" in said
    assert "no SSH login to 1 host: worker-1.invalid" in said
    printed = "\n".join(bed.footprint(study_request(plan), None))
    assert "SSH: one connection to each host" in printed and "every 5 s" in printed


def test_a_cluster_whose_hosts_refuse_the_login_refuses_the_study(
    conf: Path, ssh: SshServer, tmp_path: Path
) -> None:
    (tmp_path / ".ssh" / "known_hosts").write_text("")
    plan = study(conf, options=f", ssh: {{port: {ssh.port}}}")
    with pytest.raises(ClusterAccessError, match="SSH host key is not known"):
        check_plan(plan, bed_of(plan))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"ssh": {"interval": "0.2 s"}}, "must be at least 1 s"),
        ({"ssh": {}, "prometheus": {"url": "http://p:9090"}}, "both sample the hosts"),
    ],
)
def test_options_of_ssh_that_cannot_be_used(given: dict[str, Any], says: str) -> None:
    with pytest.raises(DescriptionError, match=re.escape(says)) as caught:
        parse_options("attached", {"conf": "conf", **given})
    assert "ssh" in str(caught.value.key)


def test_a_missing_key_of_ssh_is_named(conf: Path) -> None:
    plan = study(conf, options=", ssh: {key: nowhere}")
    with pytest.raises(DescriptionError, match="there is no file nowhere") as caught:
        check_plan(plan, bed_of(plan))
    assert caught.value.key == "testbed.ssh.key"


def test_the_record_has_no_accounts_and_files_of_ssh(conf: Path) -> None:
    given = "user: me, key: secret, jump: edge, interval: 10 s"
    options = study(conf, options=f", ssh: {{{given}}}").testbed_options
    assert options.to_record()["ssh"] == {"interval": "10 s"}
    assert "ssh" not in study(conf).testbed_options.to_record()
