"""History files in HDFS: names with percent signs, files and folders that are not readable."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest

from tests.support.history_files import configuration, jhist, job_lines
from tests.support.webserver import Reply, Request, serving
from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.rest import RestClient
from windtunnel.published.history import sources
from windtunnel.published.history.sources import from_hdfs

ROOT = "/webhdfs/v1/done"
NAMED = "job_1792000000000_0003-1-ann-etl%2D7-2-2-1-SUCCEEDED-etl-1.jhist"
GONE, HIDDEN = "job_1792000000000_0001-gone.jhist", "job_1792000000000_0002-hidden.jhist"


def hdfs(request: Request) -> Reply:
    path = unquote(request.path)
    names = {
        ROOT: ["day", "private"],
        f"{ROOT}/day": [GONE, HIDDEN, NAMED, "job_1792000000000_0003_conf.xml"],
    }
    if path in names:
        kind = "DIRECTORY" if path == ROOT else "FILE"
        listed: list[dict[str, Any]] = [
            {"pathSuffix": name, "type": kind, "length": 100} for name in names[path]
        ]
        return Reply({"FileStatuses": {"FileStatus": listed}})
    if path == f"{ROOT}/day/{NAMED}":
        return Reply(jhist(job_lines(3, 0, 20_000)))
    if path.endswith("_conf.xml"):
        return Reply(configuration({"a": "1"}))
    refused = path.endswith((HIDDEN, "private"))
    said = {"RemoteException": {"message": "Permission denied" if refused else "not found"}}
    return Reply(said, 403 if refused else 404)


def test_each_file_has_a_status() -> None:
    with serving(hdfs) as url, RestClient() as client:
        private, gone, hidden, named = from_hdfs(client, url + ROOT, 10)
    assert private.source == "private" and "no access right" in private.text
    assert (gone.source, gone.text) == (GONE, "the file no longer exists")
    assert hidden.job is None and "Permission denied" in hidden.text
    assert named.source == NAMED
    assert named.job is not None and named.job.settings == {"a": "1"}


def by_days(request: Request) -> Reply:
    """Two days with a job of each hour."""
    path = unquote(request.path)
    days = {"01": range(1, 4), "02": range(4, 7)}
    if path == ROOT:
        listed: list[dict[str, Any]] = [{"pathSuffix": day, "type": "DIRECTORY"} for day in days]
    elif path.endswith(".jhist"):
        number = int(path.rpartition("_")[2].removesuffix(".jhist"))
        return Reply(jhist(job_lines(number, 0, 20_000)))
    else:
        listed = [
            {
                "pathSuffix": f"job_1792000000000_{number:04d}.jhist",
                "type": "FILE",
                "length": 100,
                "modificationTime": 1000 * number,
            }
            for number in days[path.rpartition("/")[2]]
        ]
    return Reply({"FileStatuses": {"FileStatus": listed}})


def test_the_newest_files_are_read_up_to_the_limit() -> None:
    with serving(by_days) as url, RestClient() as client:
        *read, rest = from_hdfs(client, url + ROOT, 4)
    ids = [status.job.id for status in read if status.job is not None]
    assert ids == [f"job_1792000000000_{number:04d}" for number in (6, 5, 4, 3)]
    assert (rest.job, rest.text) == (
        None,
        "2 older files; raise --limit, or specify a folder in it",
    )


def test_all_files_are_read_below_the_limit() -> None:
    with serving(by_days) as url, RestClient() as client:
        read = list(from_hdfs(client, url + ROOT, 6))
    assert len(read) == 6 and all(status.job is not None for status in read)


def test_folders_that_are_not_listed_are_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_FILES_OF_A_JOB", 1)
    with serving(by_days) as url, RestClient() as client:
        first, *read = from_hdfs(client, url + ROOT, 3)
    assert first.text.startswith("not listed: 1 folder, first http")
    assert f"{ROOT}/01; raise --limit" in first.text
    assert [status.source for status in read] == [
        f"job_1792000000000_{number:04d}.jhist" for number in (6, 5, 4)
    ]


def test_an_absent_folder_is_an_error() -> None:
    with (
        serving(hdfs) as url,
        RestClient() as client,
        pytest.raises(ClusterAccessError, match="not found"),
    ):
        list(from_hdfs(client, f"{url}{ROOT}/absent", 10))
