"""Random studies as an engineer would write them down: runs, summary, parts, settings and text.

All derived numbers are computed from the numbers behind the printed ones and rounded afterwards,
as spreadsheets do. Names and units of the columns differ from study to study.
"""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from scipy.stats import t as student

from windtunnel.published.table import Table, parse_table

FACTORS = (
    ("config", ("stock", "tuned", "compressed", "large-heap")),
    ("platform", ("native", "vm1", "vm2", "container")),
    ("network", ("1GbE", "10GbE", "25GbE")),
    ("disks", ("hdd", "ssd", "nvme")),
    ("nodes", ("n4", "n8", "n16")),
)
JOBS = ("teragen", "terasort", "wordcount", "scan", "join", "pagerank", "dfsio-write")
SETTINGS = (
    ("dfs.replication", "3"),
    ("dfs.blocksize", "268435456"),
    ("io.file.buffer.size", "131072"),
    ("mapreduce.task.io.sort.mb", "512"),
    ("mapreduce.task.io.sort.factor", "64"),
    ("mapreduce.map.memory.mb", "2048"),
    ("mapreduce.reduce.memory.mb", "4096"),
    ("yarn.nodemanager.resource.memory-mb", "98304"),
    ("yarn.nodemanager.resource.cpu-vcores", "32"),
    ("dfs.namenode.handler.count", "128"),
    ("vm.swappiness", "1"),
    ("net.core.somaxconn", "4096"),
    ("net.core.rmem_max", "16777216"),
    ("net.ipv4.tcp_sack", "1"),
)
PARTS = (("CPU-6248", 2), ("DIMM-32G", 12), ("HDD-4T", 12), ("NIC-25G", 1), ("CHASSIS", 1))


@dataclass(frozen=True)
class RandomStudy:
    """Tables of a study by file name, and the map of its runs."""

    tables: dict[str, Table]
    texts: dict[str, str]
    mapped: dict[str, Any]


def _csv(rows: list[dict[str, str]]) -> str:
    columns = list(rows[0])
    return "\n".join([",".join(columns), *(",".join(r[c] for c in columns) for r in rows)]) + "\n"


def random_study(seed: int) -> RandomStudy:
    """A correct study: 2 to 4 treatments, 1 to 3 jobs, 3 to 5 runs."""
    draw = random.Random(seed)
    factor, all_levels = draw.choice(FACTORS)
    levels = all_levels[: draw.randint(2, len(all_levels))]
    jobs = draw.sample(JOBS, draw.randint(1, 3))
    repeats = draw.randint(3, 5)
    minutes = draw.random() < 0.4
    elapsed = (
        draw.choice(("minutes", "elapsed_min"))
        if minutes
        else draw.choice(("seconds", "elapsed_s", "time_s"))
    )
    job_column = draw.choice(("job", "workload", "benchmark"))
    stamped, powered, counted = (draw.random() < p for p in (0.7, 0.7, 0.5))
    scale = 60.0 if minutes else 1.0
    digits = 2 if minutes else 1
    base = {job: draw.uniform(200, 3000) for job in jobs}
    size = {job: draw.choice((100, 250, 500, 1000)) * 1e9 for job in jobs}
    gain = {level: 1.0 if i == 0 else draw.uniform(0.55, 1.5) for i, level in enumerate(levels)}
    watts = {level: draw.uniform(1800, 3600) for level in levels}
    clock = datetime(2023, draw.randint(1, 11), draw.randint(1, 20), 8, 0, tzinfo=UTC)
    spread = draw.uniform(0.005, 0.03)
    order = [
        (run, level, job)
        for run in range(1, repeats + 1)
        for level in draw.sample(levels, len(levels))
        for job in jobs
    ]
    runs: list[dict[str, str]] = []
    seconds: dict[tuple[str, str], list[float]] = {}
    joules: dict[tuple[str, str], list[float]] = {}
    for run, level, job in order:
        taken = base[job] * gain[level] * math.exp(draw.gauss(0, spread))
        power = watts[level] * math.exp(draw.gauss(0, 0.01))
        seconds.setdefault((level, job), []).append(taken)
        joules.setdefault((level, job), []).append(taken * power)
        row = {factor: level, job_column: job, "run": str(run)}
        if stamped:
            end = clock + timedelta(seconds=taken)
            row |= {"start": f"{clock:%Y-%m-%d %H:%M:%S}", "end": f"{end:%Y-%m-%d %H:%M:%S}"}
            clock = end + timedelta(seconds=draw.randint(20, 200))
        row[elapsed] = f"{taken / scale:.{digits}f}"
        row["data_gb"] = f"{size[job] / 1e9:.0f}"
        row["rate_mb_s"] = f"{size[job] / taken / 1e6:.1f}"
        if counted:
            row["rows"] = f"{size[job] / 100:.0f}"
        if powered:
            row["power_w"] = f"{power:.0f}"
            row["energy_kwh"] = f"{taken * power / 3.6e6:.3f}"
        runs.append(row)
    texts = {"runs.csv": _csv(runs)}
    texts["summary.csv"] = _summary(
        factor,
        levels,
        job_column,
        jobs,
        seconds,
        joules if powered else {},
        scale,
        digits,
        repeats,
        draw,
    )
    texts["prices.csv"] = _prices(factor, levels, draw)
    texts["settings.csv"] = _settings(factor, levels, draw)
    texts["claims.csv"] = _claims(factor, levels, jobs, seconds, repeats, draw)
    texts["sentences.csv"] = _sentences(levels, jobs, seconds, draw)
    metrics: dict[str, Any] = {
        "elapsed": {"column": elapsed, "unit": "min" if minutes else "s"},
        "bytes": {"column": "data_gb", "unit": "GB"},
        "rate": {"column": "rate_mb_s", "unit": "MB/s"},
    }
    if powered:
        metrics |= {
            "power": {"column": "power_w", "unit": "W"},
            "energy": {"column": "energy_kwh", "unit": "kWh"},
        }
    mapped: dict[str, Any] = {
        "name": f"study-{seed}",
        "workload": job_column,
        "round": "run",
        "runs": "runs.csv",
        "factors": {factor: {"column": factor, "baseline": levels[0]}},
        "metrics": metrics,
    }
    if stamped:
        mapped |= {"start": "start", "finish": "end"}
    return RandomStudy({f: parse_table(x, f) for f, x in texts.items()}, texts, mapped)


def _summary(
    factor: str, levels: tuple[str, ...], job_column: str, jobs: list[str],
    seconds: dict[tuple[str, str], list[float]], joules: dict[tuple[str, str], list[float]],
    scale: float, digits: int, repeats: int, draw: random.Random,
) -> str:  # fmt: skip
    rows = []
    interval = draw.random() < 0.6
    unit = "min" if scale == 60 else "s"
    for level in levels:
        means = []
        for job in jobs:
            values = [v / scale for v in seconds[level, job]]
            first = statistics.fmean(v / scale for v in seconds[levels[0], job])
            mean, sd = statistics.fmean(values), statistics.stdev(values)
            half = float(student.ppf(0.975, repeats - 1)) * sd / math.sqrt(repeats)
            means.append(mean)
            row = {
                factor: level,
                job_column: job,
                "n": str(repeats),
                f"mean_{unit}": f"{mean:.{digits}f}",
                f"sd_{unit}": f"{sd:.{digits + 1}f}",
            }
            if interval:
                row |= {
                    f"ci_low_{unit}": f"{mean - half:.{digits}f}",
                    f"ci_high_{unit}": f"{mean + half:.{digits}f}",
                }
            row["speedup"] = f"{first / mean:.2f}"
            row["change_pct"] = f"{(mean / first - 1) * 100:.1f}"
            if joules:
                row["mean_energy_kwh"] = f"{statistics.fmean(joules[level, job]) / 3.6e6:.3f}"
            rows.append(row)
        if len(jobs) > 1:
            total = dict.fromkeys(rows[-1], "") | {
                factor: level,
                job_column: "total",
                f"mean_{unit}": f"{sum(means):.{digits}f}",
            }
            rows.append(total)
    return _csv(rows)


def _prices(factor: str, levels: tuple[str, ...], draw: random.Random) -> str:
    rows = []
    each = {part: draw.uniform(80, 3000) for part, _ in PARTS}
    for level in levels:
        total = 0.0
        for part, quantity in PARTS:
            price = round(each[part], 2)
            total += price * quantity
            rows.append(
                {
                    factor: level,
                    "part": part,
                    "quantity": str(quantity),
                    "unit_price_usd": f"{price:.2f}",
                    "price_usd": f"{price * quantity:.2f}",
                }
            )
        rows.append(
            {
                factor: level,
                "part": "total",
                "quantity": "",
                "unit_price_usd": "",
                "price_usd": f"{total:.2f}",
            }
        )
    return _csv(rows)


def _settings(factor: str, levels: tuple[str, ...], draw: random.Random) -> str:
    chosen = draw.sample(SETTINGS, draw.randint(7, len(SETTINGS)))
    rows = [{"setting": n, "value": v, factor: level} for level in levels for n, v in chosen]
    return _csv(rows)


def _claims(
    factor: str, levels: tuple[str, ...], jobs: list[str],
    seconds: dict[tuple[str, str], list[float]], repeats: int, draw: random.Random,
) -> str:  # fmt: skip
    rows = [
        {"claim": f"runs per {factor}", "value": str(repeats), "unit": "runs"},
        {"claim": "number of workloads", "value": str(len(jobs)), "unit": "workloads"},
    ]
    for level in levels[1:]:
        job = draw.choice(jobs)
        ratio = statistics.fmean(seconds[level, job]) / statistics.fmean(seconds[levels[0], job])
        percent = abs(ratio - 1) * 100
        word = "less" if ratio < 1 else "more"
        if draw.random() < 0.5:
            claim, value = (
                f"{job} with {level}: up to {word} time than {levels[0]}",
                f"{math.ceil(percent)}",
            )
        else:
            claim, value = f"{job} with {level}: {word} time than {levels[0]}", f"{percent:.0f}"
        rows.append({"claim": claim, "value": value, "unit": "percent"})
    return _csv(rows)


def _sentences(
    levels: tuple[str, ...], jobs: list[str], seconds: dict[tuple[str, str], list[float]],
    draw: random.Random,
) -> str:  # fmt: skip
    """Sentences as in the text of a report: results, factors and percentages of them."""
    rows: list[dict[str, str]] = []
    for level in levels[1:]:
        job = draw.choice(jobs)
        mean = statistics.fmean(seconds[level, job])
        ratio = statistics.fmean(seconds[levels[0], job]) / mean
        change = abs(1 / ratio - 1) * 100
        speed, verb = ("faster", "cuts") if ratio > 1 else ("slower", "increases")
        sentences = (
            f"{job} took {mean:.0f} s with {level}.",
            f"With {level}, {job} finished in {mean / 60:.1f} min on average.",
            f"With {level}, {job} runs {max(ratio, 1 / ratio):.2f} times {speed} than "
            f"with {levels[0]}.",
            f"{level} {verb} the time of {job} by {change:.1f} % against {levels[0]}.",
        )
        rows += [{"sentence": f'"{sentence}"'} for sentence in draw.sample(sentences, 2)]
    return _csv(rows)
