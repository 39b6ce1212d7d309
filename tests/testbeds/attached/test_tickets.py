"""Tickets of a keytab: renewal, and what happens while the KDC does not answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from windtunnel.errors import DeploymentError
from windtunnel.hosts.leftovers import registered
from windtunnel.testbeds.attached import tickets
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.testbed import AttachedTestbed

KINIT = """#!/bin/sh
echo "kinit $* $KRB5_CONFIG" >> {log}
test ! -e {refuse} || {{ echo "no KDC" >&2; exit 1; }}
"""
KLIST = "#!/bin/sh\ntest -e {valid}\n"


class Kerberos:
    """Programs ``kinit`` and ``klist`` whose results the test sets."""

    def __init__(self, folder: Path) -> None:
        self.log, self.refuse, self.valid = folder / "log", folder / "refuse", folder / "valid"
        for name, text in (("kinit", KINIT), ("klist", KLIST)):
            program = folder / name
            program.write_text(text.format(log=self.log, refuse=self.refuse, valid=self.valid))
            program.chmod(0o755)

    @property
    def requests(self) -> list[str]:
        return self.log.read_text().splitlines()


class Clock:
    now = 1e6

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(tickets, "time", made)
    return made


@pytest.fixture
def kerberos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kerberos:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("HOME", "/home/ann")
    return Kerberos(tmp_path)


def made(tmp_path: Path) -> tickets.Tickets:
    given = {"conf": "c", "principal": "ann", "keytab": "~/ann.keytab", "krb5_conf": "~/krb5.conf"}
    found = tickets.tickets_of(AttachedOptions.model_validate(given), tmp_path)
    assert found is not None
    return found


def test_a_ticket_is_requested_once_an_hour(
    kerberos: Kerberos, clock: Clock, tmp_path: Path
) -> None:
    one = made(tmp_path)
    for passed_s in (0, 3000, 700, 100):
        clock.now += passed_s
        one.renew()
    words = f"kinit -kt /home/ann/ann.keytab -c FILE:{one.file} ann /home/ann/krb5.conf"
    assert kerberos.requests == [words, words]


def test_without_any_ticket_the_reason_is_given(
    kerberos: Kerberos, clock: Clock, tmp_path: Path
) -> None:
    kerberos.refuse.touch()
    with pytest.raises(DeploymentError, match="no Kerberos ticket for ann: no KDC"):
        made(tmp_path).renew()


def test_a_valid_ticket_serves_while_the_kdc_is_not_there(
    kerberos: Kerberos, clock: Clock, tmp_path: Path
) -> None:
    one = made(tmp_path)
    one.renew()
    kerberos.refuse.touch()
    kerberos.valid.touch()
    said = []
    for passed_s in (3600, 30, 30):
        clock.now += passed_s
        said.append(one.renew())
    assert said == [reason := "no Kerberos ticket for ann: no KDC", "", reason]
    assert len(kerberos.requests) == 3  # one a minute
    kerberos.valid.unlink()
    clock.now += 60
    with pytest.raises(DeploymentError, match="no KDC"):
        one.renew()
    kerberos.refuse.unlink()
    one.renew()
    clock.now += 3599
    one.renew()
    assert len(kerberos.requests) == 5


def test_the_tickets_of_a_check_are_registered(
    kerberos: Kerberos, conf: Path, state: Path, tmp_path: Path
) -> None:
    given = {"conf": str(conf), "principal": "ann", "keytab": str(tmp_path / "keytab")}
    options = AttachedOptions.model_validate(given)
    bed = AttachedTestbed(tmp_path / "logs", lambda text: None, options)
    with bed._opened() as access:
        (entry,) = registered()
        assert access.tickets is not None
        assert access.tickets.file.parent == entry.folder
    assert registered() == []
