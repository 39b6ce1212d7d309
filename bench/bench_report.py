"""Seconds and peak memory of the report on 1,000 trials with 1 million samples.

Run: ``python bench/bench_report.py [TRIALS] [SAMPLES_PER_TRIAL]``. The folder is made up by
``tests/support/synthetic.py`` and removed afterwards; making it is not timed. Each way of
reporting runs in a process of its own, imports included, as a user would run it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

SERIES = 10

CHILD = """
import io, json, resource, sys, time
begin = time.perf_counter()
from pathlib import Path
from rich.console import Console
from windtunnel.analysis import analyse
from windtunnel.report import print_report, to_json, write_csv, write_html, write_parquet
from windtunnel.results.folder import read_results
folder, way = Path(sys.argv[1]), sys.argv[2]
results = read_results(folder)
read = time.perf_counter()
analysis = analyse(results)
analysed = time.perf_counter()
if way == "html":
    write_html(analysis, results, folder / "report.html")
elif way == "terminal":
    print_report(analysis, Console(file=io.StringIO(), width=120))
elif way == "json":
    json.dumps(to_json(analysis))
elif way == "csv":
    write_csv(analysis, folder / "report.csv")
elif way == "parquet":
    write_parquet(analysis, folder / "report.parquet")
done = time.perf_counter()
use = resource.getrusage(resource.RUSAGE_SELF)
peak, cpu = use.ru_maxrss / 1024, use.ru_utime + use.ru_stime
print(f"{way:9} {done - begin:6.2f} s   read {read - begin:5.2f}   analyse {analysed - read:5.2f}"
      f"   write {done - analysed:5.2f}   CPU {cpu:5.2f} s   peak {peak:6.0f} MiB")
"""


def main() -> None:
    """Make the folder, run each way of reporting, print one line for each."""
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
        for way in ("terminal", "json", "csv", "parquet", "html"):
            command = [sys.executable, "-c", CHILD, str(folder), way]
            subprocess.run(command, cwd=ROOT, check=True)
        size = (folder / "report.html").stat().st_size / 1e6
        print(f"the page is {size:.2f} MB")


if __name__ == "__main__":
    main()
