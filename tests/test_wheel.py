"""The wheel: the same bytes from the same files, complete, and at work without the checkout."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import windtunnel

ROOT = Path(__file__).parents[1]
PACKAGE = Path(windtunnel.__file__).parent


def build(source: Path, into: Path) -> Path:
    """Build the wheel of a source tree, without network and without the user's settings."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(into)]
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True)
    (wheel,) = into.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel; dependencies are those of this one, by their path.

    A folder that a ``.pth`` file names is not searched for further ``.pth`` files, so the
    editable installation of the checkout is not in effect.
    """
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)],
        check=True,
        capture_output=True,
    )
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    asked = subprocess.run([python, "-c", script], check=True, capture_output=True, text=True)
    dependencies = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(asked.stdout.strip()) / "dependencies.pth").write_text("\n".join(sorted(dependencies)))
    return home


def run(home: Path, folder: Path, *command: str) -> str:
    """Run a command of the environment in ``folder``, with a cache and a state of its own."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment |= {
        "WINDTUNNEL_CACHE": str(folder / "cache"),
        "WINDTUNNEL_STATE": str(folder / "state"),
        "COLUMNS": "120",
    }
    program, *arguments = command
    done = subprocess.run(
        [home / "bin" / program, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_files_give_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    """Elsewhere, with other times and stricter permissions."""
    source = tmp_path / "elsewhere"
    source.mkdir()
    for name in ("pyproject.toml", "LICENSE", ".gitignore"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    shutil.copytree(PACKAGE, source / "windtunnel", copy_function=shutil.copyfile)
    for path in source.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
        path.chmod(0o700 if path.is_dir() else 0o600)

    again = build(source, tmp_path / "dist")
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    files = (path.relative_to(ROOT) for path in PACKAGE.rglob("*") if path.is_file())
    wanted = {str(path) for path in files if path.parent.name != "__pycache__"}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        (licence,) = (n for n in archive.namelist() if n.endswith(".dist-info/licenses/LICENSE"))
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
    assert held == wanted


def test_the_installed_program_works_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    script = "import windtunnel; print(windtunnel.__file__)"
    assert Path(run(installed, tmp_path, "python", "-c", script)).is_relative_to(installed)
    assert windtunnel.__version__ in run(installed, tmp_path, "windtunnel", "version")
    assert "intel-2012" in run(installed, tmp_path, "windtunnel", "catalogue", "list")
    assert "terasort" in run(installed, tmp_path, "windtunnel", "plan", "demo")
    page = ("--html", "report.html")
    printed = run(installed, tmp_path, "windtunnel", "report", "published:intel-2012", *page)
    assert "intel" in printed.lower()
    assert "</html>" in (tmp_path / "report.html").read_text()


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


OF_CEPH = {"cephfs", "rados"}
"""Modules of the operating system's Python, which runs the program that imports them."""


def imported() -> set[str]:
    """Distributions that modules of the package import."""
    distributions = packages_distributions()
    found = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                top = name.split(".")[0]
                if top not in {*sys.stdlib_module_names, *OF_CEPH, "windtunnel"}:
                    found |= {canonical(owner) for owner in distributions[top]}
    return found


def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {canonical(re.split(r"[^\w.-]", one)[0]) for one in project["dependencies"]}
    assert imported() == declared
