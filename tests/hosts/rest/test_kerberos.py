"""SPNEGO against a real KDC: tickets, keytabs, and what is wrong with them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import kerberos
from tests.support.kerberos import Realm
from tests.support.webserver import Reply, Request, serving
from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.rest import Access, RestClient, Sent
from windtunnel.hosts.rest.gssapi import GssError


@dataclass
class Service:
    realm: Realm
    keytab: Path
    url: str


def answer(request: Request) -> Reply:
    """As Hadoop's filter: 401 with an offer, 403 with the reason, 200 with a cookie."""
    if "hadoop.auth" in request.headers.get("Cookie", ""):
        return Reply({"by": "cookie"})
    header = request.headers.get("Authorization", "")
    if not header.startswith("Negotiate "):
        return Reply(b"", 401, [("WWW-Authenticate", "Negotiate")])
    try:
        name, token = kerberos.accept(header)
    except GssError as error:
        return Reply(f"<title>Error 403 GSSException: {error}</title>", 403)
    cookie = 'hadoop.auth="u=x&t=kerberos&s=y="; Path=/; HttpOnly'
    proof = [("WWW-Authenticate", f"Negotiate {token}"), ("Set-Cookie", cookie)]
    return Reply({"by": name}, headers=proof)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    if why := kerberos.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("realm")
    realm = Realm(folder)
    keytab = realm.add(folder / "http.keytab", "HTTP/localhost")
    realm.add(folder / "ann.keytab", "ann")
    changes = {"KRB5_CONFIG": str(realm.config), "KRB5_KTNAME": str(keytab)}
    old = {name: os.environ.get(name) for name in (*changes, "KRB5CCNAME")}
    os.environ |= {**changes, "KRB5CCNAME": f"FILE:{folder}/none"}
    try:
        with realm.running(), serving(answer) as url:
            yield Service(realm, folder / "ann.keytab", url)
    finally:
        for name, value in old.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def problem(service: Service, access: Access = Access(), url: str = "") -> ClusterAccessError:  # noqa: B008
    with RestClient(access) as client, pytest.raises(ClusterAccessError) as caught:
        client.get_json(url or service.url)
    assert caught.value.remedy
    return caught.value


def test_a_keytab_then_a_cookie(service: Service) -> None:
    sent: list[Sent] = []
    with RestClient(Access(keytab=service.keytab, principal="ann"), sent.append) as client:
        assert client.get_json(service.url) == {"by": "ann@TEST.LOCAL"}
        assert client.get_json(service.url) == {"by": "cookie"}
    assert [one.status for one in sent] == [401, 200, 200]
    assert not Path("none").exists()


def test_a_keytab_without_a_principal_uses_its_first_one(service: Service) -> None:
    with RestClient(Access(keytab=service.keytab)) as client:
        assert client.get_json(service.url) == {"by": "ann@TEST.LOCAL"}


def test_a_ticket_cache(service: Service, tmp_path: Path) -> None:
    cache = service.realm.ticket(service.keytab, "ann", tmp_path / "cache")
    with RestClient(Access(ticket_cache=cache)) as client:
        assert client.get_json(service.url) == {"by": "ann@TEST.LOCAL"}


def test_no_ticket(service: Service) -> None:
    found = problem(service)
    assert found.reason == "no ticket" and "kinit" in found.remedy


def test_an_expired_ticket(service: Service, tmp_path: Path) -> None:
    cache = service.realm.ticket(service.keytab, "ann", tmp_path / "cache", "1s")
    time.sleep(2.5)  # until it has expired
    found = problem(service, Access(ticket_cache=cache))
    assert found.reason == "ticket expired" and "kinit" in found.remedy


def test_a_principal_that_the_keytab_does_not_have(service: Service) -> None:
    found = problem(service, Access(keytab=service.keytab, principal="bob"))
    assert found.reason in ("wrong principal", "no ticket")


def test_a_principal_that_the_kdc_does_not_know(service: Service, tmp_path: Path) -> None:
    keytab = service.realm.add(tmp_path / "gone.keytab", "gone")
    service.realm._run("kadmin.local", "-q", "delprinc -force gone@TEST.LOCAL")
    found = problem(service, Access(keytab=keytab, principal="gone"))
    assert found.reason == "wrong principal"


def test_a_keytab_that_is_out_of_date(service: Service, tmp_path: Path) -> None:
    keytab = service.realm.add(tmp_path / "old.keytab", "old")
    service.realm.change_key("old")
    found = problem(service, Access(keytab=keytab, principal="old"))
    assert found.reason == "wrong key" and "export" in found.remedy


def test_an_address_has_no_service_principal(service: Service) -> None:
    access = Access(keytab=service.keytab)
    found = problem(service, access, service.url.replace("localhost", "127.0.0.1"))
    assert found.reason == "unknown service" and "name of the host" in found.remedy


def test_no_kdc(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = service.realm.config.read_text().replace(str(service.realm.port), "1")
    (tmp_path / "krb5.conf").write_text(text)
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))
    assert problem(service, Access(keytab=service.keytab, principal="ann")).reason == "no KDC"


def test_a_configuration_of_its_own(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = tmp_path / "krb5.conf"
    wrong.write_text("[libdefaults]\ndefault_realm = NO.EXAMPLE\n")
    monkeypatch.setenv("KRB5_CONFIG", str(wrong))
    access = Access(keytab=service.keytab, principal="ann", krb5_conf=service.realm.config)
    with RestClient(access) as client:
        assert client.get_json(f"{service.url}/x") == {"by": "ann@TEST.LOCAL"}
    assert os.environ["KRB5_CONFIG"] == str(wrong)


def test_a_clock_that_is_wrong(service: Service, tmp_path: Path) -> None:
    if not shutil.which("faketime"):
        pytest.skip("needs faketime (Debian: faketime)")
    cache = service.realm.ticket(service.keytab, "ann", tmp_path / "cache")
    program = (
        "import sys\nfrom windtunnel.errors import ClusterAccessError\n"
        "from windtunnel.hosts.rest import Access, RestClient\n"
        "try:\n    RestClient(Access(ticket_cache=sys.argv[1])).get_json(sys.argv[2])\n"
        "except ClusterAccessError as error:\n    print(error.reason)\n"
    )
    done = subprocess.run(
        ["faketime", "-f", "+20m", sys.executable, "-c", program, cache, service.url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "clock skew\n", done.stderr


def test_a_server_without_the_key_of_its_name(service: Service, tmp_path: Path) -> None:
    """Its proof is wrong: another server answers at this address."""

    def forged(request: Request) -> Reply:
        if "Authorization" not in request.headers:
            return Reply(b"", 401, [("WWW-Authenticate", "Negotiate")])
        return Reply({}, headers=[("WWW-Authenticate", "Negotiate aGVsbG8=")])

    with serving(forged) as url:
        found = problem(service, Access(keytab=service.keytab, principal="ann"), url)
    assert found.reason == "server not authentic"
