"""History files in HDFS: names with percent signs, files and folders that are not readable."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest

from tests.support.history_files import configuration, jhist, job_lines
from tests.support.webserver import Reply, Request, serving
from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.rest import RestClient
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


def test_an_absent_folder_is_an_error() -> None:
    with (
        serving(hdfs) as url,
        RestClient() as client,
        pytest.raises(ClusterAccessError, match="not found"),
    ):
        list(from_hdfs(client, f"{url}{ROOT}/absent", 10))
