"""The layers: imports point one way, from the command line down to the errors.

See docs/decisions/0001-layers.md. A package may import any layer below its own and
nothing beside or above it. Imports inside functions count as much as those at the top.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import windtunnel

PACKAGE = Path(windtunnel.__file__).parent

LAYERS = (
    {"errors", "catalogue"},
    {"plugins"},
    {"cluster", "durable"},
    {"hosts", "results"},
    {"engines", "probes", "model", "audit", "inspection"},
    {"analysis", "workloads", "testbeds"},
    {"report", "study", "published"},
    {"bundle"},
    {"cli", "__main__"},
)
LEVEL = {unit: level for level, units in enumerate(LAYERS) for unit in units}

# the way in: `python -m windtunnel` starts the command line
ALLOWED_BESIDE = {("__main__", "cli")}


# the folders of the analysis have an order of their own, and so have the modules beside them
ANALYSIS_LAYERS = (
    {
        "core_speed",
        "formatting",
        "observations",
        "parquet_files",
        "predicted_error",
        "recorded",
        "statistics",
        "treatment_cluster",
    },
    {"effects"},
    {"bottleneck"},
    {"cost", "scaling", "subjects"},
    {"compare", "prediction", "rules"},
)


parsed = cache(ast.parse)


def imported_modules(source: str, module: str, is_package: bool) -> list[tuple[int, str]]:
    """Line and full name of everything that ``module`` imports, relative names resolved."""
    found = []
    for node in ast.walk(parsed(source)):
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


@cache
def import_graph() -> Mapping[str, frozenset[str]]:
    """Module -> the modules of the package that it imports, at the top, in functions, for types."""
    files = dict(modules())
    graph = {}
    for module, file in files.items():
        names = imported_modules(file.read_text(encoding="utf-8"), module, file.stem == "__init__")
        known = {name if name in files else name.rpartition(".")[0] for _, name in names}
        graph[module] = frozenset(known & files.keys() - {module})
    return graph


def circles(graph: Mapping[str, frozenset[str]]) -> list[set[str]]:
    """The strongly connected components of more than one module.

    The sorter names one cycle at a time: its modules are contracted to one until none is left.
    """
    part_of = {module: module for module in graph}
    while True:
        contracted: dict[str, set[str]] = {part: set() for part in part_of.values()}
        for module, imported in graph.items():
            contracted[part_of[module]] |= {part_of[name] for name in imported}
        for part, imported_parts in contracted.items():
            imported_parts.discard(part)
        try:
            TopologicalSorter(contracted).prepare()
        except CycleError as error:
            cycle = set(error.args[1])
            part_of = {m: min(cycle) if part in cycle else part for m, part in part_of.items()}
        else:
            parts = set(part_of.values())
            members = [{m for m in graph if part_of[m] == part} for part in sorted(parts)]
            return [found for found in members if len(found) > 1]


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles(import_graph()) == []


def test_two_circles_and_what_joins_them_are_found() -> None:
    graph = {
        "a": frozenset({"b"}),
        "b": frozenset({"c", "d"}),
        "c": frozenset({"a"}),
        "d": frozenset({"b", "e"}),
        "e": frozenset({"f"}),
        "f": frozenset({"e"}),
        "g": frozenset({"a", "f"}),
    }
    assert circles(graph) == [{"a", "b", "c", "d"}, {"e", "f"}]
    assert circles({"a": frozenset({"b"}), "b": frozenset()}) == []


def test_the_folders_of_the_analysis_import_downwards() -> None:
    level = {name: level for level, names in enumerate(ANALYSIS_LAYERS) for name in names}
    prefix = "windtunnel.analysis."

    def unit(module: str) -> str | None:
        name = module.removeprefix(prefix).split(".")[0]
        return name if module.startswith(prefix) and name in level else None

    against = [
        f"{module} imports {name}"
        for module, imported in import_graph().items()
        for name in imported
        if (here := unit(module)) and (there := unit(name)) and here != there
        if level[there] > level[here]
        or (level[there] == level[here] and not {here, there} <= ANALYSIS_LAYERS[0])
    ]
    assert against == []


def test_every_folder_of_the_analysis_has_a_layer() -> None:
    folders = {file.parent.name for file in (PACKAGE / "analysis").glob("*/__init__.py")}
    assert folders <= set().union(*ANALYSIS_LAYERS), "give the new folder a place"


@pytest.mark.parametrize(
    ("module", "source", "culprit"),
    [
        ("windtunnel.cluster.hosts", "from windtunnel.study import plan", "study"),
        ("windtunnel.cluster.hosts", "import windtunnel.report.html", "report"),
        ("windtunnel.engines.java", "from windtunnel import testbeds", "testbeds"),
        ("windtunnel.analysis.observations", "from ..workloads import base", "workloads"),
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


def test_nobody_outside_its_folder_names_the_testbed_of_scale_models() -> None:
    """What a testbed knows stays in it: no import of its package, no string with its name."""
    registry = PACKAGE / "testbeds" / "__init__.py"
    inside = PACKAGE / "testbeds" / "scaled"
    problems = []
    for module, file in modules():
        if file == registry or inside in file.parents:
            continue
        source = file.read_text(encoding="utf-8")
        problems += [
            f"{module}:{line} imports {name}"
            for line, name in imported_modules(source, module, file.name == "__init__.py")
            if name.startswith("windtunnel.testbeds.scaled")
        ]
        problems += [
            f"{module}:{node.lineno} names it"
            for node in ast.walk(parsed(source))
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.search(r"\bscaled\b", node.value)
        ]
    assert problems == []
