"""The documents are correct: commands run, queries return the expected rows, links have a target.

Every line of a ``sh`` block is in :data:`COMMANDS`, which defines how it is tested. A command that
is missing there fails, and so does an entry that no document contains any more.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
import typer.main
from ruamel.yaml import YAML

from tests.support.audited import CLEAN
from tests.support.audited import write as write_configuration
from tests.support.history_files import DAY_MS, spark_lines, write_job
from tests.support.pairs import folder as compared_folder
from tests.support.powered import dcm_csv
from tests.support.synthetic import START, Plan, study_folder
from tools import generate_docs
from windtunnel import cli as command_line
from windtunnel.analysis.analyse import analyse
from windtunnel.audit import collect_facts
from windtunnel.audit.audit import Subject
from windtunnel.audit.audit import run as run_audit
from windtunnel.cli import app
from windtunnel.engines.hadoop.client import COMMANDS as HADOOP_COMMANDS
from windtunnel.published.sources import published_folder
from windtunnel.results.folder import read_results
from windtunnel.results.record import Trial
from windtunnel.study.file import catalogue_text, load_study
from windtunnel.study.plan import make_plan
from windtunnel.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

HERE = "run here"
"""In a folder with ``my-study.yaml`` (the demo's), ``my-results``, ``my-runs``, runs to compare."""
REAL = "starts or needs daemons: tests/real runs similar commands; here it must parse"
PLUGIN = "tests/examples/test_plugin.py does so, in folders of its own"
CALIBRATED = "takes 10 to 20 minutes; tests/cli/test_calibrate.py runs it with mock trials"
SPLITS = "takes a minute; tests/analysis/prediction runs some folds of each split"
SPREADSHEET = "tests/cli/test_predict.py does so with a spreadsheet of its own; it must parse"
PAGES = "writes the pages of all studies; tests/cli/test_reproduce.py does so"
LONG = "the make target must exist; continuous integration runs it"
FRESH = "test_generated_parts_are_fresh runs it without writing"

CLUSTER = "needs a cluster: tests/inspection and tests/published/history do so; it must parse"

COMMANDS: dict[str, str] = {
    "windtunnel inspect /etc/hadoop/conf --output mine.yaml": CLUSTER,
    "windtunnel inspect /etc/hadoop/conf --output my-cluster.yaml": CLUSTER,
    "windtunnel import cloud.csv --map cloud-map.yaml --results cloud": SPREADSHEET,
    "windtunnel fit cloud --sample 8 --out cloud-fit.json": SPREADSHEET,
    "windtunnel predict --for cloud --fit cloud-fit.json": SPREADSHEET,
    "windtunnel run put-get-model --results model-results": REAL,
    "windtunnel report model-results": REAL,
    "windtunnel inspect /etc/hadoop/conf --prometheus http://prometheus.example:9090 --selector 'job=\"hadoop\"' --output mine.yaml": CLUSTER,  # noqa: E501
    "windtunnel inspect /etc/hadoop/conf --ssh --output mine.yaml": CLUSTER,
    "windtunnel audit ssh://worker-1.example ssh://root@worker-2.example --html hosts.html": CLUSTER,  # noqa: E501
    "windtunnel inspect --namenode http://nn.example:9870 --resourcemanager http://rm.example:8088 --output mine.yaml": CLUSTER,  # noqa: E501
    "windtunnel import history https://jh.example:19890 --ca-file ca.pem --results jobs": CLUSTER,
    "windtunnel import history --conf /etc/hadoop/conf --since 2026-03-01 --results jobs": CLUSTER,
    "windtunnel import history http://nn.example:9870/webhdfs/v1/mr-history/done --user ann --results jobs": CLUSTER,  # noqa: E501
    "windtunnel import history ./history-files ./spark-events --results jobs": HERE,
    "windtunnel report jobs": HERE,
    "windtunnel plan jobs/proposed-study.yaml": HERE,
    "make demo": LONG,
    "make test": LONG,
    "make setup": LONG,
    "make unit": LONG,
    "make bench": LONG,
    "python tools/generate_docs.py": FRESH,
    "windtunnel --help": HERE,
    "windtunnel doctor": HERE,
    "windtunnel demo": REAL,
    "windtunnel catalogue list": HERE,
    "windtunnel catalogue show cluster cisco-2014/test12": HERE,
    "windtunnel predict cisco-2014/test9 terasort --set 'workloads.terasort.size=2 TB'": HERE,
    "windtunnel predict cisco-2014/test12 terasort wordcount --json": HERE,
    "windtunnel fit published:cisco-2014 published:vmware-2011 --from-scratch --out fit.json": HERE,
    "windtunnel fit my-runs --out my-fit.json": HERE,
    "windtunnel predict --for my-runs --fit my-fit.json": HERE,
    "windtunnel whatif my-runs --set 'hosts.worker.count=6'": HERE,
    "windtunnel run sizing --results my-predictions": HERE,
    "windtunnel size --workload terasort --within '30 min' --budget '250000 USD' "
    "--chart front.svg": HERE,
    "windtunnel size sizing --within '30 min'": HERE,
    "windtunnel accuracy --chart predicted.svg": SPLITS,
    "windtunnel catalogue workloads": HERE,
    "windtunnel catalogue testbeds": HERE,
    "windtunnel catalogue show study demo > my-study.yaml": HERE,
    "windtunnel catalogue show study demo": HERE,
    "windtunnel catalogue show bundle terasort-tuned": HERE,
    "windtunnel catalogue schema study": HERE,
    "windtunnel catalogue schema cluster": HERE,
    "windtunnel catalogue schema terasort": HERE,
    "windtunnel plan my-study.yaml": HERE,
    "windtunnel plan screening": HERE,
    "windtunnel plan faults": HERE,
    "windtunnel catalogue show study host-faults": HERE,
    "windtunnel plan erasure-coding": HERE,
    "windtunnel plan hdfs-external": HERE,
    "windtunnel plan hdfs-or-cephfs": HERE,
    "windtunnel plan hdfs-or-ozone": HERE,
    "windtunnel plan hdfs-or-s3a": HERE,
    "windtunnel plan cephfs-clients": HERE,
    "windtunnel plan storage-kinds": HERE,
    "windtunnel plan metadata": HERE,
    "windtunnel plan storage-kills": HERE,
    "windtunnel plan storage-decommission": HERE,
    "windtunnel storage-checks hdfs-or-cephfs --level 'local folder'": REAL,
    "windtunnel storage-checks hdfs-or-cephfs --markdown": REAL,
    "windtunnel catalogue show cluster local-3-ha": HERE,
    "windtunnel plan put-get-model --propose": HERE,
    "windtunnel calibrate local": CALIBRATED,
    "windtunnel predict local-3 terasort --this-machine "
    "--fit windtunnel-results/calibration/fit.json": CALIBRATED,
    "windtunnel calibrate attached my-study.yaml --results my-calibration": CALIBRATED,
    "windtunnel predict my-cluster.yaml terasort --fit my-calibration/fit.json"
    " --set 'workloads.terasort.size=1 TB'": CALIBRATED,
    "windtunnel calibrate scaled": REAL,
    "windtunnel calibrate scaled put-get-model": REAL,
    "windtunnel calibrate scaled --json": REAL,
    "windtunnel validate scaled --results validation --html validation.html": REAL,
    "windtunnel validate scaled terasort-model --results validation-terasort": REAL,
    "windtunnel plan my-study.yaml --history my-results": HERE,
    "windtunnel plan my-study.yaml --json > plan.json": HERE,
    "windtunnel run my-study.yaml --results my-results --pilot": REAL,
    "windtunnel check my-study.yaml": HERE,
    "windtunnel run my-study.yaml --dry-run": HERE,
    "windtunnel allow CID-fb083aa4-1fd3-4b3f-a609-764ac189d9cf --queue bench --space '2 TiB'"
    " --containers 40 --until 2099-12-31": HERE,
    "windtunnel allow": HERE,
    "windtunnel allow CID-fb083aa4-1fd3-4b3f-a609-764ac189d9cf --remove": HERE,
    "windtunnel plan my-study.yaml --set hosts.worker.count=2 --set storage.replication=2": HERE,
    "windtunnel run my-study.yaml --results my-results": REAL,
    "windtunnel run my-study.yaml --results my-results --retry-invalid": REAL,
    "windtunnel run formats-scan": REAL,
    "windtunnel run formats-report": REAL,
    "windtunnel run formats-engines": REAL,
    "windtunnel report my-results": HERE,
    "windtunnel report my-results --full": HERE,
    "windtunnel report my-results --markdown > report.md": HERE,
    "windtunnel report my-results --html report.html": HERE,
    "windtunnel report my-results --csv trials.csv": HERE,
    "windtunnel report my-results --parquet trials.parquet": HERE,
    "windtunnel report my-results --json > report.json": HERE,
    'windtunnel report my-results --years 5 --utilisation "60 %" --electricity "0.15 USD/kWh"'
    " --pue 1.5": HERE,
    "windtunnel power": HERE,
    "windtunnel power my-results --csv dcm.csv --map time=timestamp_local --map watts=power_w"
    ' --map group=dcm_group --zone -07:00 --stamp end --hosts 4 --source "Intel DCM"': HERE,
    'python -c "import duckdb; duckdb.sql(\\"SELECT treatment.id, round, verdict.valid'
    " FROM 'my-results/trials/*.json' ORDER BY ALL\\\").show()\"": HERE,
    "windtunnel compare before after": HERE,
    "windtunnel compare before after --html comparison.html": HERE,
    "windtunnel compare before after --json > comparison.json": HERE,
    "windtunnel compare before after --match workload": HERE,
    "windtunnel compare before after --allow machine": HERE,
    "windtunnel compare run-1 run-2 run-3 after --history": HERE,
    "windtunnel compare before after --fail-if-worse": HERE,
    "windtunnel report published:cisco-2014": HERE,
    "windtunnel report published:cisco-2014 --html cisco.html": HERE,
    "windtunnel review published:cisco-2014": HERE,
    "windtunnel review published:vmware-2011 --json > review.json": HERE,
    "windtunnel reproduce intel-2012 --report": HERE,
    "windtunnel reproduce intel-2012 --claim put": HERE,
    "windtunnel reproduce intel-2012 --quick": REAL,
    "windtunnel reproduce intel-2012": REAL,
    "windtunnel reproduce --all --report": PAGES,
    "windtunnel bundle my-results --out my-results.zip": HERE,
    "windtunnel bundle my-results --out public.zip --redact": HERE,
    "windtunnel verify my-results.zip": HERE,
    "windtunnel import runs.csv --map map.yaml --results imported": HERE,
    "windtunnel import measured.csv --map review-map.yaml --results reviewed": HERE,
    "windtunnel review reviewed": HERE,
    "windtunnel import runs.csv --map config=factor --map run=round --map job=phase"
    " --map seconds=metric:elapsed:s --results imported-again": HERE,
    "windtunnel status": HERE,
    "windtunnel audit": HERE,
    "windtunnel audit running": REAL,
    "windtunnel audit my-conf --cluster cisco-2014 --hadoop 3.5": HERE,
    "windtunnel audit my-conf facts.json --html audit.html": HERE,
    "windtunnel audit /etc/hadoop/conf --live --dry-run": REAL,
    "windtunnel audit /etc/hadoop/conf --live": REAL,
    "windtunnel audit collect --script > collect_facts.py": HERE,
    "windtunnel audit collect --out facts.json": HERE,
    "windtunnel audit my-conf --exceptions exceptions.yaml": HERE,
    "windtunnel audit my-conf --json > audit.json": HERE,
    "windtunnel audit my-conf --compare audit.json --sarif audit.sarif": HERE,
    "windtunnel audit my-conf --fail-on critical": HERE,
    "windtunnel audit --openscap --profile standard": HERE,
    "windtunnel audit --probe worker-1 --dry-run": HERE,
    "windtunnel audit --probe worker-1": REAL,
    "windtunnel audit my-conf --cluster cisco-2014 --hadoop 3.5 --advise advice": HERE,
    "windtunnel audit my-conf --advise advice --prove advice-results": REAL,
    "windtunnel audit --balance cisco-2014": HERE,
    "windtunnel audit --balance cisco-2014 --balance cisco-2014-alternate": HERE,
    "python -m pip install ./examples/plugin": PLUGIN,
    "windtunnel version": HERE,
    "windtunnel catalogue workloads small-files": PLUGIN,
    "windtunnel plan examples/plugin/study.yaml": PLUGIN,
    "windtunnel run examples/plugin/study.yaml --results small-files": REAL,
    "windtunnel up": REAL,
    "windtunnel up local-1": REAL,
    "windtunnel up local-3 --set hosts.worker.count=2 --set storage.replication=2": REAL,
    "windtunnel up model-3 --testbed scaled": REAL,
    "windtunnel up my-cluster.yaml --testbed scaled --rate 1/40 --data 1/1000": REAL,
    "windtunnel exec -- hdfs dfs -ls /": REAL,
    "windtunnel open": REAL,
    "windtunnel exec -- hdfs dfsadmin -report": REAL,
    "windtunnel exec -- yarn node -list": REAL,
    "windtunnel exec -- hadoop jar examples pi 2 1000": REAL,
    "windtunnel down": REAL,
    "windtunnel clean": HERE,
    "windtunnel clean --cache": HERE,
}
MAY_END_WITH = {
    "windtunnel doctor": {0, 4},
    "windtunnel plan faults": {0, 4},
    "windtunnel plan hdfs-external": {0, 4},
    "windtunnel audit my-conf --fail-on critical": {14},
    "windtunnel audit --openscap --profile standard": {0, 5},
}


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def shown_commands() -> dict[str, str]:
    """Every command of every ``sh`` block, with the document that shows it."""
    found: dict[str, str] = {}
    for path in DOCUMENTS:
        for block in blocks(path, "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                command = re.sub(r"\s+#\s.*$", "", line).strip()
                if command and not command.startswith("#"):
                    found.setdefault(" ".join(command.split()), str(path.relative_to(ROOT)))
    return found


SHOWN = shown_commands()


def listed(kind: str) -> list[str]:
    return [command for command, who in COMMANDS.items() if who == kind]


def without_phases(trial: Trial) -> Trial:
    """An invalid trial whose cluster did not come up."""
    if trial.verdict.valid:
        return trial
    nothing: dict[str, Any] = {
        "phases": [],
        "before": None,
        "samples_file": None,
        "tasks_file": None,
    }
    return trial.model_copy(update=nothing)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the documents' commands run: a study, synthetic results, the two programs."""
    path = tmp_path_factory.mktemp("reader")
    (path / "my-study.yaml").write_text(catalogue_text("studies", "demo"))
    study_folder(path / "my-results", Plan(trials=8, invalid=(3,), edit=without_phases))
    for place, name in enumerate(("before", "after", "run-1", "run-2", "run-3")):
        plan = Plan(trials=8, seed=place + 2, write_samples=False)
        compared_folder(path / name, plan, later=place * 86400.0)
    dcm_csv(path / "dcm.csv", START, [1000.0] * 200, 10.0)
    shutil.copytree(published_folder("published:cisco-2014"), path / "my-runs")
    for example in ("runs.csv", "map.yaml"):
        shutil.copy(ROOT / "docs/examples" / example, path)
    (path / "history-files").mkdir()
    for day in range(16):
        size = {"mapreduce.task.io.sort.mb": "50" if day > 8 else "100"}
        length = 30_000 + 300 * (day * 7 % 5) + 9_000 * (day > 8)
        write_job(path / "history-files", day, day * DAY_MS, length, size)
    (path / "spark-events").mkdir()
    log = path / "spark-events" / "application_1792000000000_0009"
    log.write_text("\n".join(spark_lines()))
    write_configuration(path / "my-conf", CLEAN)
    (path / "facts.json").write_text(json.dumps(collect_facts.collect()))
    (path / "audit.json").write_text(json.dumps(run_audit(Subject()).plain()))
    guide = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    (path / "exceptions.yaml").write_text(guide.split("```yaml\n")[1].split("```")[0])
    shutil.copytree(ROOT / "docs/examples/review", path, dirs_exist_ok=True)
    programs = path / "programs"
    programs.mkdir()
    for name, words in (("windtunnel", "-m windtunnel"), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        program.chmod(0o755)
    return path


# --- commands -------------------------------------------------------------------------------


def test_every_command_is_accounted_for() -> None:
    unknown = {command: where for command, where in SHOWN.items() if command not in COMMANDS}
    assert not unknown, "say in COMMANDS who runs these"
    assert not COMMANDS.keys() - SHOWN.keys(), "no document shows these any more"


@pytest.mark.parametrize("command", listed(HERE))
def test_a_command_does_what_the_document_says(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    env = {
        "WINDTUNNEL_ALLOWED": str(folder / "allowed.json"),
        "PATH": f"{folder / 'programs'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "WINDTUNNEL_STATE": str(folder / "state"),
        "WINDTUNNEL_CACHE": str(folder / "cache"),
        "NO_COLOR": "1",
    }
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    if command.startswith("windtunnel ") and not re.search(r"[|<>&$;]", command):
        code = command_line.run(shlex.split(command)[1:])  # saves the start of an interpreter
        output = "".join(capsys.readouterr())
    else:
        done = subprocess.run(
            ["/bin/sh", "-c", command], capture_output=True, text=True, timeout=120, check=False
        )
        code, output = done.returncode, done.stdout + done.stderr
    assert code in MAY_END_WITH.get(command, {0}), output
    written = re.search(r"(?:>|--html|--csv|--parquet|--chart) (\S+)$", command)
    assert written is None or (folder / written[1]).stat().st_size > 0


@pytest.mark.parametrize(
    "command",
    [c for kind in (REAL, CLUSTER, SPLITS, SPREADSHEET, PAGES, CALIBRATED) for c in listed(kind)],
)
def test_a_command_for_a_real_cluster_parses(command: str) -> None:
    words = shlex.split(command)[1:]
    group: Any = typer.main.get_command(app)
    context = group.make_context("windtunnel", list(words))
    name, sub, rest = group.resolve_command(context, words)
    if name == "exec":
        asked = rest[rest.index("--") + 1 :]
        assert tuple(asked[:2]) in HADOOP_COMMANDS
    sub.make_context(name, list(rest), parent=context)  # raises for an unknown option
    assert ends_with_help(name) == 0


@cache
def ends_with_help(name: str) -> int:
    """The exit code of the help of a command."""
    return command_line.run([name, "--help"])


@pytest.mark.parametrize("command", listed(LONG))
def test_a_make_target_exists(command: str) -> None:
    target = command.split()[1]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", makefile, re.M)


# --- examples -------------------------------------------------------------------------------


def test_the_queries_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    queries = blocks(ROOT / "docs/results-folder.md", "sql")
    assert len(queries) == 3
    by_treatment, samples, slowest = (duckdb.execute(query).fetchall() for query in queries)

    analysis = analyse(read_results(folder / "my-results"))
    cells = [analysis.cell(name, "terasort", "total", "elapsed") for name in ("stock", "tuned")]
    expected = [(c.treatment, c.n, c.mean, c.sd) for c in cells if c is not None]
    assert [row[:2] for row in by_treatment] == [row[:2] for row in expected]
    for got, wanted in zip(by_treatment, expected, strict=True):
        assert got[2:] == pytest.approx(wanted[2:])
    assert {row[1] for row in samples} == {"cpu_user", "cpu_iowait", "disk_write"}
    assert len(slowest) == 10


@pytest.mark.parametrize("name", ["first-study.md", "study-file.md", "designs.md"])
def test_the_yaml_examples_make_a_plan(name: str, tmp_path: Path) -> None:
    yaml = YAML(typ="safe", pure=True)
    for block in blocks(ROOT / "docs" / name, "yaml"):
        study = yaml.load(catalogue_text("studies", "demo"))
        study.pop("baseline")
        study |= yaml.load(block)
        file = tmp_path / "study.yaml"
        with file.open("w") as output:
            yaml.dump(study, output)
        plan = make_plan(*load_study(file))
        assert set(plan.factors) == set(study["factors"])


# --- content --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", generate_docs.documents(), ids=lambda path: path.name)
def test_generated_parts_are_fresh(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert generate_docs.fresh(text) == text, "run: python tools/generate_docs.py"


def test_every_generated_part_stands_in_a_document() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in generate_docs.documents())
    assert set(re.findall(r"<!-- generated: ([^>]+) -->", text)) == {
        *generate_docs.PARTS,
        *(f"workload {name}" for name in WORKLOADS),
    }


def test_every_warning_is_explained() -> None:
    code = "".join(p.read_text() for p in (ROOT / "windtunnel/analysis/rules").glob("*.py"))
    text = (ROOT / "docs/statistics.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z-]+)` \|", text, re.M)) == set(
        re.findall(r'id="(.+?)"', code)
    )


def anchors(path: Path) -> set[str]:
    """The anchors that headings give."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    heads = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken


def test_the_index_has_every_guide() -> None:
    folder = ROOT / "docs"
    text = (folder / "README.md").read_text(encoding="utf-8")
    linked = {target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)}
    guides = {path.name for path in folder.glob("*.md")} - {"README.md"}
    guides |= {f"workloads/{path.name}" for path in (folder / "workloads").glob("*.md")}
    assert guides <= linked


def test_the_files_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:windtunnel|docs|tests|tools)/[^`]*)`", text)
    assert len(named) > 30
    assert [path for path in named if not any(ROOT.glob(path.replace("NAME", "*")))] == []


# a property of Java, and the name of an example
HOSTS_NAMED = {"keepachangelog.com", "semver.org", "jdk.net", "s3.example.org"}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_hosts_and_no_paths_of_a_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    hosts = set(re.findall(r"\b(?:[a-z0-9-]+\.)+(?:com|org|net|dev|cloud)\b", text))
    assert hosts <= HOSTS_NAMED
    assert not re.findall(r"(?<![\w.}~/*-])/(?:root|home|Users|tmp|work|mnt|opt|var)\b", text)


def test_decisions_are_short_and_numbered_without_gaps() -> None:
    files = sorted((ROOT / "docs/decisions").glob("*.md"))
    assert [int(file.name[:4]) for file in files] == list(range(1, len(files) + 1))
    assert all(len(file.read_text().splitlines()) < 25 for file in files)
