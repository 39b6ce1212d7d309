"""Encryption and anonymous requests, by the authentication that decides whether they apply."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.audited import audited, changed
from windtunnel.audit.result import Status

SIMPLE = "hadoop.security.authentication = simple"


@pytest.mark.parametrize(
    ("hdfs", "why"),
    [
        ({"dfs.data.transfer.protection": "privacy"}, f"with {SIMPLE}, it has no effect"),
        ({"dfs.encrypt.data.transfer": "true"}, f"with {SIMPLE}, keys cross the network in clear"),
    ],
)
def test_encryption_without_kerberos_is_not_in_effect(
    hdfs: dict[str, str], why: str, tmp_path: Path
) -> None:
    files = changed(core={"hadoop.rpc.protection": "privacy"}, hdfs=hdfs)
    worst = {r.check: r for r in audited(tmp_path, files).worst}
    assert worst["secure-rpc"].observed.endswith(f"has no effect with {SIMPLE}")
    assert why in worst["secure-data-transfer"].observed
    for check in ("secure-rpc", "secure-data-transfer"):
        assert worst[check].remedy.startswith("set hadoop.security.authentication = kerberos")


@pytest.mark.parametrize(
    ("kind", "status"), [("simple", Status.FAIL), ("kerberos", Status.NOT_APPLICABLE)]
)
def test_anonymous_requests_are_a_matter_of_the_type_simple(
    kind: str, status: Status, tmp_path: Path
) -> None:
    audit = audited(tmp_path, changed(core={"hadoop.http.authentication.type": kind}))
    found = [r.status for r in audit.results if r.check == "secure-web-anonymous"]
    assert found == [status]
