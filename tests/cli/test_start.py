"""What commands that only look load: a second of imports is a second that every user waits.

No times are asserted, only which modules are loaded; ``python -m bench start`` has the times.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "altair",
    "asyncio",
    "asyncssh",
    "duckdb",
    "httpx",
    "jinja2",
    "numpy",
    "pandas",
    "pyDOE3",
    "pyarrow",
    "scipy",
    "statsmodels",
    "vl_convert",
}

# One after the other in one process: what a command loads stays, so order matters below.
LIGHT = [
    "--help",
    "version",
    "--version",
    "status",
    "catalogue list",
    "catalogue show study demo",
    "run --help",
    "report --help",
    "compare --help",
    "check factorial-2x2x2",
    "plan factorial-2x2x2",
]

SCRIPT = """
import contextlib, io, json, sys
from windtunnel.cli import run

heavy, commands = json.loads(sys.argv[1])
loaded = {"import": [0, sorted(sys.modules.keys() & heavy)]}
for command in commands:
    with contextlib.redirect_stdout(io.StringIO()):
        code = run(command.split())
    loaded[command] = [code, sorted(sys.modules.keys() & heavy)]
print(json.dumps(loaded))
"""

ONE_FACTOR_AT_A_TIME = """\
study: toy
cluster: local-3
design: one-factor-at-a-time
workloads:
  terasort: {size: 20 MB, input_replication: 1, output_replication: 1}
factors:
  settings.a: [1, 2]
  settings.b: [1, 2]
"""


def loaded(folder: Path, commands: list[str]) -> dict[str, list[object]]:
    """Command -> its exit code and the heavy modules that are loaded after it."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([sorted(HEAVY), commands])],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "WINDTUNNEL_STATE": str(folder / "state"),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, list[object]] = json.loads(done.stdout)
    return found


def test_commands_that_only_look_load_no_numbers_tables_or_charts(tmp_path: Path) -> None:
    expected = {command: [0, []] for command in ["import", *LIGHT]}
    assert loaded(tmp_path, LIGHT) == expected


def test_a_plan_loads_numpy_where_its_design_is_worked_out_with_it(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(ONE_FACTOR_AT_A_TIME)
    assert loaded(tmp_path, ["plan study.yaml"])["plan study.yaml"] == [0, ["numpy"]]


@pytest.mark.parametrize("name", sorted(HEAVY))
def test_the_modules_looked_for_exist(name: str) -> None:
    assert importlib.util.find_spec(name) is not None, (
        "a name that nobody can import proves nothing"
    )


def test_the_shell_can_complete_commands() -> None:
    words = {"COMP_WORDS": "windtunnel re", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "windtunnel"],
        env=os.environ | words | {"_WINDTUNNEL_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["report", "review", "reproduce"]
