"""The report on terminals of every width: short by default, and no word is broken."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.published import open_results
from windtunnel.report.columns import fitting, print_table
from windtunnel.report.markdown import to_markdown
from windtunnel.report.sections import cautions
from windtunnel.report.sections.base import Column, Table
from windtunnel.report.sections.effects import effects_table
from windtunnel.report.terminal import print_report, print_summary
from windtunnel.results.folder import read_results

WIDTHS = (40, 60, 80, 120)
STUDIES = ("cisco-2014", "vmware-2011", "cern-2016", "intel-2012", "mellanox-2014")


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    plan = Plan(trials=6, invalid=(4,), write_samples=False)
    return analyse(read_results(study_folder(tmp_path_factory.mktemp("study"), plan)))


def summary(analysis: Analysis, width: int) -> str:
    out = io.StringIO()
    print_summary(analysis, Console(file=out, width=width), "my-results", Path("r.html"))
    return out.getvalue()


@pytest.mark.parametrize("name", STUDIES)
def test_the_short_report_fits_a_screen(name: str) -> None:
    found = analyse(open_results(f"published:{name}"))
    for width in WIDTHS:
        assert summary(found, width).count("\n") <= 40


def test_the_short_report_has_the_answer_and_says_where_the_rest_is(analysis: Analysis) -> None:
    text = summary(analysis, 100)
    assert analysis.answer.split(";")[0][:40] in " ".join(text.split())
    assert "1 invalid trial" in text
    assert "windtunnel report my-results --full" in text and "Page: r.html" in text


def test_all_of_it_has_more(analysis: Analysis) -> None:
    out = io.StringIO()
    print_report(analysis, Console(file=out, width=100))
    assert "Elapsed time by phase and treatment" in out.getvalue()
    assert "what to do" in out.getvalue()


def drawn(table: Table, width: int) -> str:
    out = io.StringIO()
    print_table(table, Console(file=out, width=width))
    return out.getvalue()


TEXTS = st.text("abcdefghij -", min_size=1, max_size=30).map(str.strip).filter(bool)
TABLES = st.integers(2, 6).flatmap(
    lambda count: st.builds(
        Table,
        caption=st.just("A table"),
        columns=st.lists(
            st.builds(
                Column,
                name=st.text("abcdef", min_size=1, max_size=12),
                numeric=st.booleans(),
                weight=st.integers(0, 3),
            ),
            min_size=count,
            max_size=count,
        ),
        rows=st.lists(st.tuples(*[TEXTS] * count), min_size=1, max_size=4),
    )
)


@settings(max_examples=60)
@given(TABLES, st.integers(34, 100))
def test_no_word_is_broken_and_no_line_is_too_long(table: Table, width: int) -> None:
    kept = fitting(table, table.rows, width)
    text = drawn(table, width)
    assert all(len(line) <= width for line in text.splitlines())
    words = text.replace(";", " ").split()
    for row in table.rows:
        shown = row if not kept else [row[place] for place in kept]
        for cell in shown:
            assert {*cell.split()} <= {*words}
    if kept:
        left_out = [c.weight for i, c in enumerate(table.columns) if i not in kept]
        assert max(left_out, default=0) <= max(table.columns[i].weight for i in kept)


def test_names_of_numeric_columns_wrap() -> None:
    table = Table("T", [Column("term"), Column("p corrected", True)], [("a", "0.5")])
    out = io.StringIO()
    print_table(table, Console(file=out, width=22))
    assert "corrected" in out.getvalue() and "…" not in out.getvalue()


def test_numbers_keep_their_units_and_what_is_left_out_is_named() -> None:
    columns = [Column("level", weight=3), Column("change", True, 3), Column("absolute", True, 0)]
    table = Table("T", columns, [("network 1 Gb/s : 10 Gb/s", "+613 %", "+2,590 s [2,400, 2,800]")])
    assert "+2,590 s [2,400, 2,800]" in drawn(table, 80)
    narrow = drawn(table, 36)
    assert "+613 %" in narrow and "omitted at this width: absolute" in narrow
    assert "change +613 %" in drawn(table, 18).replace("\n", " ")


def test_words_of_a_table_keep_their_units_at_every_width() -> None:
    columns = [Column("level", weight=3), Column("change", True, 3)]
    table = Table("At 10 Gb/s", columns, [("network of the hosts 1 Gb/s : 10 Gb/s", "+613 %")])
    for width in range(24, 80):
        lines = drawn(table, width).splitlines()
        assert any("1 Gb/s" in line for line in lines), width
        assert not any(line.strip().endswith((" 1", " 10")) for line in lines), width


def test_the_largest_effect_leads_the_short_report() -> None:
    found = analyse(open_results("published:cisco-2014"))
    table = effects_table(found, totals_only=True)
    assert table is not None
    assert table.rows[0][0] == "network 1 Gb/s : 10 Gb/s"


def test_markdown_has_all_tables_and_no_stray_marks(analysis: Analysis) -> None:
    lines = to_markdown(analysis).splitlines()
    assert lines[0] == "# synthetic study"
    tables = [line for line in lines if line.startswith("| ")]
    assert any(line.startswith("| level : baseline | phase | change") for line in tables)
    for before, line in pairwise(lines):
        if line.startswith("| ") and before.startswith("| "):
            bars = [one.replace("\\|", "").count("|") for one in (before, line)]
            assert bars[0] == bars[1], "the rows of a table have as many cells as its head"
    assert "## Warnings" in lines


def test_a_study_without_trials_has_passed_no_check(analysis: Analysis) -> None:
    found = analysis.results
    empty = analyse(replace(found, trials=[]))
    vars(empty)["warnings"] = []
    said = summary(empty, 120) + cautions.section(empty).said[0]

    assert "Nothing was checked: there is no trial" in said
    assert "nothing was checked: there is no trial" in said
    assert "passed all checks" not in said
