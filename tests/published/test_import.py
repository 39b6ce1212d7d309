"""Anybody's spreadsheet: what the columns mean, and every bad cell with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.analysis.analyse import analyse
from windtunnel.cli import run
from windtunnel.cluster import QuantityError
from windtunnel.errors import DescriptionError, ResultsError, UsageError
from windtunnel.published.mapping import Map, map_from_roles
from windtunnel.published.review import open_case, review
from windtunnel.published.sources import import_csv, read_map
from windtunnel.published.store import write_results
from windtunnel.published.table import parse_table
from windtunnel.published.units import metric, moment, zone
from windtunnel.results.folder import Results, read_results
from windtunnel.results.power import PowerRecord, read_power

ROLES = ["config=factor", "run=round", "job=phase", "seconds=metric:elapsed:s"]
HEAD = "config,run,job,seconds,note\n"


def imported(tmp_path: Path, text: str, mapped: Map | None = None) -> Results:
    file = tmp_path / "runs.csv"
    file.write_text(text)
    write_results(
        import_csv(file, mapped or map_from_roles(ROLES), "runs", "", tmp_path), tmp_path / "out"
    )
    return read_results(tmp_path / "out")


def refused(tmp_path: Path, text: str, roles: list[str] | None = None) -> DescriptionError:
    with pytest.raises(DescriptionError) as caught:
        imported(tmp_path, text, map_from_roles(roles or ROLES))
    assert not (tmp_path / "out").exists()
    return caught.value


def test_rows_become_trials(tmp_path: Path) -> None:
    text = HEAD + "a,1,sort,10,x\na,1,check,2,x\nb,1,sort,5,\nb,1,check,1,\n"
    found = imported(tmp_path, text)
    assert [(t.treatment.levels, t.round, [p.name for p in t.phases]) for t in found.trials] == [
        ({"config": "a"}, 1, ["sort", "check"]),
        ({"config": "b"}, 1, ["sort", "check"]),
    ]
    assert found.study.kind == "published"
    assert found.study.factors == {"config": ["a", "b"]}
    assert found.study.sources[0].startswith("runs.csv, SHA-256 ")
    effects = {(e.phase, e.level): e.mean / e.mean_baseline for e in analyse(found).effects}
    assert effects[("total", "b")] == pytest.approx(0.5)


def test_without_a_column_of_runs_equal_rows_are_repetitions(tmp_path: Path) -> None:
    found = imported(
        tmp_path, HEAD + "a,,sort,10,\na,,sort,12,\n", map_from_roles([ROLES[0], *ROLES[2:]])
    )
    assert [t.round for t in found.trials] == [1, 2]


def test_units_columns_and_constants(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(
        "name: x\nworkload: {text: put}\nphase: {text: put}\nstart: when\nutc_offset_h: 2\n"
        "factors: {net: {column: net, baseline: 10G}}\n"
        "metrics:\n  elapsed: {column: t, unit: {column: u, values: {m: min}}}\n  bytes: size\n"
    )
    mapped, _ = read_map(tmp_path / "map.yaml")
    text = "net,t,u,size,when\n1G,1.5,m,2 GiB,2024-03-04 10:00\n10G,30,s,2 GiB,2024-03-04 11:00\n"
    found = imported(tmp_path, text, mapped)
    slow, fast = (t.phases[0] for t in found.trials)
    assert (slow.elapsed_s, fast.elapsed_s) == (90.0, 30.0)
    assert slow.metrics["bytes"].value == 2 * 2**30
    assert fast.started_at - slow.started_at == 3600.0
    assert slow.started_at == 1709539200.0  # 08:00 UTC
    assert found.study.baseline == {"net": "10G"}


def test_elapsed_time_follows_from_start_and_end(tmp_path: Path) -> None:
    roles = ["c=factor", "b=start", "e=finish", "watts=metric:power:W"]
    text = "c,b,e,watts\nx,2024-03-04 10:00,2024-03-04 10:01,7\n"
    trial = imported(tmp_path, text, map_from_roles(roles)).trials[0]
    assert trial.metrics["elapsed"].value == 60.0


def test_a_trial_ends_with_its_last_phase_in_any_order_of_the_rows(tmp_path: Path) -> None:
    text = (
        "c,job,b,s\nx,sort,2024-03-04 10:00,100\n"
        "x,check,2024-03-04 10:05,20\nx,load,2024-03-04 09:50,30\n"
    )
    roles = ["c=factor", "job=phase", "b=start", "s=metric:elapsed:s"]
    trial = imported(tmp_path, text, map_from_roles(roles)).trials[0]
    assert trial.finished_at - trial.started_at == 15 * 60 + 20


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        (HEAD + "a,1,sort,10x,\n", 2, "seconds", "'10x' is not a number"),
        (HEAD + "a,1,sort,10,\na,one,sort,10,\n", 3, "run", "'one' is not the number of a run"),
        (HEAD + "a,-1,sort,10,\n", 2, "run", "is not the number of a run"),
        (HEAD + "a,1,sort,10,\na,1,sort,11,\n", 3, "run", "already on line 2"),
        (HEAD + ",1,sort,10,\n", 2, "config", "the level of 'config' is empty"),
        (HEAD + "a,1,sort\n", 2, None, "3 cells, the header 5"),
        (HEAD + 'a,1,sort,10,"x\n', 2, None, "not CSV"),
        (HEAD + "a,1,sort,,\n", None, None, "no row has a number"),
        (HEAD, None, None, "there are no rows"),
        ("config,run,job\na,1,x\n", 1, None, "there is no column 'seconds'"),
        ("config,config\na,b\n", 1, None, "'config' is a duplicate"),
        (HEAD + '"a\nb",1,sort,1,\nc,1,sort,x,\n', 4, "seconds", "'x' is not a number"),
    ],
)
def test_a_bad_cell_is_named(
    tmp_path: Path, text: str, line: int | None, column: str | None, words: str
) -> None:
    error = refused(tmp_path, text)
    assert words in error.render()
    assert (error.line, error.key) == (line, column)
    assert str(error.file).endswith("runs.csv")


def test_a_phase_without_a_time_is_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, "job,mb\nsort,3\n", ["job=phase", "mb=metric:data:MB"])
    assert "a phase requires an elapsed time" in error.message


def test_a_printed_total_is_no_phase(tmp_path: Path) -> None:
    text = HEAD + "a,1,gen,10,\na,1,sort,20,\na,1,Total,30,\n"
    assert "the sum of the phases" in refused(tmp_path, text).message


def test_a_printed_total_beside_phases_is_refused(tmp_path: Path) -> None:
    text = HEAD + "a,1,sort,20,\na,1,,35,\n"
    assert "without a phase" in refused(tmp_path, text).message


def test_treatments_without_their_column_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    file.write_text(
        "treatments: {A: {net: 1G}}\nfactors: {net: {}}\n"
        "metrics: {elapsed: {column: seconds, unit: s}}\n"
    )
    with pytest.raises(DescriptionError, match="the factor has no column"):
        read_map(file)


def test_an_import_is_not_called_incomplete(tmp_path: Path) -> None:
    text = HEAD + "a,1,sort,10,\na,2,sort,11,\nb,1,sort,5,\n"
    warned = {one.id for one in analyse(imported(tmp_path, text)).warnings}
    assert "incomplete" not in warned


def test_an_end_before_the_start_is_refused_without_an_elapsed_time(tmp_path: Path) -> None:
    text = "b,e,w\n2024-01-01 10:00,2024-01-01 09:00,5\n"
    error = refused(tmp_path, text, ["b=start", "e=finish", "w=metric:power:W"])
    assert (error.line, error.key) == (2, "e")
    assert "'2024-01-01 09:00' is before the start '2024-01-01 10:00'" in error.message


def test_an_end_before_the_start_is_noted_and_reviewed(tmp_path: Path) -> None:
    roles = ["b=start", "e=finish", "s=metric:elapsed:s"]
    text = "b,e,s\n2024-01-01 10:00,2024-01-01 09:00,5\n2024-01-01 10:10,2024-01-01 10:11,60\n"
    found = imported(tmp_path, text, map_from_roles(roles))
    assert found.study.notes == ["runs.csv, line 2: e is before b."]
    assert found.trials[0].metrics["elapsed"].value == 5.0
    points = review(open_case(str(tmp_path / "out"))).points
    assert [p.means for p in points if p.check == "relations"] == ["the end is before the start."]


def test_marks_of_missing_numbers_are_listed(tmp_path: Path) -> None:
    text = HEAD + "a,1,sort,n/a,\na,2,sort,10,\na,3,sort,-,\na,4,sort,12,\n"
    found = imported(tmp_path, text)
    assert [t.round for t in found.trials] == [2, 4]
    assert found.study.notes == [
        "runs.csv, lines 2 and 4: seconds has no value ('n/a', '-').",
        "runs.csv, lines 2 and 4: omitted, because no metric has a number.",
    ]
    points = review(open_case(str(tmp_path / "out"))).points
    assert [p.subject for p in points if p.check in ("impossible", "relations")] == []


def test_separators_of_thousands_are_read_if_they_are_clear(tmp_path: Path) -> None:
    text = HEAD + 'a,1,sort,"1,072.9",\nb,1,sort,"2,002",\n'
    found = imported(tmp_path, text)
    assert [t.phases[0].elapsed_s for t in found.trials] == [1072.9, 2002.0]


@pytest.mark.parametrize("cells", ['"2,002"', '"10,5"', '"1,2,3"'])
def test_a_comma_that_is_not_clear_is_refused(tmp_path: Path, cells: str) -> None:
    error = refused(tmp_path, HEAD + f"a,1,sort,{cells},\nb,1,sort,7,\n")
    assert (error.line, error.key) == (2, "seconds")
    assert f"'{cells[1:-1]}' is not a number" in error.message
    assert "what the comma separates" in error.remedy


def test_decimal_commas_of_a_file_with_semicolons(tmp_path: Path) -> None:
    found = imported(tmp_path, HEAD.replace(",", ";") + "a;1;sort;10,25;\nb;1;sort;1.200,5;\n")
    assert [t.phases[0].elapsed_s for t in found.trials] == [10.25, 1200.5]


def test_midnight_can_be_the_end_of_a_day(tmp_path: Path) -> None:
    text = "c,b,e,w\nx,2024-02-28 23:00,2024-02-28T24:00:00,7\n"
    roles = ["c=factor", "b=start", "e=finish", "w=metric:power:W"]
    assert (
        imported(tmp_path, text, map_from_roles(roles)).trials[0].metrics["elapsed"].value == 3600
    )


@pytest.mark.parametrize("text", ["1704067200000", "1704012312345", "1.7e12", "1704067200000000"])
def test_epoch_milliseconds_are_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="looks like milliseconds"):
        moment(text, zone(0))


def test_epoch_seconds_are_read() -> None:
    assert moment("1704067200", zone(2)) == 1704067200.0
    assert moment("1704067200.5", zone(2)) == 1704067200.5
    with pytest.raises(QuantityError, match="before 1970"):
        moment("-1", zone(0))


def metered(tmp_path: Path, samples: str, interval: str = "10 s") -> list[PowerRecord]:
    (tmp_path / "power.csv").write_text("when,watts,group\n" + samples)
    (tmp_path / "map.yaml").write_text(
        "phase: {text: sort}\nmetrics: {elapsed: {column: t, unit: s}}\n"
        "power:\n  file: power.csv\n  time: when\n  watts: {column: watts, unit: W}\n"
        f"  interval: {interval}\n  group: group\n  source: meter\n"
    )
    imported(tmp_path, "t\n60\n", read_map(tmp_path / "map.yaml")[0])
    return read_power(tmp_path / "out")


def test_power_samples_without_watts_are_gaps(tmp_path: Path) -> None:
    (record,) = metered(tmp_path, "1704067200,n/a,a\n1704067210,200,a\n1704067220,-,a\n")
    assert [watts.tolist() for _, watts in record.groups.values()] == [[200.0]]


def test_power_without_a_sample_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="no row with a number in the column 'watts'") as it:
        metered(tmp_path, "1704067200,,a\n1704067210,n/a,a\n")
    assert str(it.value.file).endswith("power.csv") and "export" in str(it.value.remedy)


def test_power_samples_without_an_interval_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError) as caught:
        metered(tmp_path, "1704067200,200,a\n", "0 s")
    assert caught.value.key == "power.interval" and caught.value.line == 7


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(ResultsError):
        imported(tmp_path, HEAD + "a,1,sort,10,\n")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["mine"]
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.parametrize("role", ["config", "config=colour", "=factor"])
def test_a_role_that_does_not_exist_is_refused(role: str) -> None:
    with pytest.raises(UsageError):
        map_from_roles([role])


@pytest.mark.parametrize(
    "roles",
    [
        ["a=round", "b=round"],
        ["a=factor:net", "b=factor:net"],
        ["net=factor", "b=factor:net"],
        ["a=metric:elapsed:s", "b=metric:elapsed:min"],
        ["elapsed=metric", "b=metric:elapsed:s"],
    ],
)
def test_a_role_of_two_columns_is_refused(roles: list[str]) -> None:
    first = roles[0].partition("=")[0]
    with pytest.raises(UsageError, match=f"the column '{first}' already has this role"):
        map_from_roles(["s=metric:time:s", *roles])


@pytest.mark.parametrize(
    "text",
    [
        "name: x\n",
        "metrics: {elapsed: s}\nfactors: {a: {baseline: b}}\n",
        "metrics: {elapsed: s}\nworkload: {column: a, text: b}\n",
        "metrics: {elapsed: s}\ncolour: red\n",
        "metrics: {e: s}\nfactors: {a: {column: a, baseline: z, levels: {b: {}}}}\n",
        "metrics: {e: s}\ntreatments: {t: {a: b}}\n",
    ],
)
def test_a_wrong_map_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    (tmp_path / "map.yaml").write_text(text)
    with pytest.raises(DescriptionError) as caught:
        read_map(tmp_path / "map.yaml")
    assert "map.yaml" in caught.value.render()


@pytest.mark.parametrize(
    ("text", "unit", "value", "base"),
    [
        ("3.5 h", None, 12600.0, "s"),
        ("3.5", "h", 12600.0, "s"),
        ("2", "GiB", 2.0 * 2**30, "bytes"),
        ("10", "Gb/s", 1.25e9, "bytes/s"),
        ("0.5 kWh", None, 1.8e6, "J"),
        ("20", "%", 0.2, "ratio"),
        ("7", "bytes", 7.0, "bytes"),
        ("5500", "operations/s", 5500.0, "operations/s"),
    ],
)
def test_numbers_with_units(text: str, unit: str | None, value: float, base: str) -> None:
    found = metric(text, unit)
    assert (found.value, found.unit) == (pytest.approx(value), base)


@pytest.mark.parametrize(("text", "unit"), [("12", None), ("x", "count"), ("5 m", None), ("", "s")])
def test_numbers_without_a_clear_unit_are_refused(text: str, unit: str | None) -> None:
    with pytest.raises(QuantityError):
        metric(text, unit)


words = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=8)


@given(st.lists(st.lists(words, min_size=1, max_size=4), max_size=6))
def test_any_text_is_a_table_or_refused(rows: list[list[str]]) -> None:
    text = "\n".join(",".join(row) for row in rows)
    try:
        table = parse_table(text, "x.csv")
    except DescriptionError as error:
        assert error.file == "x.csv"
    else:
        assert all(row.cells.keys() == set(table.columns) for row in table.rows)


def test_a_misspelt_metric_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs.csv").write_text("config,s,q\na,10,3\nb,12,4\n")
    words = ["import", str(tmp_path / "runs.csv"), "--map", "config=factor"]
    words += ["--map", "s=metric:elapsd:s", "--map", "q=metric:quality:points"]

    assert run([*words, "--results", str(tmp_path / "out")]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
    assert notes == ["note: 'elapsd' is not a metric of Windtunnel; did you mean 'elapsed'?"]
