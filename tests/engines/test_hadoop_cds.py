"""The archive of classes: what it is created from, and when it is created again."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from windtunnel.engines.hadoop.cds import ClientClasses, class_list, make_archive, with_client
from windtunnel.engines.hadoop.software import Software

JAVA = """\
#!/bin/sh
for word in "$@"; do
  case "$word" in
    -XX:SharedClassListFile=*) list=${word#*=} ;;
    -XX:SharedArchiveFile=*) archive=${word#*=} ;;
  esac
  last=$word
done
echo run >> "$(dirname "$0")/runs"
{ echo "$last"; cat "$list"; } > "$archive"
"""


@pytest.fixture
def software(tmp_path: Path) -> Software:
    """Software whose Java writes its class path and the list of classes into the archive."""
    java = tmp_path / "java"
    java.write_text(JAVA)
    java.chmod(0o755)
    lib = tmp_path / "hadoop" / "lib"
    lib.mkdir(parents=True)
    return Software(java, "17.0.1", lib, lib, "3.5.0", class_archive=tmp_path / "classes.jsa")


def runs(software: Software) -> int:
    return len((software.java.parent / "runs").read_text().splitlines())


def test_the_archive_has_the_client_after_hadoop(software: Software, tmp_path: Path) -> None:
    client = ClientClasses([tmp_path / "sdk.jar"], gzip.compress(b"sdk/Client\n"))
    archive = with_client(software, client).class_archive

    assert archive is not None
    class_path, *classes = archive.read_text().splitlines()
    assert class_path == f"{software.lib}/*:{tmp_path / 'sdk.jar'}"
    hadoop = gzip.decompress(class_list("windtunnel.engines.hadoop", "hadoop")).decode()
    assert classes == [*hadoop.splitlines(), "sdk/Client"]
    assert archive.parent == software.lib.parent


def test_it_is_created_once_for_each_client(software: Software, tmp_path: Path) -> None:
    one = ClientClasses([tmp_path / "one.jar"], gzip.compress(b"one/Client\n"))
    other = replace(one, jars=[tmp_path / "other.jar"])

    first = with_client(software, one).class_archive
    assert with_client(software, one).class_archive == first
    assert with_client(software, other).class_archive != first
    assert runs(software) == 2


def test_without_a_client_or_an_archive_nothing_changes(software: Software) -> None:
    assert with_client(software, None) == software
    none = replace(software, class_archive=None)
    assert with_client(none, ClientClasses([], b"")) == none
    assert not (software.java.parent / "runs").exists()


def test_a_runtime_that_cannot_create_one_is_asked_once(software: Software) -> None:
    software.java.write_text('#!/bin/sh\necho run >> "$(dirname "$0")/runs"\necho no; exit 1\n')
    for _ in range(2):
        assert make_archive(software.java, "17", [software.lib], gzip.compress(b""), ()) is None
    assert runs(software) == 1
    (reason,) = software.lib.parent.glob("*.refused")
    assert reason.read_text() == "no\n"


@pytest.mark.parametrize(
    ("package", "name", "expected"),
    [
        ("ceph", "s3a", "org/apache/hadoop/fs/s3a/S3AFileSystem"),
        ("ozone", "ozone-client", "org/apache/hadoop/fs/ozone/RootedOzoneFileSystem"),
    ],
)
def test_the_lists_of_clients_have_no_class_of_hadoop(
    package: str, name: str, expected: str
) -> None:
    listed = gzip.decompress(class_list(f"windtunnel.engines.{package}", name)).decode()
    lines = listed.splitlines()
    hadoop = gzip.decompress(class_list("windtunnel.engines.hadoop", "hadoop")).decode()
    assert expected in lines
    assert len(set(lines)) == len(lines) > 1000
    assert not {*lines} & {*hadoop.splitlines()}


def test_without_an_archive_of_the_client_hadoops_stays_in_use(software: Software) -> None:
    software.java.write_text("#!/bin/sh\nexit 1\n")
    client = ClientClasses([], gzip.compress(b"sdk/Client\n"))
    assert with_client(software, client) == software
