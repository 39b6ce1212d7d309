"""The section and the chart of formats by row against formats by column, on known truth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.subjects.formats import beside, formats, rows_per_s
from windtunnel.report.charts import CHARTS
from windtunnel.report.charts.phases import key
from windtunnel.report.sections import formats as section_module
from windtunnel.report.sections.known import INTERVALS_UNKNOWN
from windtunnel.results.folder import read_results
from windtunnel.results.record import Metric, Trial

LEVELS = ("csv", "csv-gzip", "parquet-zstd", "orc-none")
TIMES = {"csv": 1.0, "csv-gzip": 0.5, "parquet-zstd": 8.0, "orc-none": 4.0}
MACHINE = 3.0


def asked(trial: Trial) -> Trial:
    """A scan with DuckDB beside it, unless the format is ORC."""
    level = trial.treatment.levels["settings"]
    kind, _, codec = level.partition("-")
    noise = trial.phases[0].elapsed_s / 14.0
    rate = 1e5 * TIMES[level] * noise
    metrics = {
        "rows_per_s": Metric(value=rate, unit="rows/s"),
        "size_share": Metric(value=1 / TIMES[level], unit="ratio"),
    }
    if kind != "csv":
        metrics["rows_skipped"] = Metric(value=0.25, unit="ratio")
    scan = trial.phases[0].model_copy(
        update={"name": "scan", "metrics": metrics, "elapsed_s": 1e6 / rate}
    )
    fast = {"size_share": metrics["size_share"]}
    fast["rows_per_s"] = Metric(value=rate * MACHINE, unit="rows/s")
    duck = scan.model_copy(update={"name": "duckdb", "metrics": fast, "beside": True})
    return trial.model_copy(
        update={
            "workload": "scan",
            # as studies record them: what was left out is usual
            "parameters": {"size": 1000}
            | ({} if kind == "csv" else {"format": kind})
            | ({} if codec in ("", "none") else {"codec": codec}),
            "phases": [scan] if kind == "orc" else [scan, duck],
        }
    )


def by_two(trial: Trial) -> Trial:
    """The same, formats by column asked by another engine."""
    made = asked(trial)
    other = {"engine": "hive"} if "format" in made.parameters else {}
    return made.model_copy(update={"parameters": made.parameters | other})


def analysed(path: Path, rounds: int, edit: Callable[[Trial], Trial] = asked) -> Analysis:
    plan = Plan(
        trials=rounds * len(LEVELS), levels=LEVELS, edit=edit, write_samples=False, effect=0.0
    )
    return analyse(read_results(study_folder(path, plan)))


def test_ratios_are_those_to_the_plain_format_by_row(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, 4)
    spark, duck = analysis.once(formats)
    assert (spark.engine, duck.engine, spark.base) == ("Spark on YARN", "DuckDB", "csv")
    assert beside([spark, duck], spark) is duck and beside([spark, duck], duck) is None
    found = {entry.name: entry for entry in spark.entries}
    assert set(found) == {"csv", "csv gzip", "parquet zstd", "orc"}
    assert {e.name for e in duck.entries} == {"csv", "csv gzip", "parquet zstd"}
    assert found["csv"].ratio is None and found["csv"].by_row
    for level, name in (("parquet-zstd", "parquet zstd"), ("csv-gzip", "csv gzip")):
        ratio = found[name].ratio
        assert ratio is not None and ratio.low is not None and ratio.high is not None
        assert ratio.value == pytest.approx(TIMES[level], rel=0.1)
        assert ratio.low < TIMES[level] < ratio.high and ratio.clear
    assert found["orc"].shares == {"size_share": 0.25, "rows_skipped": 0.25}
    assert "rows_skipped" not in found["csv"].shares


def test_what_stands_beside_is_in_no_total(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, 2)
    assert analysis.beside == {("scan", "duckdb")}
    assert [one.words for one in key(analysis)] == ["scan"]
    assert analysis.is_whole("scan", "scan") and not analysis.is_whole("scan", "duckdb")
    for level in LEVELS:
        total = analysis.cell(level, "scan", TOTAL, ELAPSED)
        scan = analysis.cell(level, "scan", "scan", ELAPSED)
        assert total is not None and scan is not None and total.mean == scan.mean


def test_section_chart_and_data(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, 3)
    section = section_module.section(analysis)
    assert section is not None
    assert section.said[0].startswith("scan, Spark on YARN: parquet zstd reaches ")
    assert section.said[0].endswith("times the records per second of csv")
    rates, of_duckdb, read, limits = section.tables
    assert rates.caption == "Records per second: scan, Spark on YARN"
    assert [len(table.rows) for table in section.tables] == [4, 3, 4, 3]
    assert [row[1] for row in rates.rows if row[0] in ("csv gzip", "orc")] == ["row", "column"]
    assert of_duckdb.rows[0][3] == "base"
    (orc,) = (row for row in read.rows if row[0] == "orc")
    assert list(orc) == ["orc", "25 %", "", "", "25 %"]
    assert all(row[-1].startswith("3.00 [") for row in limits.rows)
    json.dumps(section.data, allow_nan=False)
    for width in (380, 900):
        assert CHARTS["formats"].draw(analysis, width) is not None
    assert "scan by DuckDB: csv " in CHARTS["formats"].describe(analysis)


def test_engines_are_drawn_on_one_scale(tmp_path: Path) -> None:
    drawn = CHARTS["formats"].draw(analysed(tmp_path, 3, by_two), 700)
    assert drawn is not None
    text = json.dumps(drawn)
    assert "Spark on YARN" in text and "Hive" in text
    domains = set(re.findall(r'"domain": \[([^]]+)\]', text))
    assert len(domains) == 1, "of both panels"
    least, most = map(float, domains.pop().split(","))
    assert 0 < least < 0.5e5 and most > 8e5, "slow rows and fast columns"


def test_one_round_has_no_interval_and_says_so(tmp_path: Path) -> None:
    section = section_module.section(analysed(tmp_path, 1))
    assert section is not None
    assert section.lead.endswith(f"{INTERVALS_UNKNOWN.capitalize()}.")
    assert section.said[0].endswith("times the records per second of csv")
    assert not re.search("interval unknown|detected", str((section.said, section.tables)))


def test_without_formats_there_is_no_section(tmp_path: Path) -> None:
    analysis = analyse(read_results(study_folder(tmp_path, Plan(trials=2, write_samples=False))))
    assert section_module.section(analysis) is None
    assert CHARTS["formats"].draw(analysis, 700) is None


@pytest.mark.parametrize(
    ("value", "words"), [(12.34, "12.3"), (310_000, "310 k"), (1_239_000, "1.24 M")]
)
def test_rates_in_words(value: float, words: str) -> None:
    assert rows_per_s(value) == words
