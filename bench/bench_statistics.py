"""The actual coverage of 95 % intervals, on synthetic data with known effects.

Run: ``python -m bench statistics``. Log-normal noise of 5 %, 2,000 draws per line, fixed seeds.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Print the tables."""
    from tests.support.truth import (
        Drift,
        bca_coverage,
        coverage,
        detected,
        effects_of,
        mean_coverage,
        median_coverage,
    )
    from tests.support.truth_anova import null_alarms, share_coverage

    begin = time.perf_counter()
    print("coverage of 95 % intervals (nominal 95 %)")
    print("   n   mean: t   mean: BCa   median   effect (-30 %)   effect, drift 2 % a round")
    for n in (3, 5, 8, 10, 20):
        bca = f"{bca_coverage(n):8.1%}" if n >= 8 else "      no"
        middle = f"{median_coverage(n):6.1%}" if n >= 6 else "    no"
        calm = coverage(effects_of(n, -0.3), -0.3)
        drifting = coverage(effects_of(n, -0.3, Drift(per_round=0.02)), -0.3)
        mean = f"{mean_coverage(n):7.1%}"
        print(f"  {n:2}   {mean}    {bca}   {middle}   {calm:14.1%}   {drifting:14.1%}")
    print("\npairing by round and Welch: detections of an effect of 10 %, false alarms (A/A)")
    print("   n   shared by a round   Welch: found  alarms   paired: found  alarms   selected")
    for n in (3, 4, 5, 6, 10):
        for shared in (0.0, 0.025, 0.05, 0.1):
            drift = Drift(by_round=shared)
            cells = [
                f"{detected(effects_of(n, 0.1, drift, paired=p)):7.1%} "
                f"{detected(effects_of(n, 0.0, drift, paired=p)):7.1%}"
                for p in (False, True)
            ]
            rule = effects_of(n, 0.0, drift, draws=1)[0].method
            print(f"  {n:2}   {shared:17.1%}   {cells[0]:>20}   {cells[1]:>21}   {rule}")
    print("\nA/A with a trend of 2 % a round: false alarms of the selected test")
    for n in (3, 5, 10):
        print(f"  {n:2}   {detected(effects_of(n, 0.0, Drift(per_round=0.02))):.1%}")
    print("\nanalysis of variance of a 2^3 design: coverage of the intervals of the fractions")
    for rounds in (2, 3, 5):
        found = share_coverage(rounds)[:4]
        each = ", ".join(f"{name} ({true:.0%}) {rate:.1%}" for name, true, rate in found)
        print(f"  {rounds} rounds   {each}")
    print(f"any false alarm after correction, 2 rounds, 100 studies: {null_alarms(2):.0%}")
    print(f"{time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
