"""Checks as data, exceptions, secrets, comparison, SARIF, OpenSCAP, probes, the page."""

from __future__ import annotations

import datetime as dt
import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.audited import CLEAN, audited, changed, failing, host, site, write
from tests.support.webserver import Reply, certificate, serving
from windtunnel import cli
from windtunnel.audit import openscap, probes
from windtunnel.audit.audit import Audit, Subject, run
from windtunnel.audit.catalogue import (
    end_of_life_sources,
    ends_of_life,
    limits,
    ports,
    removed,
)
from windtunnel.audit.check import Expected, checks, in_range
from windtunnel.audit.earlier import differences, read_audit
from windtunnel.audit.exceptions import applied, read_exceptions
from windtunnel.audit.result import AREAS, SEVERITIES, Status
from windtunnel.audit.rules import RULES
from windtunnel.cluster.settings import deprecated
from windtunnel.errors import DescriptionError, UsageError
from windtunnel.report.audit import render
from windtunnel.report.sarif import sarif

DATA = Path(__file__).parent / "data"
SECRETS = {
    "core": {
        "fs.s3a.secret.key": "PLANTED-S3",
        "hadoop.security.group.mapping.ldap.bind.password": "PLANTED-LDAP",
        "fs.azure.sas.container": "PLANTED-OTHER",
        "dfs.my.api.key": "PLANTED-TWICE",
    },
    "hdfs": {
        "dfs.hosts": "http://user:PLANTED-URL@host/list",
        "dfs.replicaton.password": "PLANTED-NAME",
        "fs.azure.sas.container": "PLANTED-SAS",
        "dfs.my.api.key": "PLANTED-KEY",
    },
    "mapred": {
        "mapreduce.map.java.opts": "-Xmx4g -Djavax.net.ssl.trustStorePassword=PLANTED-OPTION",
        "mapred.child.java.opts": "-Dpassword=PLANTED-CHILD",
    },
    "yarn": {"yarn.http.password": "PLANTED-YARN"},
}


# --- checks are data ------------------------------------------------------------------------


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.id)
def test_a_check_is_complete(check: Any) -> None:
    assert check.area in AREAS
    assert check.severity in SEVERITIES
    assert check.expects or check.expected.stated()
    kinds = (check.read.fact, check.read.sysctl, check.read.property, check.read.rule)
    assert sum(kind is not None for kind in kinds) == 1
    assert check.read.rule is None or check.read.rule in RULES
    assert check.question.endswith("?")


def test_ids_differ_and_every_rule_is_used() -> None:
    ids = [check.id for check in checks()]
    assert len(set(ids)) == len(ids)
    used = {check.read.rule for check in checks()}
    used |= {one.read.rule for check in checks() for one in check.only_if}
    assert set(RULES) <= used


def test_the_catalogues_are_readable() -> None:
    assert deprecated()["io.sort.mb"] == ["mapreduce.task.io.sort.mb"]
    assert all(one.reason for one in limits().values())
    assert all(0 < one.port < 65536 for one in ports())
    assert all(one.remedy for one in ports() if one.open)
    looked_up, sources = end_of_life_sources()
    assert all(sources.values())
    assert {row.source for row in ends_of_life()} == set(sources)
    for row in ends_of_life():
        assert in_range("99.0", row.versions) is False
        assert row.until <= looked_up
        assert row.severity in SEVERITIES


def test_no_name_without_effect_has_a_replacement_that_hadoop_reads() -> None:
    read = {name: set(deprecated().get(name, ())) - set(removed()) for name in removed()}
    assert {name: new for name, new in read.items() if new} == {}


def test_a_deprecated_name_with_a_replacement_has_an_effect(tmp_path: Path) -> None:
    name = "dfs.datanode.max.xcievers"
    found = failing(audited(tmp_path / "conf", changed(hdfs={name: "4096"})), "hadoop")
    assert found == {("setting-deprecated", name)}


def test_a_text_where_a_number_is_expected_is_not_judged() -> None:
    assert Expected(least=1).met("many") is None
    assert Expected(least=1).met("2k") is True
    assert Expected(equals="true").met(True) is True


# --- exceptions --------------------------------------------------------------------------------


def test_an_exception_removes_a_fail_until_its_end(tmp_path: Path) -> None:
    audit = audited(tmp_path / "conf", changed(core={"fs.trash.interval": "0"}))
    file = tmp_path / "exceptions.yaml"
    file.write_text(
        "exceptions:\n"
        "  - {check: hdfs-trash, reason: a cluster for tests, until: 2030-06-01}\n"
        "  - {check: host-smt, reason: measured without gain, until: 2030-06-01}\n"
    )
    found, notes = applied(audit.results, read_exceptions(file), dt.date(2029, 1, 1))
    one = next(r for r in found if r.check == "hdfs-trash")
    assert one.status is Status.FAIL
    assert not one.counts
    assert one.exception == "a cluster for tests (until 2030-06-01)"
    assert notes == ["the exception for host-smt is not needed: nothing that it covers fails"]
    found, notes = applied(audit.results, read_exceptions(file), dt.date(2031, 1, 1))
    assert next(r for r in found if r.check == "hdfs-trash").counts
    assert "the exception for hdfs-trash ended on 2030-06-01" in notes


def test_an_exception_covers_what_requests_and_openscap_found(tmp_path: Path) -> None:
    file = tmp_path / "exceptions.yaml"
    file.write_text(
        "exceptions:\n"
        "  - {check: probe-open, subject: w1, reason: inside a closed network, until: 2999-01-01}\n"
        "  - {check: oscap-sshd_*, reason: another team decides, until: 2999-01-01}\n"
    )
    found = audited(tmp_path / "conf", changed(core={"fs.trash.interval": "0"})).worst[0]
    names = [("probe-open", "w1"), ("probe-open", "w2"), ("oscap-sshd_root", "w1")]
    others = [replace(found, check=check, subject=subject) for check, subject in names]
    made = run(Subject(), read_exceptions(file), others)
    assert [(r.check, r.subject) for r in made.worst] == [("probe-open", "w2")]
    assert made.notes == ()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{check: hdfs-trash, until: 2030-01-01}", "reason"),
        ("{check: hdfs-trash, reason: long enough}", "until"),
        ("{check: hdfs-trsh, reason: long enough, until: 2030-01-01}", "did you mean 'hdfs-trash'"),
    ],
)
def test_an_exception_needs_a_check_a_reason_and_a_date(
    row: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "exceptions.yaml"
    file.write_text(f"exceptions:\n  - {row}\n")
    with pytest.raises(DescriptionError) as caught:
        read_exceptions(file)
    assert said in caught.value.render()


# --- secrets -------------------------------------------------------------------------------------


def test_planted_secrets_are_found_and_in_no_output(tmp_path: Path) -> None:
    write(tmp_path / "conf", changed(**SECRETS))
    words = ["audit", str(tmp_path / "conf"), "--hadoop", "3.5", "--full"]
    words += ["--html", str(tmp_path / "a.html"), "--sarif", str(tmp_path / "a.sarif")]
    words += ["--advise", str(tmp_path / "advice")]
    shown = CliRunner().invoke(cli.app, words)
    assert shown.exit_code == 0, shown.output
    data = CliRunner().invoke(cli.app, ["audit", str(tmp_path / "conf"), "--json"])
    written = [path for path in tmp_path.rglob("*") if path.is_file() and "conf" not in path.parts]
    outputs = [shown.output, data.output, *(path.read_text() for path in written)]
    assert len(outputs) >= 6
    assert not [text for text in outputs if "PLANTED" in text]
    audit = audited(tmp_path / "conf", changed(**SECRETS))
    about = {what for check, what in failing(audit) if check == "secure-secrets"}
    assert {"fs.s3a.secret.key", "yarn.http.password"} <= about


@pytest.mark.parametrize(
    "name", ["ha.zookeeper.auth", "hadoop.zk.auth", "yarn.resourcemanager.zk-auth"]
)
def test_passwords_of_zookeeper_are_secrets_and_names_of_files_are_none(
    name: str, tmp_path: Path
) -> None:
    plain = audited(tmp_path / "a", changed(core={name: "digest:rm:PLANTED"}))
    (found,) = (one for one in plain.worst if one.check == "secure-secrets")
    assert found.about == name
    assert f"{name} = @FILE" in found.remedy
    assert not [one for one in plain.results if "PLANTED" in str(one.plain())]
    file = audited(tmp_path / "b", changed(core={name: "@/etc/hadoop/zk-auth"}))
    assert not [one for one in file.worst if one.check == "secure-secrets"]


@pytest.mark.parametrize(
    ("mode", "found"), [(0o640, set()), (0o644, {"ssl.server.keystore.password"})]
)
def test_passwords_of_tls_stores_may_be_in_a_file_of_the_daemons(
    mode: int, found: set[str], tmp_path: Path
) -> None:
    file = tmp_path / "ssl-server.xml"
    file.write_text(site({"ssl.server.keystore.password": "planted-store-password"}))
    file.chmod(mode)
    audit = audited(tmp_path, CLEAN)
    assert {what for check, what in failing(audit) if check == "secure-secrets"} == found


def test_the_collector_hides_secrets(tmp_path: Path) -> None:
    from windtunnel.audit import collect_facts

    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cmdline").write_text("quiet password=PLANTED-1 ro")
    (tmp_path / "proc/mounts").write_text(
        "//h/x /m cifs rw,password=PLANTED-2 0 0\n/dev/a / ext4 password=PLANTED-3 0 0\n"
    )
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/rc.local").write_text("sysctl -w x=1 # token: PLANTED-4\n")
    text = json.dumps(collect_facts.collect(str(tmp_path)))
    assert "PLANTED" not in text
    assert "(hidden)" in text


@pytest.mark.parametrize(
    "text",
    [
        "curl http://user:PLANTED@host/x",
        "export API_KEY=PLANTED",
        "mount -o passphrase=PLANTED /x",
        "sysctl -w a.private.key=PLANTED",
        "login --token PLANTED",
        "pwd: PLANTED",
    ],
)
def test_the_collector_has_patterns_of_its_own(text: str) -> None:
    """It is one file for hosts without Windtunnel, so it cannot use the shared list."""
    from windtunnel.audit import collect_facts

    assert "PLANTED" not in collect_facts._hidden(text)


# --- security ------------------------------------------------------------------------------------

HARDENED = changed(
    core={
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.rpc.protection": "privacy",
        "hadoop.http.authentication.type": "kerberos",
        "hadoop.http.authentication.simple.anonymous.allowed": "false",
        "hadoop.http.filter.initializers": (
            "org.apache.hadoop.security.AuthenticationFilterInitializer"
        ),
        "fs.permissions.umask-mode": "027",
    },
    hdfs={
        "dfs.block.access.token.enable": "true",
        "dfs.data.transfer.protection": "privacy",
        "dfs.http.policy": "HTTPS_ONLY",
    },
    yarn={
        "yarn.http.policy": "HTTPS_ONLY",
        "yarn.acl.enable": "true",
        "yarn.nodemanager.container-executor.class": (
            "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor"
        ),
    },
    mapred={
        "mapreduce.shuffle.ssl.enabled": "true",
        "mapreduce.jobhistory.http.policy": "HTTPS_ONLY",
        "mapreduce.cluster.acls.enabled": "true",
    },
)


def test_every_security_fail_of_the_default_passes_after_its_remedy(tmp_path: Path) -> None:
    before = audited(tmp_path / "a", CLEAN)
    assert len(failing(before, "security")) >= 14
    after = audited(tmp_path / "b", HARDENED)
    assert failing(after, "security") == set()
    score = {one.area: one.percent for one in after.scores}
    assert score["security"] == 100.0


@pytest.mark.parametrize(
    ("files", "check", "about"),
    [
        ({"core": {"hadoop.proxyuser.hue.hosts": "*"}}, "secure-proxy-users", None),
        ({"hdfs": {"dfs.permissions.enabled": "false"}}, "secure-permissions", None),
        (
            {"hdfs": {"dfs.namenode.kerberos.principal": "nn/_HOST@X"}},
            "secure-contradictions",
            None,
        ),
        ({"core": {"nfs.dump.dir": "/tmp/nfs"}}, "secure-nfs-gateway", None),
    ],
)
def test_a_hole_is_found(
    files: dict[str, dict[str, str | None]], check: str, about: None, tmp_path: Path
) -> None:
    assert check in {one for one, _ in failing(audited(tmp_path / "c", changed(**files)))}


def test_half_of_secure_mode_is_found(tmp_path: Path) -> None:
    files = {name: dict(values) for name, values in HARDENED.items()}
    files["hdfs-site.xml"].pop("dfs.block.access.token.enable")
    audit = audited(tmp_path / "c", files)
    assert ("secure-contradictions", "dfs.block.access.token.enable") in failing(audit)


# --- outputs -------------------------------------------------------------------------------------


@pytest.fixture
def audit(tmp_path: Path) -> Audit:
    return audited(tmp_path / "conf", CLEAN)


def test_sarif_has_a_rule_and_a_place_for_each_result(audit: Audit) -> None:
    document = sarif(audit)
    tool = document["runs"][0]
    ids = [rule["id"] for rule in tool["tool"]["driver"]["rules"]]
    assert document["version"] == "2.1.0"
    assert tool["results"]
    for result in tool["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["locations"]
        assert result["message"]["text"]


def test_the_page_has_the_answer_and_escapes_what_it_shows() -> None:
    rows = [{"protocol": "TCP", "port": 8088, "address": "0.0.0.0", "process": "<script>x"}]
    text = render(run(Subject(hosts=[host(listening=rows)])))
    assert "What to do first" in text
    assert "<script>x" not in text


def test_an_earlier_audit_is_compared(tmp_path: Path) -> None:
    before = audited(tmp_path / "conf", changed(core={"fs.trash.interval": "0"}))
    file = tmp_path / "before.json"
    file.write_text(json.dumps(before.plain()))
    now = audited(tmp_path / "conf", changed(hdfs={"dfs.blocksize": "4194304"}))
    found = differences(read_audit(file), now)
    assert [row["check"] for row in found.fixed] == ["hdfs-trash"]
    assert [one.check for one in found.new] == ["hdfs-block-size"]
    assert found.remaining == len(failing(now)) - 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "windtunnel-audit", "schema": 1}'])
def test_a_file_that_is_no_audit_is_one_message(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(DescriptionError):
        read_audit(file)


def test_fail_on_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    folder = str(write(tmp_path / "conf", CLEAN))
    assert cli.run(["audit", folder, "--fail-on", "critical"]) == 14
    assert cli.run(["audit", folder]) == 0
    assert cli.run(["audit", str(tmp_path / "none")]) == 2


# --- OpenSCAP ------------------------------------------------------------------------------------


def test_sections_of_a_result_file_are_scored() -> None:
    rows = openscap.sections(openscap.parse(DATA / "xccdf.xml"))
    keys = ("section", "pass", "fail", "error", "unknown", "score", "max", "percent")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("1", 2, 1, 0, 0, 3.0, 4.0, 75.0),
        ("1.1", 1, 1, 0, 0, 1.0, 2.0, 50.0),
        ("2", 0, 0, 1, 1, 0.0, 2.0, 0.0),
        ("", 2, 1, 1, 1, 3.0, 6.0, 50.0),
    ]
    assert rows[-1]["description"] == "Total"


def test_error_and_unknown_of_openscap_are_unknown() -> None:
    root = openscap.parse(DATA / "xccdf.xml")
    found = {r.check: r.status for r in openscap.results_of(root, openscap.host_of(root))}
    assert found == {
        "oscap-r1": Status.FAIL,
        "oscap-r2": Status.PASS,
        "oscap-r3": Status.PASS,
        "oscap-r4": Status.UNKNOWN,
        "oscap-r5": Status.UNKNOWN,
    }


def test_all_files_of_the_same_host_are_in_the_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DATA / "xccdf.xml").read_text()
    files = [tmp_path / "before.xml", tmp_path / "after.xml"]
    files[0].write_text(text)
    files[1].write_text(text.replace("<result>fail", "<result>pass"))
    assert cli.run(["audit", *map(str, files), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    totals = {host: rows[-1]["fail"] for host, rows in found["benchmarks"].items()}
    assert totals == {"server-1": 1, "server-1 (2)": 0}
    states = {r["subject"]: r["status"] for r in found["results"] if r["check"] == "oscap-r1"}
    assert states == {"server-1": "FAIL", "server-1 (2)": "PASS"}


def test_host_and_results_of_openscap_are_those_of_the_last_test(tmp_path: Path) -> None:
    text = (DATA / "xccdf.xml").read_text()
    other = (
        '<TestResult id="u"><target>server-2</target>'
        '<rule-result idref="r1"><result>pass</result></rule-result></TestResult></Benchmark>'
    )
    (tmp_path / "x.xml").write_text(text.replace("</Benchmark>", other))
    root = openscap.parse(tmp_path / "x.xml")
    assert openscap.host_of(root) == "server-2"
    assert [r.check for r in openscap.results_of(root, "server-2")] == ["oscap-r1"]


@pytest.mark.parametrize("text", ["", "<a/>", "<a>"])
def test_a_file_without_results_of_openscap_is_one_message(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.xml"
    file.write_text(text)
    with pytest.raises(DescriptionError):
        openscap.parse(file)


def test_a_real_scan_scores_its_sections() -> None:
    missing = openscap.lacks()
    if missing:
        pytest.skip(f"install {', '.join(missing)} to run this test")
    root, content = openscap.scan("standard")
    rows = openscap.sections(root)
    assert content
    total = rows[-1]
    judged = sum(total[key] for key in ("pass", "fail", "error", "unknown"))
    assert judged > 10
    top = [row for row in rows if row["level"] == 1]
    assert sum(row["max"] for row in top) == pytest.approx(total["max"])


# --- probes --------------------------------------------------------------------------------------


class _Service(http.server.BaseHTTPRequestHandler):
    status = 200
    seen: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        type(self).seen.append(self.path)
        self.send_response(type(self).status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[tuple[type[_Service], int]]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    _Service.seen.clear()
    yield _Service, server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("code", "status"),
    [(200, Status.FAIL), (401, Status.PASS), (403, Status.PASS), (404, Status.UNKNOWN)],
)
def test_an_answer_without_authentication_is_a_fail(
    code: int, status: Status, service: tuple[type[_Service], int]
) -> None:
    kind, port = service
    kind.status = code
    waits: list[float] = []
    found, rows = probes.probed([f"127.0.0.1:{port}"], waits.append)
    assert {one.status for one in found} == {status}
    assert len(kind.seen) == len(rows) == len(waits) + 1
    assert all(wait == 1.0 / probes.RATE_S for wait in waits)


@pytest.mark.parametrize(("code", "status"), [(200, Status.FAIL), (401, Status.PASS)])
def test_tls_without_authentication_is_a_fail(
    code: int, status: Status, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (namenode,) = [one for one in probes.planned(["127.0.0.1"]) if one.port == 9871]
    trusted = certificate(tmp_path, "127.0.0.1")
    with serving(lambda _: Reply(status=code), trusted) as url:
        port = int(url.rpartition(":")[2])
        monkeypatch.setattr(probes, "planned", lambda hosts: [replace(namenode, port=port)])
        found, rows = probes.probed(["127.0.0.1"], lambda seconds: None)
    assert namenode.line().startswith("GET https://127.0.0.1:9871/jmx")
    assert [(one.status, row["tls"]) for one, row in zip(found, rows, strict=True)] == [
        (status, True)
    ]
    assert found[0].observed.startswith(f"port {port} (NameNode web pages, TLS): HTTP {code}")


def test_a_host_that_answers_nothing_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = probes.planned(["127.0.0.1:1"])
    monkeypatch.setattr(probes, "planned", lambda hosts: [replace(one, port=1) for one in plan])
    found, _ = probes.probed(["127.0.0.1"], lambda seconds: None)
    assert [one.status for one in found] == [Status.UNKNOWN]


@pytest.mark.parametrize("text", ["10.0.0.0/8", "a b", "x,y", "h:port", "*"])
def test_only_single_hosts_are_probed(text: str) -> None:
    with pytest.raises(UsageError):
        probes.planned([text])


def test_an_address_of_ipv6_is_probed_in_brackets() -> None:
    one = next(p for p in probes.planned(["[fd00::7]:9870"]) if p.entry.probe.startswith("/jmx"))
    assert (one.host, one.port) == ("fd00::7", 9870)
    assert one.url.startswith("http://[fd00::7]:9870/jmx")
    others = probes.planned(["fd00::7"])
    assert {p.port for p in others} > {9870, 8088}
    assert all(f"[fd00::7]:{p.port}" in p.line() for p in others)


def test_each_host_that_does_not_answer_has_a_result(
    service: tuple[type[_Service], int],
) -> None:
    found, _ = probes.probed([f"127.0.0.1:{service[1]}", "127.0.0.2:1"], lambda seconds: None)
    silent = [one.subject for one in found if one.observed == "no well-known port answered"]
    assert silent == ["127.0.0.2"]


def test_a_dry_run_lists_the_requests_and_sends_none(service: tuple[type[_Service], int]) -> None:
    kind, port = service
    words = ["audit", "--probe", f"127.0.0.1:{port}", "--dry-run"]
    shown = CliRunner().invoke(cli.app, words)
    assert f"GET http://127.0.0.1:{port}/jmx" in shown.output
    assert kind.seen == []


def test_rpc_must_be_protected_in_every_item_of_the_list(tmp_path: Path) -> None:
    files = {name: dict(values) for name, values in HARDENED.items()}
    for value, fails in (("privacy,integrity", False), ("privacy,authentication", True)):
        files["core-site.xml"]["hadoop.rpc.protection"] = value
        found = {check for check, _ in failing(audited(tmp_path / value, files))}
        assert ("secure-rpc" in found) is fails
