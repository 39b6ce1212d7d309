"""Results folders with power and prices of known size, for tests only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.synthetic import Plan, study_folder
from windtunnel.cluster import load_cluster
from windtunnel.probes.sampler import SCHEMA
from windtunnel.results.folder import Results, read_results
from windtunnel.results.record import Trial
from windtunnel.results.sample import Sample

METERED = "metered: Intel DCM, GroupBD, 4 hosts"


def cluster(**worker: Any) -> dict[str, Any]:
    """Three workers at 10,000 USD and a master at 4,000, 100 W idle and 300 W at peak."""
    data = load_cluster("local-3").model_dump(mode="json", exclude_none=True)
    power = {"idle": "100 W", "peak": "300 W"}
    data["hosts"]["master"] |= {"price": "4000 USD", "power": power}
    data["hosts"]["worker"] |= {"price": "10000 USD", "power": power} | worker
    for name in [key for key, value in data["hosts"]["worker"].items() if value is None]:
        del data["hosts"]["worker"][name]
    return data


def powered(
    path: Path,
    *,
    testbed: str = "attached",
    samples: Callable[[Trial], list[Sample]] | None = None,
    source: str | None = None,
    overrides: Mapping[str, dict[str, Any]] | None = None,
    **plan: Any,
) -> Results:
    """A study of a described cluster; ``samples`` makes the samples of each trial.

    ``overrides`` gives the levels' changes to the cluster, by treatment.
    """
    usual: dict[str, Any] = {"trials": 6, "write_samples": False, "cluster": cluster()}

    def edit(trial: Trial) -> Trial:
        own = {} if overrides is None else overrides.get(trial.treatment.id, {})
        changed: dict[str, Any] = {
            "treatment": trial.treatment.model_copy(update={"overrides": own}),
            "power_source": source,
            "samples_file": None,
        }
        if samples is not None:
            file = path / "samples" / f"{trial.id}.parquet"
            columns = list(zip(*samples(trial), strict=True))
            names = pa.array([trial.id] * len(columns[0]))
            pq.write_table(pa.table([names, *map(pa.array, columns)], SCHEMA), file)
            changed["samples_file"] = f"samples/{trial.id}.parquet"
        return trial.model_copy(update=changed)

    study_folder(path, Plan(**{**usual, "edit": edit, **plan}))
    found = read_results(path)
    changes: dict[str, Any] = {"testbed": testbed}
    changes["treatments"] = [
        t.model_copy(update={"overrides": (overrides or {}).get(t.id, {})})
        for t in found.study.treatments
    ]
    study = found.study.model_copy(update=changes)
    (path / "study.json").write_text(study.model_dump_json(by_alias=True))
    return read_results(path)


def seconds(trial: Trial) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Instants once a second from the start of the trial to its end."""
    return np.arange(trial.started_at, trial.finished_at + 1.0)


def dcm_csv(path: Path, t0: float, watts: list[float | None], step: float = 180.0) -> Path:
    """A meter's export in local time of UTC-7; None is an empty cell."""
    lines = ["timestamp_local,dcm_group,power_w,inlet_temp_c"]
    for place, value in enumerate(watts):
        when = datetime.fromtimestamp(t0 + place * step - 7 * 3600, UTC)
        lines.append(f"{when:%Y-%m-%d %H:%M:%S},GroupBD,{'' if value is None else value},20")
    path.write_text("\n".join(lines) + "\n")
    return path


def steady(
    watts: float, metric: str = "power", host: str = "GroupBD"
) -> Callable[[Trial], list[Sample]]:
    """Samples of a steady power, and more of it in tuned trials."""

    def rows(trial: Trial) -> list[Sample]:
        factor = 1.5 if trial.treatment.id == "tuned" else 1.0
        return [Sample(float(t), host, metric, "W", watts * factor) for t in seconds(trial)]

    return rows


def busy(share: float) -> Callable[[Trial], list[Sample]]:
    """CPU samples of all four hosts, a tenth of the time in wait for disks."""
    hosts = ("master", "worker-1", "worker-2", "worker-3")

    def rows(trial: Trial) -> list[Sample]:
        return [
            Sample(float(t), host, name, "ratio", value)
            for host in hosts
            for name, value in (("cpu_idle", 0.9 - share), ("cpu_iowait", 0.1))
            for t in seconds(trial)
        ]

    return rows
