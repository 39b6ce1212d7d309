"""The layers: imports point one way, from the command line down to the errors.

See docs/decisions/0001-layers.md. A package may import any layer below its own and
nothing beside or above it. Imports inside functions count as much as those at the top.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import windtunnel

PACKAGE = Path(windtunnel.__file__).parent

LAYERS = (
    {"errors", "catalogue"},
    {"cluster"},
    {"hosts", "results"},
    {"engines", "probes", "model", "audit"},
    {"analysis", "workloads", "testbeds"},
    {"report", "study", "published"},
    {"cli", "__main__"},
)
LEVEL = {unit: level for level, units in enumerate(LAYERS) for unit in units}

# the way in: `python -m windtunnel` starts the command line
ALLOWED_BESIDE = {("__main__", "cli")}


def imported_modules(source: str, module: str, is_package: bool) -> list[tuple[int, str]]:
    """Line and full name of everything that ``module`` imports, relative names resolved."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = module.split(".")
                keep = len(here) - node.level + (1 if is_package else 0)
                base = ".".join([*here[:keep], *([base] if base else [])])
            found += [(node.lineno, f"{base}.{alias.name}") for alias in node.names]
    return found


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """What in ``source`` imports against the order, one sentence each."""
    unit = module.split(".")[1]
    problems = []
    for line, name in imported_modules(source, module, is_package):
        parts = name.split(".")
        if parts[0] != "windtunnel" or len(parts) < 2:
            continue
        target = parts[1]
        if target == unit or target not in LEVEL or (unit, target) in ALLOWED_BESIDE:
            continue  # names of the root package itself, such as __version__, are free
        if LEVEL[target] >= LEVEL[unit]:
            where = "beside" if LEVEL[target] == LEVEL[unit] else "above"
            problems.append(f"{module}:{line} imports {target}, which is {where} {unit}")
    return problems


def modules() -> list[tuple[str, Path]]:
    """Full name and file of every module of the package, the root excepted."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = ["windtunnel", *file.relative_to(PACKAGE).with_suffix("").parts]
        name = ".".join(parts).removesuffix(".__init__")
        if name != "windtunnel":
            found.append((name, file))
    return found


@pytest.mark.parametrize(("module", "file"), modules(), ids=[name for name, _ in modules()])
def test_imports_point_one_way(module: str, file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    assert violations(source, module, file.name == "__init__.py") == []


def test_every_package_has_a_layer() -> None:
    units = {name.split(".")[1] for name, _ in modules()}
    assert units <= LEVEL.keys(), "give the new package a layer in LAYERS"


def test_the_root_package_imports_nothing_of_ours() -> None:
    source = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    names = [name for _, name in imported_modules(source, "windtunnel", is_package=True)]
    assert [name for name in names if name.startswith("windtunnel")] == []


@pytest.mark.parametrize(
    ("module", "source", "culprit"),
    [
        ("windtunnel.cluster.hosts", "from windtunnel.study import plan", "study"),
        ("windtunnel.cluster.hosts", "import windtunnel.report.html", "report"),
        ("windtunnel.engines.java", "from windtunnel import testbeds", "testbeds"),
        ("windtunnel.analysis.stats", "from ..workloads import base", "workloads"),
        ("windtunnel.engines.java", "def f():\n    from windtunnel.probes import jmx", "probes"),
        ("windtunnel.errors", "import windtunnel.cluster", "cluster"),
        ("windtunnel.report.html", "from windtunnel.cli import main", "cli"),
    ],
)
def test_a_violation_is_caught(module: str, source: str, culprit: str) -> None:
    problems = violations(source, module)
    assert len(problems) == 1
    assert f"imports {culprit}" in problems[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("windtunnel.study.runner", "from windtunnel.engines.java import find_java"),
        (
            "windtunnel.cluster.hosts",
            "from . import units\nfrom windtunnel.errors import UsageError",
        ),
        ("windtunnel.results.record", "from windtunnel import __version__\nimport json"),
        ("windtunnel.__main__", "from windtunnel.cli import main"),
    ],
)
def test_what_is_allowed_passes(module: str, source: str) -> None:
    assert violations(source, module) == []


def test_a_relative_import_in_a_package_file_is_resolved() -> None:
    source = "from ..report import html"
    assert len(violations(source, "windtunnel.cluster", is_package=True)) == 1
    assert violations(source, "windtunnel.cluster.parts", is_package=True) == []
