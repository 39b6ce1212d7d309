"""Seconds and peak memory of the report on 1,000 trials with 1 million samples.

Run: ``python bench/bench_report.py [TRIALS] [SAMPLES_PER_TRIAL]``. ``tests/support/synthetic.py``
generates the folder, which is removed afterwards; its generation is not timed. Each format runs in
its own process, imports included, as for a user.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

SERIES = 10
WAYS = {
    "terminal": (),
    "json": ("--json",),
    "csv": ("--csv", "{folder}/report.csv"),
    "parquet": ("--parquet", "{folder}/report.parquet"),
    "html": ("--html", "{folder}/report.html"),
}
"""Options of each format; all except JSON also print the report."""


def measure(folder: Path, options: tuple[str, ...]) -> tuple[float, float, float]:
    """Wall and CPU seconds and the peak memory in MiB of one ``windtunnel report``."""
    words = [option.format(folder=folder) for option in options]
    command = [sys.executable, "-m", "windtunnel", "report", str(folder), *words]
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, use = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: failed")
    return time.perf_counter() - began, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024


def main() -> None:
    """Generate the folder, report it in each format and print one line for each."""
    from tests.support.synthetic import Plan, study_folder

    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    samples = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    with tempfile.TemporaryDirectory() as name:
        plan = Plan(
            trials=trials,
            levels=("stock", "tuned", "larger", "smaller"),
            extra_factors={"workers": ("3", "5", "8")},
            effect=-0.1,
            seconds=samples // SERIES,
            series=SERIES,
            invalid=(7, 70, 700),
        )
        folder = study_folder(Path(name) / "study", plan)
        print(f"{trials} trials, {trials * samples} samples")
        for way, options in WAYS.items():
            wall, cpu, peak = measure(folder, options)
            load = os.getloadavg()[0]
            print(f"{way:9} {wall:6.2f} s   CPU {cpu:5.2f} s   {peak:4.0f} MiB   load {load:.1f}")
        size = (folder / "report.html").stat().st_size / 1e6
        print(f"the page is {size:.2f} MB")


if __name__ == "__main__":
    main()
