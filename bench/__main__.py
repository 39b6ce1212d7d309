"""Run all benchmarks in turn: ``make bench`` or ``python -m bench [NAME [NUMBER] ...]``.

A number after a name is an argument of this benchmark: ``python -m bench ready 10``.

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
    wanted: list[tuple[str, list[str]]] = []
    for word in sys.argv[1:] or NAMES:
        if word.isdigit() and wanted:
            wanted[-1][1].append(word)
        else:
            wanted.append((word, []))
    for name, numbers in wanted:
        print(f"== {name} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)", flush=True)
        sys.argv[1:] = numbers
        runpy.run_path(str(HERE / f"bench_{name}.py"), run_name="__main__")


main()
