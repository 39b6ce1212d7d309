"""Hadoop's contract tests for file systems, run on CephFS within a running cluster."""

from __future__ import annotations

import subprocess
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tools.build_loopback import needed_javac
from windtunnel.engines.artifacts import ensure
from windtunnel.errors import TrialInvalidError
from windtunnel.testbeds.local import LocalDeployment

HERE = Path(__file__).parent
LIMIT_S = 240
LAUNCHER = "org.junit.platform.console.ConsoleLauncher"


@dataclass
class Outcome:
    """Numbers of tests by class, failures with their messages, and skipped tests."""

    passed: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def unexplained(self) -> list[tuple[str, str]]:
        """Skipped tests that exclusions.toml does not name."""
        reasons = tomllib.loads((HERE / "exclusions.toml").read_text())
        return [
            (kind, test)
            for kind, test in self.skipped
            if not {test, "*"} & reasons.get(kind, {}).keys()
        ]


def run(cluster: LocalDeployment, work: Path) -> Outcome:
    """Compile the tests and run all of them on the client host of a cluster with CephFS."""
    jars = ensure(HERE / "contract-3.5.lock.toml", "contract-3.5")
    classes, reports = work / "classes", cluster.client.root / "contract-reports"
    path = [*cluster.software.jars, f"{jars.lib}/*"]
    sources = [str(source) for source in (HERE / "java").rglob("*.java")]
    javac = [needed_javac(), "-nowarn", "-d", str(classes), "-cp", ":".join(path), *sources]
    subprocess.run(javac, check=True, timeout=LIMIT_S)
    argv = cluster.software.command(
        LAUNCHER,
        "execute",
        f"--scan-classpath={classes}",
        "--include-classname=.*Contract.*Test",
        f"--reports-dir={reports}",
        "--details=none",
        heap_mb=512,
        hosts_file=cluster.hosts_file,
        classpath=[classes, HERE / "resources", cluster.daemons.client_conf, f"{jars.lib}/*"],
        binding=cluster.layout.binding(cluster.client.address),
    )
    deadline_s = time.monotonic() + LIMIT_S
    try:
        cluster.run_on_client("contract", argv, deadline_s=deadline_s, reads=[classes, HERE])
    except TrialInvalidError:
        if not reports.is_dir():  # else the reports name the failures
            raise
    return _outcome(reports)


def _outcome(reports: Path) -> Outcome:
    found = Outcome()
    for report in reports.glob("*.xml"):
        for case in ElementTree.parse(report).iter("testcase"):
            kind, test = case.get("classname", "").rpartition(".")[2], case.get("name", "")
            bad = [child for child in case if child.tag in ("failure", "error")]
            if bad:
                found.failed.append(f"{kind}.{test}: {bad[0].get('message')}")
            elif case.find("skipped") is not None:
                found.skipped.append((kind, test))
            else:
                found.passed[kind] += 1
    return found
