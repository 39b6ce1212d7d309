"""The settings of the jobs on an existing cluster."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.support.mock import plan_from
from windtunnel.testbeds.attached.access import ClusterAccess
from windtunnel.testbeds.attached.job_settings import job_settings
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.status import Identity

ADD_OPENS = "mapreduce.jvm.add-opens-as-default"
STUDY = """\
study: toy
cluster: local-1
workloads: {{terasort: {{rows: 1000, input_replication: 1, output_replication: 1}}}}
{more}
"""


class SiteWith:
    """Client configuration with some properties."""

    history_folders = ("/new", "/done")

    def __init__(self, **given: str) -> None:
        self.given = given

    def get(self, name: str, default: str = "") -> str:
        return self.given.get(name, default)


class AccessWith:
    """Options and configuration, without connections."""

    def __init__(self, site: SiteWith, **options: Any) -> None:
        self.site = site
        self.options = AttachedOptions.model_validate({"conf": "conf", **options})


def settings(
    version: str, *, more: str = "", site: SiteWith | None = None, **options: Any
) -> dict[str, str]:
    access = cast(ClusterAccess, AccessWith(site or SiteWith(), **options))
    versions = {"namenode": "3.5.0", "resourcemanager": version}
    identity = Identity("CID-1", versions, "http://nn:1", "http://rm:1")
    cluster = plan_from(STUDY.format(more=more)).base
    return job_settings(cluster, access, identity, "/mine", ["windtunnel", "wt-1", "toy"])


def test_the_history_file_is_written_in_the_form_that_is_read() -> None:
    found = settings("3.5.0")
    assert found["mapreduce.jobhistory.jhist.format"] == "json"
    assert found["mapreduce.job.tags"] == "windtunnel,wt-1,toy"
    assert found["mapreduce.jobhistory.intermediate-done-dir"] == "/new"


@pytest.mark.parametrize(
    ("version", "value"),
    [
        ("3.1.1.7.1.9.0-387", "false"),
        ("3.3.6-amzn-1", "false"),
        ("2.10.2", "false"),
        ("3.4.0", None),
        ("3.10.1", None),
        ("4.0.0", None),
        ("UNKNOWN", None),
    ],
)
def test_a_client_writes_nothing_that_nodemanagers_of_an_older_cluster_do_not_replace(
    version: str, value: str | None
) -> None:
    assert settings(version).get(ADD_OPENS) == value


def test_the_own_client_of_a_cluster_and_given_values_are_kept() -> None:
    assert ADD_OPENS not in settings("3.3.6", hadoop="hadoop")
    assert ADD_OPENS not in settings("3.3.6", edge={"host": "edge"})
    assert ADD_OPENS not in settings("3.3.6", site=SiteWith(**{ADD_OPENS: "true"}))
    assert settings("3.3.6", more=f"set: {{settings.{ADD_OPENS}: true}}")[ADD_OPENS] == "true"
