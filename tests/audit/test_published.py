"""The settings and ports that the study cisco-2014 published, fed in as collected facts."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from windtunnel.audit.audit import Audit, Subject, run
from windtunnel.audit.hardware import of_cluster
from windtunnel.audit.result import Result, Status
from windtunnel.audit.tables import read_table
from windtunnel.cluster import load_cluster
from windtunnel.errors import DescriptionError

DATA = Path(__file__).parent / "data"
PORTS, CONFIG = DATA / "cisco_ports.csv", DATA / "cisco_config.csv"


def published(name: str) -> Path:
    folder = resources.files("windtunnel.catalogue").joinpath("published", "cisco-2014")
    return Path(str(folder)) / name


@pytest.fixture(scope="module")
def audit() -> Audit:
    hosts, confs = [], []
    for path in (published("sysctl.csv"), published("onboot.csv"), CONFIG, PORTS):
        some, more = read_table(path)
        hosts += some
        confs += more
    return run(Subject(hosts, confs, of_cluster(load_cluster("cisco-2014"))))


def failing(audit: Audit, subject: str) -> dict[tuple[str, str], Result]:
    return {(r.check, r.about): r for r in audit.worst if r.subject == subject}


def test_the_parameter_that_does_not_exist_is_found(audit: Audit) -> None:
    found = failing(audit, "repo_tuned")[("host-sysctl-unknown", "net.core.optme_max")]
    assert "'net.core.optmem_max' was probably meant" in found.observed


def test_the_buffers_and_the_doubled_parameter_are_found(audit: Audit) -> None:
    found = failing(audit, "repo_tuned")
    assert ("host-tcp-buffers-default", "net.ipv4.tcp_rmem") in found
    assert ("host-sysctl-twice", "net.core.rmem_default") in found
    assert ("host-tcp-sack", "net.ipv4.tcp_sack") in found
    assert ("host-swappiness-zero", "vm.swappiness") in found


def test_the_default_of_the_distribution_has_no_unknown_parameter(audit: Audit) -> None:
    assert "host-sysctl-unknown" not in {check for check, _ in failing(audit, "centos_default")}


def test_values_of_the_start_up_file_pass(audit: Audit) -> None:
    passes = {r.check for r in audit.results if r.subject == "onboot" and r.status is Status.PASS}
    assert {"host-governor", "host-thp-defrag", "host-thp"} <= passes


def test_the_dash_that_java_does_not_read_is_found(audit: Audit) -> None:
    found = failing(audit, "cisco_config v1 tuning 11")
    assert ("setting-form", "mapreduce.map.java.opts") in found
    assert ("containers-bounds", "yarn.scheduler.maximum-allocation-mb") in found


def test_containers_of_the_paper_are_far_more_than_threads(audit: Audit) -> None:
    found = failing(audit, "cisco_config v2 final")
    assert "152 map tasks at once on 40" in found[("containers-at-once", "map tasks")].observed


def test_what_the_paper_does_not_state_is_unknown(audit: Audit) -> None:
    own = [r for r in audit.results if r.subject == "cisco_config v2 final"]
    assert not [r for r in own if r.area == "security" and r.status is Status.FAIL]
    assert any(r.check == "secure-authentication" and r.status is Status.UNKNOWN for r in own)


def test_open_doors_of_the_port_table_are_found(audit: Audit) -> None:
    found = failing(audit, "Server 1")
    assert ("surface-jmx", "9010") in found
    for port in ("2049", "4242", "8649", "8888", "8084"):
        assert ("surface-open-services", port) in found
    name = failing(audit, "Server 2")[("surface-open-services", "50070")]
    assert name.severity == "critical"


def test_the_attack_surface_has_every_row_of_the_study(audit: Audit) -> None:
    rows = PORTS.read_text(encoding="utf-8").splitlines()[1:]
    table = {(row["host"], row["port"]) for row in audit.surface}
    assert table == {(r.split(",")[0], int(r.split(",")[2])) for r in rows}
    assert len(audit.surface) == len(rows)
    assert all(row["purpose"] for row in audit.surface)


def test_a_table_with_other_columns_is_one_message(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DescriptionError, match="its columns are not those"):
        read_table(path)
