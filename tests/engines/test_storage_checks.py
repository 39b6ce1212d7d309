"""What storage promises: the list of behaviours, the program for mounts, and the answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hosts import host
from windtunnel.cli.storage_checks import markdown_lines, text_lines, to_json
from windtunnel.engines.ceph import mounted
from windtunnel.engines.hadoop import software
from windtunnel.engines.storage_checks import posix_program
from windtunnel.engines.storage_checks.behaviours import BEHAVIOURS
from windtunnel.engines.storage_checks.run import Answer, Column, parse
from windtunnel.errors import DeploymentError, SetupError

JAVA = Path(software.__file__).parent / "java/io/windtunnel/storage"
WITHOUT_CALL = {"checksum", "concat", "block-locations"}


def answers(folder: Path) -> dict[str, Answer]:
    argv = [sys.executable, "-I", posix_program.__file__, str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
    return parse(done.stdout)


def printed(**words: str) -> str:
    rows = dict.fromkeys(BEHAVIOURS, "yes") | words
    lines = [json.dumps({"check": k, "answer": v, "note": ""}) for k, v in rows.items()]
    return "\n".join(["WARN of a JVM", *lines])


def test_both_programs_have_the_same_behaviours() -> None:
    text = "".join(path.read_text() for path in sorted(JAVA.glob("*Checks.java")))
    java = re.findall(r'checks\.put\("([a-z-]+)"', text)
    assert sorted(java) == sorted(BEHAVIOURS)
    assert list(posix_program.CHECKS) != [] and {*posix_program.CHECKS} == {*BEHAVIOURS}
    assert len(BEHAVIOURS) > 45


@pytest.mark.skipif(sys.platform != "linux", reason="the program uses calls of Linux")
def test_a_local_file_system_behaves_as_posix_states(tmp_path: Path) -> None:
    found = answers(tmp_path / "checks")
    # some file systems of containers have no access lists
    different = {name for name, answer in found.items() if answer.word != "yes"}
    assert WITHOUT_CALL | {"snapshot"} <= different
    assert different <= WITHOUT_CALL | {"snapshot", "access-lists", "extended-attributes"}
    assert not (tmp_path / "checks").exists()


@pytest.mark.parametrize(
    ("call", "check"),
    [
        ("truncate", "extend-by-truncate"),
        ("pread", "random-read"),
        ("statvfs", "free-space"),
    ],
)
def test_a_file_system_that_lacks_a_call_is_noticed(
    call: str, check: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(OSError, match="not supported"):
        posix_program.CHECKS[check](tmp_path)


def test_wrong_content_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posix_program, "elsewhere", lambda *_: "something else")
    for check in ("rename-file", "append", "random-overwrite", "two-writers", "lock"):
        (folder := tmp_path / check).mkdir()
        assert posix_program.CHECKS[check](folder)[0] == "no"


def test_answers_are_read_among_other_lines() -> None:
    found = parse(printed(append="no"))
    assert list(found) == list(BEHAVIOURS)
    assert found["append"] == Answer("no")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param(printed(append="perhaps"), id="unknown answer"),
        pytest.param(printed(unheard="yes"), id="unknown behaviour"),
        pytest.param(printed().rpartition("\n")[0], id="last one missing"),
    ],
)
def test_incomplete_answers_are_refused(text: str) -> None:
    with pytest.raises(DeploymentError, match="storage checks"):
        parse(text)


def test_the_table_has_every_answer_and_every_observation() -> None:
    columns = [
        Column("HDFS", "Hadoop", parse(printed(append="no"))),
        Column("HDFS", "mounted", missing="Windtunnel has no mount of hdfs"),
    ]
    lines = list(markdown_lines(columns))
    assert lines[0] == "| behaviour | HDFS (Hadoop) |"
    assert "| append | **no** |" in lines
    assert "- HDFS (mounted): not tested: Windtunnel has no mount of hdfs" in lines
    text = "\n".join(text_lines(columns))
    assert f"{len(BEHAVIOURS) - 1} yes, 0 differs, 1 no" in text
    assert to_json(columns)["columns"][1]["missing"]


def test_a_mount_of_cephfs_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SetupError, match="root"):
        mounted.check()


def test_the_mounts_end_with_their_caller(tmp_path: Path) -> None:
    words = mounted.command(host("a", "127.0.0.1", tmp_path).root / "c", tmp_path, ["program"])
    assert words[:3] == ["setpriv", "--pdeathsig", "KILL"]
    assert "--kill-child=KILL" in words
    assert f"program {tmp_path}/mount-1/checks {tmp_path}/mount-2/checks" in words[-1]
