"""Facts of hosts: the collector, what is found in them, hosts that answer nothing or half."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.audited import failing, host
from windtunnel.audit import collect_facts
from windtunnel.audit.audit import Audit, Subject, run
from windtunnel.audit.facts import HostFacts, this_machine
from windtunnel.audit.hardware import of_facts
from windtunnel.audit.result import Status
from windtunnel.errors import DescriptionError


def of(*hosts: HostFacts) -> Audit:
    return run(Subject(hosts=hosts))


def statuses(audit: Audit) -> dict[str, set[Status]]:
    found: dict[str, set[Status]] = {}
    for result in audit.results:
        found.setdefault(result.check, set()).add(result.status)
    return found


def lines(**values: str) -> dict[str, Any]:
    rows = [
        {"file": "/etc/sysctl.conf", "line": number, "key": key, "value": value}
        for number, (key, value) in enumerate(values.items(), 1)
    ]
    return {"settings": rows, "unreadable": []}


def test_this_machine_is_audited_and_every_fail_has_a_remedy() -> None:
    audit = of(this_machine())
    assert len(audit.results) > 30
    assert all(result.remedy for result in audit.worst)
    assert all(result.area in ("host", "surface") for result in audit.results)


def test_the_script_runs_by_itself(tmp_path: Path) -> None:
    copy = tmp_path / "collect.py"
    copy.write_bytes(Path(collect_facts.__file__).read_bytes())
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(copy)], capture_output=True, text=True, check=True
    )
    document = json.loads(done.stdout)
    assert document["kind"] == "windtunnel-facts"
    assert set(document["facts"]) == set(collect_facts.FACTS)
    assert "value" in document["facts"]["cpu"]


def test_a_host_of_which_nothing_can_be_read_is_unknown(tmp_path: Path) -> None:
    document = collect_facts.collect(str(tmp_path))
    facts = document["facts"]
    assert "unreadable" in facts["cpu"]
    audit = of(HostFacts("silent", facts))
    assert failing(audit) == set()
    assert Status.UNKNOWN in statuses(audit)["host-tcp-sack"]


def test_half_the_files_unreadable_is_unknown_for_these_only(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    (proc / "sys/vm").mkdir(parents=True)
    (proc / "sys/vm/overcommit_memory").write_text("2\n")
    (proc / "meminfo").mkdir()  # cannot be read as a file
    (proc / "cpuinfo").write_text("processor : 0\nmodel name : x\n\n")
    (proc / "mounts").mkdir()
    found = collect_facts.collect(str(tmp_path))["facts"]
    assert "unreadable" in found["memory"]
    assert found["cpu"]["value"]["threads"] == 1
    audit = of(HostFacts("half", found))
    kinds = statuses(audit)
    assert kinds["host-overcommit"] == {Status.FAIL}
    assert kinds["host-swap-used"] == {Status.UNKNOWN}
    assert kinds["host-mount-atime"] == {Status.UNKNOWN}


@given(
    st.dictionaries(
        st.sampled_from(sorted(collect_facts.FACTS)),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=8),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["name", "mtu", "port", "main", "key", "settings", "rings"]),
                    inner,
                    max_size=3,
                )
            ),
            max_leaves=8,
        ),
        max_size=6,
    )
)
@settings(max_examples=60, deadline=None)
def test_facts_of_any_form_end_in_results(facts: dict[str, Any]) -> None:
    audit = of(HostFacts("odd", {name: {"value": value} for name, value in facts.items()}))
    assert audit.results


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("net.core.optme_max", "net.core.optmem_max"),
        ("vm.swapiness", "vm.swappiness"),
        ("net.ipv4.tcp_rmen", "net.ipv4.tcp_rmem"),
    ],
)
def test_an_unknown_kernel_parameter_is_found_with_the_nearest(key: str, near: str) -> None:
    audit = of(host(sysctl={}, sysctl_files=lines(**{key: "1"})))
    found = [r for r in audit.worst if r.check == "host-sysctl-unknown"]
    assert [r.about for r in found] == [key]
    assert f"'{near}'" in found[0].observed


@pytest.mark.parametrize(
    "key",
    [
        "net.bridge.bridge-nf-call-iptables",
        "net.ipv4.conf.eth0.rp_filter",
        "net.ipv4.conf.default.rp_filter",
        "kernel.shmmax",
        "net.ipv4.tcp_congestion_control",
    ],
)
def test_known_kernel_parameters_raise_no_alarm(key: str) -> None:
    audit = of(host(sysctl={}, sysctl_files=lines(**{key: "1"})))
    assert "host-sysctl-unknown" not in {r.check for r in audit.worst}


def test_set_and_in_force_are_compared() -> None:
    facts = host(
        sysctl={"vm.swappiness": "60", "net.ipv4.tcp_rmem": "4096 131072 6291456"},
        sysctl_files=lines(**{"vm.swappiness": "1", "net.ipv4.tcp_rmem": "4096  131072 6291456"}),
    )
    found = [r for r in of(facts).worst if r.check == "host-sysctl-in-force"]
    assert [r.about for r in found] == ["vm.swappiness"]
    assert found[0].observed == "vm.swappiness: 1 in /etc/sysctl.conf:1, 60 in force"


BAD: dict[str, tuple[str, dict[str, Any]]] = {
    "governor": ("host-governor", {"governors": {"powersave": 4}}),
    "huge pages": ("host-thp", {"thp_enabled": "always"}),
    "defrag": ("host-thp-defrag", {"thp_defrag": "always"}),
    "read-ahead": (
        "host-read-ahead",
        {"disks": [{"name": "sda", "rotational": True, "read_ahead_kb": 128}]},
    ),
    "scheduler": (
        "host-scheduler",
        {"disks": [{"name": "sda", "rotational": True, "virtual": False, "scheduler": "none"}]},
    ),
    "atime": (
        "host-mount-atime",
        {"mounts": [{"point": "/data/1", "type": "ext4", "options": ["rw", "strictatime"]}]},
    ),
    "sync": (
        "host-mount-sync",
        {"mounts": [{"point": "/data/1", "type": "ext4", "options": ["rw", "sync"]}]},
    ),
    "mtu": (
        "host-mtu",
        {
            "nics": [
                {"name": "e", "physical": True, "state": "up", "speed_mbit_s": 10000, "mtu": 1500}
            ]
        },
    ),
    "ring": (
        "host-rings",
        {
            "nics": [
                {"name": "e", "physical": True, "state": "up", "rings": {"rx": 512, "rx_max": 4096}}
            ]
        },
    ),
    "clock": ("host-clock", {"clock": {"synchronised": False, "daemons": [], "source": "tsc"}}),
    "loopback name": (
        "host-names",
        {"names": {"name": "w", "addresses": ["127.0.1.1"], "reverse": {}, "error": None}},
    ),
    "reverse name": (
        "host-names",
        {"names": {"name": "w", "addresses": ["10.0.0.1"], "reverse": {"10.0.0.1": "x"}}},
    ),
    "smt": ("host-smt", {"smt": "off"}),
    "open files": (
        "host-open-files",
        {"jvms": [{"main": "org.apache.hadoop.hdfs.DataNode", "user": "hdfs", "open_files": 1024}]},
    ),
    "as root": (
        "surface-root",
        {"jvms": [{"main": "org.apache.hadoop.hdfs.DataNode", "user": "root", "open_files": -1}]},
    ),
    "key table": (
        "surface-keytabs",
        {"keytabs": [{"path": "/etc/hadoop/nn.keytab", "mode": "0644", "owner": "hdfs"}]},
    ),
    "export": ("surface-exports", {"exports": ["/data *(rw,no_root_squash)"]}),
    "JMX": (
        "surface-jmx",
        {"listening": [{"protocol": "TCP", "port": 9010, "address": "0.0.0.0"}]},
    ),
    "ResourceManager": (
        "surface-open-services",
        {"listening": [{"protocol": "TCP", "port": 8088, "address": "::"}]},
    ),
    "old Hadoop": (
        "surface-end-of-life",
        {"jvms": [{"main": "x.Y", "jars": {"hadoop-common": "2.7.7"}}]},
    ),
    "old system": ("surface-end-of-life", {"os": {"id": "centos", "version": "6.5"}}),
    "start-up file": (
        "host-boot-files",
        {
            "boot": [
                {
                    "file": "/etc/rc.local",
                    "line": 3,
                    "text": "echo never > /sys/kernel/mm/transparent_hugepage/defrag",
                }
            ],
            "thp_defrag": "always",
        },
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_fault_of_a_host_is_found(name: str) -> None:
    check, facts = BAD[name]
    assert check in {r.check for r in of(host(**facts)).worst}


@pytest.mark.parametrize(
    ("speed", "status"),
    [
        (10000, Status.FAIL),
        (1000, Status.NOT_APPLICABLE),
        (0, Status.NOT_APPLICABLE),
        (65535, Status.NOT_APPLICABLE),
        (4294967295, Status.NOT_APPLICABLE),
        (None, Status.NOT_APPLICABLE),
    ],
)
def test_a_nic_of_unknown_speed_is_not_fast(speed: int | None, status: Status) -> None:
    nics = [{"name": "e", "physical": True, "state": "up", "speed_mbit_s": speed, "mtu": 9000}]
    audit = of(host(nics=nics, sysctl={"net.core.netdev_max_backlog": "1000"}))
    assert statuses(audit)["host-backlog"] == {status}


def lived(**jars: str) -> tuple[Status, str, str]:
    rows = [{"main": "x.Y", "jars": {name.replace("_", "-"): text for name, text in jars.items()}}]
    found = [r for r in of(host(jvms=rows)).results if r.check == "surface-end-of-life"]
    return found[0].status, found[0].severity, found[0].observed


@pytest.mark.parametrize(
    ("jar", "version", "status", "severity"),
    [
        ("hadoop_common", "1.2.1", Status.FAIL, "high"),
        ("hadoop_common", "2.10.1", Status.FAIL, "critical"),
        ("hadoop_common", "2.10.2", Status.PASS, "high"),
        ("hadoop_common", "3.2.4", Status.FAIL, "high"),
        ("hadoop_common", "3.3.1", Status.FAIL, "high"),
        ("hadoop_common", "3.3.6", Status.PASS, "high"),
        ("hadoop_common", "3.5.0", Status.PASS, "high"),
        ("hadoop_common", "2.3.0-cdh5.0.1", Status.UNKNOWN, "high"),
        ("hadoop_common", "3.1.1.7.1.7.0-551", Status.UNKNOWN, "high"),
        ("log4j_core", "2.14.1", Status.FAIL, "critical"),
        ("log4j_core", "2.17.0", Status.FAIL, "high"),
        ("log4j_core", "2.12.4", Status.PASS, "high"),
        ("log4j_core", "2.17.1", Status.PASS, "high"),
        ("zookeeper", "3.7.2", Status.FAIL, "high"),
        ("zookeeper", "3.8.6", Status.PASS, "high"),
        ("hive_exec", "3.1.3", Status.FAIL, "high"),
        ("hbase_server", "2.6.4", Status.PASS, "high"),
    ],
)
def test_a_line_that_is_not_maintained_is_found(
    jar: str, version: str, status: Status, severity: str
) -> None:
    found = lived(**{jar: version})
    assert found[:2] == (status, severity)
    assert "(by the dates known on " in found[2] or "not maintained since " in found[2]


def test_each_jvm_counts_and_one_without_readable_jars_is_unknown() -> None:
    rows = [
        {"main": "x.Y", "jars": {"hadoop-common": "2.7.7"}},
        {"main": "x.Z", "jars": {"hadoop-common": "3.5.0"}},
        {"main": "org.apache.hadoop.hdfs.server.datanode.DataNode", "jars": None},
        {"main": "org.apache.catalina.startup.Bootstrap", "jars": {}},
    ]
    found = [r for r in of(host(jvms=rows)).results if r.check == "surface-end-of-life"]
    assert {(r.status, r.about) for r in found} == {
        (Status.FAIL, "hadoop-common"),
        (Status.UNKNOWN, ""),
    }
    (unread,) = [r.observed for r in found if r.status is Status.UNKNOWN]
    assert unread.startswith("JVMs without a readable class path: 1;")


def test_jars_of_a_class_path_in_the_environment(tmp_path: Path) -> None:
    lib = tmp_path / "opt" / "lib"
    lib.mkdir(parents=True)
    (lib / "hadoop-common-3.3.6.jar").touch()
    process = tmp_path / "proc" / "7"
    process.mkdir(parents=True)
    main = "org.apache.hadoop.hdfs.server.datanode.DataNode"
    files = {"comm": "java\n", "cmdline": f"/usr/bin/java\0{main}\0", "status": "", "limits": ""}
    for name, text in files.items():
        (process / name).write_text(text)
    (process / "environ").write_text("SECRET=planted\0CLASSPATH=/etc/hadoop:/opt/lib/*\0")
    (found,) = collect_facts.collect(str(tmp_path))["facts"]["jvms"]["value"]
    assert found["main"] == main and found["jars"] == {"hadoop-common": "3.3.6"}
    assert "planted" not in str(found)
    (process / "environ").unlink()
    (found,) = collect_facts.collect(str(tmp_path))["facts"]["jvms"]["value"]
    assert found["jars"] is None


@pytest.mark.parametrize(
    "written",
    ["net.ipv4.conf.dsl0/7.rp_filter = 1", "net/ipv4/conf/dsl0.7/rp_filter = 1"],
)
def test_a_parameter_of_a_vlan_is_the_same_in_files_and_kernel(
    written: str, tmp_path: Path
) -> None:
    inside = tmp_path / "proc/sys/net/ipv4/conf/dsl0.7"
    inside.mkdir(parents=True)
    (inside / "rp_filter").write_text("1\n")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/sysctl.conf").write_text(written)
    facts = collect_facts.collect(str(tmp_path))["facts"]
    (line,) = facts["sysctl_files"]["value"]["settings"]
    assert {line["key"]: line["value"]} == facts["sysctl"]["value"]


def mounted(**points: str) -> list[dict[str, Any]]:
    return [{"device": f"/dev/{name}", "point": point} for name, point in points.items()]


@pytest.mark.parametrize(
    ("disks", "mounts", "count"),
    [
        (["sda", "sdb"], mounted(sda1="/boot", sda2="/", sdb1="/data/1"), 1),
        (["sda", "sdb"], mounted(sda1="/", sda3="/data/0", sdb1="/data/1"), 2),
        (["nvme0n1", "nvme1n1"], mounted(nvme0n1p1="/boot/efi", nvme1n1="/data/1"), 1),
        (["vda"], mounted(vda1="/"), 1),
        (["sda", "sdb"], None, 2),
    ],
)
def test_the_disk_of_the_system_holds_no_data(
    disks: list[str], mounts: list[dict[str, Any]] | None, count: int
) -> None:
    facts = {"disks": [{"name": name} for name in disks]}
    given = facts if mounts is None else {**facts, "mounts": mounts}
    assert of_facts([host(**given)]).data_disks == count


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.0.0.1%lo"])
def test_a_port_on_loopback_is_not_reachable(address: str) -> None:
    rows = [{"protocol": "TCP", "port": 8088, "address": address, "process": "x"}]
    assert failing(of(host(listening=rows))) == set()


def test_a_mapped_address_of_another_interface_is_reachable() -> None:
    rows = [{"protocol": "TCP", "port": 8088, "address": "::ffff:10.0.0.1", "process": "x"}]
    assert ("surface-open-services", "8088") in failing(of(host(listening=rows)))


def test_a_name_of_a_mapped_loopback_address_is_found() -> None:
    names: dict[str, object] = {"name": "w", "addresses": ["::ffff:127.0.1.1"], "reverse": {}}
    found = of(host(names=names)).worst
    assert "resolves to ::ffff:127.0.1.1 only" in found[0].observed


@pytest.mark.parametrize(
    ("text", "key"),
    [("{}", "kind"), ('{"kind": "windtunnel-facts", "schema": 99}', "schema"), ("[", None)],
)
def test_a_file_without_facts_is_one_message(text: str, key: str | None, tmp_path: Path) -> None:
    from windtunnel.audit.facts import read_facts

    path = tmp_path / "facts.json"
    path.write_text(text)
    with pytest.raises(DescriptionError) as caught:
        read_facts(path)
    assert caught.value.key == key
    assert str(path) in caught.value.render()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("/data *(rw)", True),
        ("/data (rw)", True),
        ("/data", True),
        ("/data 10.0.0.0/8(rw)", False),
        ("/data worker-1(rw) worker-2(ro)", False),
    ],
)
def test_an_export_without_a_host_is_for_every_host(line: str, found: bool) -> None:
    checks = {result.check: result.status for result in of(host(exports=[line])).results}
    assert (checks["surface-exports"] is Status.FAIL) is found
