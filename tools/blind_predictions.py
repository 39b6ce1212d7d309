"""Predict all clusters of the published studies and write them with their hash to docs/blind.

The predictions are stored before anybody compares them with times that the catalogue omits. Stored
files never change: another model writes another file, with the SHA-256 of its fit.
Run: ``python tools/blind_predictions.py``.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import time
from importlib import resources
from pathlib import Path

from windtunnel.analysis.prediction.described import predict_workloads
from windtunnel.model.store import shipped_fit
from windtunnel.published.clusters import cluster_names, find_cluster, parameters_for

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "blind"
SIZES = ("1 TB", "2 TB")
WORKLOADS = {
    "cisco-2014": ("terasort", "wordcount"),
    "vmware-2011": ("pi", "dfsio", "terasort"),
    "mellanox-2014": ("terasort",),
    "cern-2016": ("terasort", "wordcount"),
    "intel-2012": ("transfer",),
}


def main() -> None:
    """Write a new file with the date of today, and its SHA-256."""
    found = []
    shipped = resources.files("windtunnel.catalogue").joinpath("physics/fit.json").read_bytes()
    model = hashlib.sha256(shipped).hexdigest()
    for study, workloads in WORKLOADS.items():
        for name in cluster_names(study):
            described = find_cluster(f"{study}/{name}")
            for workload in workloads:
                own = parameters_for(described, workload)
                for size in SIZES if workload == "terasort" else (None,):
                    given = {**own, "size": size} if size else dict(own)
                    if size:
                        given.pop("rows", None)
                    made = predict_workloads(
                        described.name, described.cluster, {workload: given}, shipped_fit()
                    )
                    found.append({"fit_sha256": model, "parameters": given, **made})
    text = json.dumps(found, indent=1, sort_keys=True) + "\n"
    FOLDER.mkdir(exist_ok=True)
    day = time.strftime("%Y-%m-%d")
    names = itertools.chain([f"{day}.json"], (f"{day}-{n}.json" for n in itertools.count(2)))
    name = next(one for one in names if not (FOLDER / one).exists())
    (FOLDER / name).write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (FOLDER / name).with_suffix(".sha256").write_text(f"{digest}  {name}\n")


if __name__ == "__main__":
    main()
