"""Settings of a study that final values of the cluster's configuration replace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cluster_web import write_site
from tests.support.mock import plan_from
from windtunnel.errors import NotRealisableError
from windtunnel.study.check import check_plan
from windtunnel.study.plan import make_workload
from windtunnel.testbeds.attached.testbed import AttachedTestbed

BUFFER = "mapreduce.task.io.sort.mb"
MASTER = "yarn.app.mapreduce.am.resource.mb"
SORT = "terasort: {rows: 1000, input_replication: 1, output_replication: 1, reduces: 4}"
STUDY = """\
study: toy
cluster: local-1
testbed: {{kind: attached, conf: {conf}}}
workloads: {{{workload}}}
{more}
protocol: {{rounds: 2}}
"""
FACTOR = "factors: {{f: {{a: {{}}, b: {{settings.{name}: {value}}}}}}}\nbaseline: {{f: a}}"


def check(conf: Path, more: str = "", workload: str = SORT) -> None:
    plan = plan_from(STUDY.format(conf=conf, workload=workload, more=more))
    check_plan(plan, AttachedTestbed(Path("logs"), lambda text: None, plan.testbed_options))


def refused(conf: Path, more: str = "", workload: str = SORT) -> str:
    with pytest.raises(NotRealisableError) as caught:
        check(conf, more, workload)
    return caught.value.message


def test_a_factor_on_a_final_setting_of_jobs_is_refused(conf: Path) -> None:
    factor = FACTOR.format(name=BUFFER, value=512)
    write_site(conf / "mapred-site.xml", {BUFFER: "256"})
    check(conf, factor)
    write_site(conf / "mapred-site.xml", {BUFFER: "256"}, final=True)
    check(conf)
    check(conf, FACTOR.format(name=BUFFER, value=256))
    says = refused(conf, factor)
    assert f"settings.{BUFFER}: 512 does not apply in tasks" in says
    assert f"{BUFFER} is final in mapred-site.xml:1, with the value 256" in says
    assert "remove it from the study, or let the administrator of the cluster remove" in says


def test_old_names_are_those_of_the_same_setting(conf: Path) -> None:
    old, new = "mapred.compress.map.output", "mapreduce.map.output.compress"
    write_site(conf / "mapred-site.xml", {old: "true"}, final=True)
    for name in (old, new):
        says = refused(conf, f"set: {{settings.{name}: false}}")
        assert f"settings.{name}: false does not apply" in says
        assert f"{new} is final in mapred-site.xml:1, with the value true" in says


def test_a_setting_that_only_the_client_reads_applies(conf: Path) -> None:
    final = {
        "mapreduce.job.queuename": "other",
        MASTER: "1536",
        "mapreduce.terasort.output.replication": "2",
    }
    write_site(conf / "mapred-site.xml", final, final=True)
    for name, value in (("mapreduce.job.queuename", "default"), (MASTER, 4096)):
        check(conf, f"set: {{settings.{name}: {value}}}")


@pytest.mark.parametrize(
    ("name", "value", "workload"),
    [
        ("dfs.replication", "3", SORT),
        ("dfs.replication", "1", SORT.replace("output_replication: 1", "output_replication: 2")),
        ("mapreduce.job.reduces", "2", SORT),
        ("mapreduce.output.fileoutputformat.compress", "true", SORT),
        ("dfs.replication", "3", "teragen: {rows: 1000, replication: 1}"),
        ("dfs.replication", "3", "dfsio: {files: 1, file_size: 1 MB, replication: 1}"),
        ("mapreduce.job.reduces", "2", "wordcount: {size: 1 MB, replication: 1}"),
    ],
)
def test_settings_that_workloads_need_are_not_final(
    conf: Path, name: str, value: str, workload: str
) -> None:
    write_site(conf / "hdfs-site.xml", {name: value}, final=True)
    says = refused(conf, workload=workload)
    assert f"workloads.{workload.partition(':')[0]}: its jobs need {name} = " in says
    assert f"is final in hdfs-site.xml:1, with the value {value}" in says


def test_a_mix_needs_the_settings_of_its_parts() -> None:
    part = {"workload": "teragen", "parameters": {"rows": 10, "replication": 2}, "weight": 3}
    pi = {"workload": "pi", "parameters": {"maps": 1, "samples_per_map": 10}}
    mix = make_workload("mix", {"parts": {"a": part, "b": pi}})
    assert ("dfs.replication", "2") in list(mix.job_settings())
    assert (mix.replication(), mix.clients()) == (2, 4)


@pytest.mark.parametrize(
    ("name", "enough"),
    [("mapreduce.job.running.map.limit", 15), ("mapreduce.job.running.reduce.limit", 1)],
)
def test_final_limits_of_tasks_must_not_permit_more(conf: Path, name: str, enough: int) -> None:
    """With 20 containers, TeraSort has 4 reduces and 15 maps at a time, other jobs 1 and 18."""
    for value, says in ((str(enough), ""), (str(enough + 1), "is final"), ("0", "is final")):
        write_site(conf / "mapred-site.xml", {name: value}, final=True)
        if says:
            assert f"testbed.containers: the study limits its jobs by {name} = " in refused(conf)
        else:
            check(conf)


def test_files_of_jobs_stay_in_the_folder_of_the_study(conf: Path) -> None:
    write_site(conf / "mapred-site.xml", {"yarn.app.mapreduce.am.staging-dir": "/u"}, final=True)
    assert "files of jobs would be outside the folder of the study" in refused(conf)
