"""The range of versions of a check: outside it is NOT APPLICABLE, unknown is UNKNOWN."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.audited import CLEAN, Files, audited
from windtunnel.audit.check import Check, checks, in_range
from windtunnel.audit.result import Status


@pytest.mark.parametrize(
    ("version", "wanted", "inside"),
    [
        ("3.5.0", ">=3.0", True),
        ("2.10.2", ">=3.0", False),
        ("2.9.1", "<2.10", True),
        ("3.5.0", ">=3.2,<3.5", False),
        ("3.5.0", "==3.5", True),
        ("", ">=3.0", None),
        ("unknown", ">=3.0", None),
    ],
)
def test_versions(version: str, wanted: str, inside: bool | None) -> None:
    assert in_range(version, wanted) is inside


@pytest.mark.parametrize(
    ("least", "wanted", "inside"),
    [
        ("2.0", ">=2.0", True),
        ("2.0", ">1.2", True),
        ("2.0", ">=2.1", None),
        ("2.0", "<3.0", None),
        ("2.0", ">=2.0,<3.0", None),
        ("", ">=2.0", None),
    ],
)
def test_of_an_unknown_version_the_oldest_possible_one_can_decide(
    least: str, wanted: str, inside: bool | None
) -> None:
    assert in_range("", wanted, least) is inside


def test_a_range_that_cannot_be_read_is_refused_with_the_check() -> None:
    entry = checks()[0].model_dump() | {"versions": "3.x"}
    with pytest.raises(ValidationError, match="is no range of versions"):
        Check.model_validate(entry)


OLD_NAMES: Files = {
    "core-site.xml": {"fs.default.name": "hdfs://master:8020"},
    "mapred-site.xml": {"io.sort.mb": "256", "mapred.job.tracker": "master:8021"},
}
YARN = ("containers-node-memory", "job-framework", "secure-containers", "secure-yarn-acls")


def of_version(folder: Path, files: Files, version: str) -> dict[str, set[Status]]:
    found: dict[str, set[Status]] = {}
    for one in audited(folder, files, version=version).results:
        found.setdefault(one.check, set()).add(one.status)
    return found


@pytest.mark.parametrize("version", ["0.20.2", "1.2.1"])
def test_checks_of_yarn_and_of_new_names_do_not_apply_to_hadoop_1(
    version: str, tmp_path: Path
) -> None:
    found = of_version(tmp_path / "conf", OLD_NAMES, version)
    for check in (*YARN, "setting-deprecated", "setting-without-effect", "hdfs-short-circuit"):
        assert found[check] == {Status.NOT_APPLICABLE}, check
    assert found["secure-authentication"] == {Status.FAIL}


def test_the_same_files_on_hadoop_3_fail(tmp_path: Path) -> None:
    found = of_version(tmp_path / "conf", OLD_NAMES, "3.5.0")
    for check in ("setting-deprecated", "setting-without-effect", "secure-containers"):
        assert found[check] == {Status.FAIL}, check


def test_the_same_files_of_an_unknown_version_are_unknown(tmp_path: Path) -> None:
    found = of_version(tmp_path / "conf", OLD_NAMES, "")
    for check in (*YARN, "setting-deprecated", "setting-without-effect"):
        assert found[check] == {Status.UNKNOWN}, check
    # there is no name service, so nothing depends on the version
    assert found["hdfs-high-availability"] == {Status.NOT_APPLICABLE}


def test_names_that_hadoop_2_brought_decide_where_the_version_is_unknown(tmp_path: Path) -> None:
    found = of_version(tmp_path / "conf", CLEAN, "")
    assert found["secure-containers"] == {Status.FAIL}
    assert found["hdfs-short-circuit"] == {Status.UNKNOWN}  # since 2.1
