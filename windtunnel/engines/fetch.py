"""Fetch the jars of an engine before its first use; ``make setup`` runs this program.

``python -m windtunnel.engines.fetch hadoop-3.4``; without a name it fetches Hadoop 3.5.
"""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from windtunnel.engines.artifacts import ensure_shipped
from windtunnel.engines.progress import progress_for
from windtunnel.errors import WindtunnelError

DEFAULT = "hadoop-3.5"


def main(arguments: list[str] | None = None) -> int:
    """Fetch the jars, print their folder, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m windtunnel.engines.fetch", description="Fetch the jars of an engine."
    )
    parser.add_argument("name", nargs="?", default=DEFAULT, help="such as hadoop-3.4")
    options = parser.parse_args(arguments)
    console = Console(stderr=True)
    try:
        found = ensure_shipped(options.name, progress_for(console))
    except WindtunnelError as problem:
        console.print(problem.render(), markup=False, highlight=False, soft_wrap=True)
        return problem.exit_code
    except KeyboardInterrupt:
        console.print("stopped; the fetched jars are kept, the next run continues from there")
        return 130
    size = sum(jar.path.stat().st_size for jar in found.jars)
    print(f"{found.name}: {len(found.jars)} jars, {size / 1e6:.0f} MB, verified, in {found.root}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
