"""Run all benchmarks in turn: ``make bench`` or ``python -m bench [NAME ...]``.

The figures depend on the machine and on its load, which is printed with them. Compare only figures
of the same run.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
NAMES = sorted(file.stem.removeprefix("bench_") for file in HERE.glob("bench_*.py"))


def main() -> None:
    """Run the benchmarks of the command line, or all."""
    for name in sys.argv[1:] or NAMES:
        print(f"== {name} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)", flush=True)
        sys.argv[1:] = []
        runpy.run_path(str(HERE / f"bench_{name}.py"), run_name="__main__")


main()
