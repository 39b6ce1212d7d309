"""Seconds to run ``--help``, ``version`` and ``plan`` of 10,000 treatments.

Run: ``python bench/bench_start.py [TIMES]``. Each command is a process with warm files. CPU is user
plus system time, which other load increases less than the wall time.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STUDY = """\
study: large
cluster: local-3
workloads:
  terasort: {size: 20 MB, input_replication: 1, output_replication: 1}
factors:
  settings.a: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  settings.b: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  settings.c: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  settings.d: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
"""


def measure(words: list[str], folder: Path) -> tuple[float, float]:
    """CPU and wall seconds of one command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    """Run Python alone and each command several times, and print the medians."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    windtunnel = ["-m", "windtunnel"]
    commands = {
        "python": ["-c", "pass"],
        "--help": [*windtunnel, "--help"],
        "version": [*windtunnel, "version"],
        "plan": [*windtunnel, "plan", "study.yaml"],
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "study.yaml").write_text(STUDY)
        for command, words in commands.items():
            measure(words, folder)
            found = [measure(words, folder) for _ in range(times)]
            cpu, wall = (statistics.median(column) for column in zip(*found, strict=True))
            least = min(one for one, _ in found)
            print(f"{command:9} median {cpu:5.2f} s CPU (least {least:.2f}), {wall:5.2f} s wall")


if __name__ == "__main__":
    main()
