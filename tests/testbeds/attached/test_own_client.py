"""Configurations that Windtunnel's own client cannot use as they are."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.cluster_web import write_site
from tests.support.mock import plan_from
from windtunnel.study.check import study_request
from windtunnel.testbeds.attached.access import open_access
from windtunnel.testbeds.attached.options import AttachedOptions
from windtunnel.testbeds.attached.own_client import CODECS, settings_for, undefined
from windtunnel.testbeds.attached.site import Site, read_site

STUDY = """\
study: toy
cluster: local-1
testbed: {{kind: attached, conf: conf}}
set: {{{settings}}}
workloads: {{pi: {{maps: 2, samples_per_map: 10}}}}
"""
GZIP, LZO = "org.apache.hadoop.io.compress.GzipCodec", "com.hadoop.compression.lzo.LzopCodec"
PATH = "mapreduce.application.framework.path"


def site(conf: Path, properties: dict[str, str]) -> Site:
    write_site(conf / "mapred-site.xml", properties)
    return read_site(conf)


def test_codecs_that_are_not_hadoops_are_removed_for_own_jars(conf: Path) -> None:
    assert settings_for(site(conf, {})) == {}
    assert settings_for(site(conf, {CODECS: GZIP})) == {}
    assert settings_for(site(conf, {CODECS: LZO})) == {CODECS: ""}
    assert settings_for(site(conf, {CODECS: f"{GZIP},\n  {LZO}"})) == {CODECS: GZIP}


@pytest.mark.parametrize(
    ("more", "own"), [({}, True), ({"hadoop": "sh"}, False), ({"edge": {"host": "e"}}, False)]
)
def test_the_cluster_s_own_client_gets_no_codecs(
    conf: Path, more: dict[str, Any], own: bool
) -> None:
    write_site(conf / "mapred-site.xml", {CODECS: f"{GZIP},{LZO}"})
    options = AttachedOptions.model_validate({"conf": str(conf), **more})
    jars: dict[str, Any] = {"java": "java", "options": (), "jars": [], "client_lib": conf}
    software: Any = (SimpleNamespace(**jars), None, None)
    access = open_access(options, conf, software)
    command = " ".join(access.client.command("Main", ["in"]))
    access.close()
    assert (f"-D{CODECS}={GZIP} in" in command) is own
    assert (CODECS in command) is own


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        (PATH, "/hdp/apps/${hdp.version}/mapreduce.tar.gz#mr", "${hdp.version}"),
        (PATH, "/apps/${RELEASE}/mapreduce.tar.gz", "${RELEASE}"),
        (PATH, "/apps/${user.name}/mapreduce.tar.gz", ""),
        ("mapreduce.application.classpath", "/usr/hdp/${hdp.version}/lib/*", "${hdp.version}"),
        ("mapreduce.application.classpath", "${HADOOP_MAPRED_HOME}/lib/*", ""),
        ("mapreduce.admin.user.env", "LD_LIBRARY_PATH=/usr/hdp/${hdp.version}", "${hdp.version}"),
        ("yarn.app.mapreduce.am.admin-command-opts", "-Dhdp.version=${hdp.version}", "${hdp.v"),
        ("mapreduce.map.java.opts", "-Dhdp.version=${hdp.version}", ""),
    ],
)
def test_a_variable_that_only_the_cluster_s_client_defines_is_refused(
    conf: Path, name: str, value: str, says: str
) -> None:
    request = study_request(plan_from(STUDY.format(settings="")))
    found = undefined(request, site(conf, {name: value}))
    assert len(found) == (1 if says else 0)
    for text in found:
        assert text.startswith(f"conf: {name} (mapred-site.xml:1): ")
        assert f"does not define {says}" in text and "'hadoop: hadoop'" in text
    assert undefined(request, site(conf, {name: value, "hdp.version": "3", "RELEASE": "1"})) == []


def test_a_setting_of_the_study_replaces_that_of_the_cluster(conf: Path) -> None:
    cluster = site(conf, {PATH: "/hdp/${hdp.version}.tar.gz"})
    request = study_request(plan_from(STUDY.format(settings=f"settings.{PATH}: /mr.tar.gz")))
    assert undefined(request, cluster) == []
    request = study_request(plan_from(STUDY.format(settings=f"settings.{PATH}: '/${{x}}'")))
    assert undefined(request, cluster)[0].startswith(f"settings.{PATH}: ")
