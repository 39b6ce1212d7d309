"""Detection of planted errors and false alarms of ``windtunnel review``.

Run: ``python -m bench review``. Each of 26 kinds of errors is planted into copies
of the five published studies and of random studies; fixed seeds. Points of the clean random studies
are false alarms, because all their numbers are computed from one set of results.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

RANDOM_STUDIES = 20
SEEDS = 3
"""Errors of each kind in each published study."""


def main() -> None:
    """Print the table."""
    from tests.support.detection import (
        STUDIES,
        Outcome,
        key,
        outcomes,
        points_of,
        random_case,
    )
    from tests.support.planted import KINDS
    from tests.support.published import case_of

    begin = time.perf_counter()
    published = {name: case_of(name) for name in STUDIES}
    invented = {f"random {seed}": random_case(seed) for seed in range(1000, 1000 + RANDOM_STUDIES)}
    clean = {
        name: {key(p): 1 for p in points_of(case)} for name, case in (published | invented).items()
    }
    found: dict[str, dict[str, list[Outcome]]] = {
        kind: {"published": [], "random": []} for kind in KINDS
    }
    for kind in KINDS:
        for name, case in published.items():
            found[kind]["published"] += outcomes(name, case, kind, range(SEEDS), clean[name])
        for at, (name, case) in enumerate(invented.items()):
            found[kind]["random"] += outcomes(name, case, kind, range(at, at + 1), clean[name])
    print(f"{'kind of error':26} {'random studies':>16} {'published studies':>20}")
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    rates = []
    for kind, groups in found.items():
        line = f"{kind:26}"
        hits = all_ = 0
        for group, width in (("random", 16), ("published", 20)):
            caught, total = sum(o.found for o in groups[group]), len(groups[group])
            sums[group][0] += caught
            sums[group][1] += total
            hits, all_ = hits + caught, all_ + total
            cell = f"{caught}/{total} {caught / total:4.0%}" if total else "no place"
            line += f" {cell:>{width}}"
        rates.append(hits / all_ if all_ else 0.0)
        print(line)
    for group, (caught, every) in sums.items():
        print(f"{group}: {caught} of {every} found ({caught / every:.0%})")
    caught, every = (sum(s[i] for s in sums.values()) for i in (0, 1))
    print(f"all: {caught} of {every} found ({caught / every:.0%}); ", end="")
    print(f"mean of the {len(rates)} kinds {sum(rates) / len(rates):.0%}")
    alarms = [len(clean[name]) for name in invented]
    print(f"points of clean random studies: {sum(alarms)} in {len(alarms)}, most {max(alarms)}")
    print("points of the published studies as they are (tests/published judges each of them):")
    print("  " + ", ".join(f"{name} {len(clean[name])}" for name in STUDIES))
    print(f"{time.perf_counter() - begin:.0f} s")
    if "--missed" in sys.argv:
        for kind, groups in found.items():
            for outcome in (o for g in groups.values() for o in g if not o.found):
                print(f"{kind} | {outcome.study} | {outcome.planted.what}")


if __name__ == "__main__":
    main()
