"""False alarms of ``compare``, and its detection of 10 %, on synthetic data.

Run: ``python bench/bench_compare.py [DRAWS]``. Two folders, two treatments each, 5 % noise. Drift
is per round. *apart*: each folder starts at a random point of its ramp. *back to back*: the ramp of
the first folder continues in the second. *interleaved*: the trials alternate.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

DRIFTS = (0.0, 0.005, 0.01, 0.02, 0.05)


def main() -> None:
    """Print the false alarms for each drift, and the detections without drift."""
    from tests.support.drifting import Draws, share_found

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    drifts = "".join(f"{drift:>8.1%}" for drift in DRIFTS)
    print(f"{count} draws; draws with a verdict, in percent")
    print(f"{'folders':14}{'rounds':>7}   no change, drift{drifts}   10 % slower")
    for when in ("apart", "back to back", "interleaved"):
        for rounds in (3, 5, 10):
            alarms = [share_found(Draws(when, rounds, d), count, seed=1) for d in DRIFTS]
            detected = share_found(Draws(when, rounds, 0.0, effect=0.10), count, seed=2)
            columns = "".join(f"{100 * share:8.1f}" for share in alarms)
            print(f"{when:14}{rounds:7}   {'':16}{columns}   {100 * detected:11.0f}", flush=True)


if __name__ == "__main__":
    main()
