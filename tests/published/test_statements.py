"""Statements of the text: bounds, directions, baselines, measures, and what was not compared."""

from __future__ import annotations

import re

import pytest

from tests.support.published import case_of
from windtunnel.published.case import Case, Point
from windtunnel.published.checks import amounts, claims
from windtunnel.published.mapping import Map
from windtunnel.published.table import parse_table

RUNS = """\
query,format,attempt,setup_s,wall_s,rows_per_s
q1,text,1,9,100,1000
q1,text,2,9,102,980
q1,orc,1,2,40,2500
q1,orc,2,2,41,2440
q2,text,1,9,200,1000
q2,text,2,9,202,990
q2,orc,1,8,100,2000
q2,orc,2,8,101,1980
"""
MAP = Map.model_validate(
    {
        "workload": "query",
        "round": "attempt",
        "factors": {"format": {"column": "format", "baseline": "text"}},
        "metrics": {"elapsed": {"column": "wall_s", "unit": "s"}},
    }
)


def points(statements: str, runs: str = RUNS, **others: str) -> list[Point]:
    texts = {"runs": runs, "statements": statements, **others}
    tables = {f"{name}.csv": parse_table(text, f"{name}.csv") for name, text in texts.items()}
    case = Case(case_of("intel-2012").results, tables=tables, mapped=MAP)
    return [*claims.pairs(case), *claims.counts(case)]


def checks(claim: str, number: str, unit: str = "percent", runs: str = RUNS) -> list[str]:
    text = f'page,claim,value,unit\nabstract,"{claim}",{number},{unit}\n'
    return [p.check for p in points(text, runs)]


@pytest.mark.parametrize(
    ("claim", "number", "wrong"),
    [
        ("orc: up to less time than text", "60", False),
        ("orc: up to less time than text", "40", True),
        ("orc: up to less time than text", "85", True),
        ("orc: at most less time than text", "61", False),
        ("orc: at most less time than text", "80", False),
        ("orc: at most less time than text", "55", True),
        ("orc: at least less time than text", "50", False),
        ("orc: at least less time than text", "45", False),
        ("orc: at least less time than text", "58", True),
        ("in all queries orc takes at least less time than text", "58", True),
        ("q2 orc: more than 40 percent less time than text", "40", False),
        ("orc: more than 70 percent less time than text", "70", True),
        ("q2 orc: less than 60 percent less time than text", "60", False),
        ("q2 orc: less than 40 percent less time than text", "40", True),
    ],
)
def test_a_bound_has_a_side(claim: str, number: str, wrong: bool) -> None:
    assert checks(claim, number) == ["claims"] * wrong


@pytest.mark.parametrize(
    ("claim", "number", "unit", "wrong"),
    [
        ("q1 orc less time than text", "60", "percent", False),
        ("q1 orc more time than text", "60", "percent", True),
        ("q1 text more time than orc", "149", "percent", False),
        ("q1 text more time than orc", "60", "percent", True),
        ("q1 orc faster than text", "2.5", "times", False),
        ("q1 orc slower than text", "2.5", "times", True),
        ("compared to text, q1 orc less time", "60", "percent", False),
        ("q1 orc against text", "2.5", "factor", False),
        # The setup of q1 is 78 % less, but the time is that of the query.
        ("q1 orc less time than text", "78", "percent", True),
        ("q1 orc less setup time than text", "78", "percent", False),
        # q1 with orc against q2 with text is 80 %.
        ("q1 orc less time than text", "80", "percent", True),
        ("orc on average less time than text", "55", "percent", False),
        ("orc on average less time than text", "59", "percent", True),
    ],
)
def test_the_direction_and_the_baseline_count(
    claim: str, number: str, unit: str, wrong: bool
) -> None:
    assert checks(claim, number, unit) == ["claims"] * wrong


def test_a_preposition_is_no_bound() -> None:
    runs = "link,test,took_s\n10G,write,100\n25G,write,80\n10G,read,60\n25G,read,30\n"
    claim = "write over 25G takes less time than over 10G"
    assert checks(claim, "20", runs=runs) == []
    assert checks(claim, "35", runs=runs) == ["claims"]


def test_a_column_of_ratios_states_the_number() -> None:
    scaling = "servers,store,ops_per_s,speedup\n" + "".join(
        f"{servers},{store},{100 * speedup:g},{speedup:.2f}\n"
        for store in ("north", "south", "west")
        for servers, speedup in ((3, 1), (6, 1.9), (9, 2.7))
    )
    for number, count in (("2.7", 0), ("2.2", 1)):
        text = f"claim,value,unit\nspeedup north 9 against 3 servers,{number},factor\n"
        assert len(points(text, scaling)) == count
    uses = "link,streams,utilization_pct\nslow,1,49\nslow,8,88\nfast,1,74\nfast,8,96\n"
    uses += "fast,8,96\nslow,8,88\n"
    for number, count in (("96", 0), ("69", 1)):
        text = f"claim,value,unit\nutilization of the fast link with 8 streams,{number},percent\n"
        assert len(points(text, uses)) == count


def test_a_count_is_no_label() -> None:
    table = "job,platform,runs,mean_s\na,x,5,100\na,y,5,80\nb,x,5,50\nb,y,{},30\nc,x,5,9\nc,y,5,8\n"
    text = "claim,value,unit\nb on y less time than x,40,percent\n"
    assert points(text, table.format(5)) == points(text, table.format(4)) == []


def test_sentences_in_one_column() -> None:
    text = "page,sentence\n3,ORC needs {} % less time than text in q1.\n4,Each job ran 2 times.\n"
    assert points(text.format(60)) == []
    (point,) = points(text.format(25))
    assert (point.stated, point.cells) == ("25 %", ("statements.csv:2:sentence",))
    runs = "codec,job,time_s\nnone,sort,100\ngzip,sort,130\nnone,join,50\ngzip,join,55\n"
    text = "page,sentence\n3,gzip makes sort {} % slower than no compression.\n"
    assert points(text.format(30), runs) == []
    assert len(points(text.format(10), runs)) == 1


def test_numbers_in_words_and_verbs() -> None:
    table = "nodes,job,run,time_s\n" + "".join(
        f"{nodes} nodes,sort,{run},{time}\n"
        for nodes, times in ((4, (100, 104)), (8, (50, 52)))
        for run, time in enumerate(times, 1)
    )
    for words in (
        "Eight nodes finish sort # faster than four nodes.",
        "On eight nodes, sort runs # faster than on four nodes.",
        "Sort ran # faster with 8 nodes than with four nodes.",
    ):
        text = "page,sentence\n3,{}\n4,Each job was repeated.\n"
        quoted = '"' + words + '"'
        assert points(text.format(quoted.replace("#", "50 %")), table) == []
        (point,) = points(text.format(quoted.replace("#", "38 %")), table)
        assert point.check == "claims"
        assert "time_s 51 (mean of 2), 102 (mean of 2)" in point.found
    # a number that names no value of a table restricts the results in an unknown way
    text = "page,sentence\n3,Two of the jobs run 38 % faster on eight nodes than on four nodes.\n"
    (note,) = points(text + "4,Each job was repeated.\n", table)
    assert note.found == "line 2 (unknown word 'two')"


@pytest.mark.parametrize(
    ("sentence", "right"),
    [
        ("Sort is twice as fast on eight nodes as on four nodes.", True),
        ("Sort is three times as fast on eight nodes as on four nodes.", False),
        ("Sort runs three times as fast on eight nodes.", False),
        ("Sort takes half the time on 8 nodes.", True),
        ("Sort on four nodes takes twice the time of eight nodes.", True),
        ("Sort on four nodes takes three times as long as on eight nodes.", False),
        ("Four nodes need 1.67 times more time for sort than eight nodes.", True),
        ("Four nodes need 1.2 times more time for sort than eight nodes.", False),
        ("From 4 nodes to 8 nodes, the throughput of sort doubles.", True),
        ("From 4 nodes to 8 nodes, the throughput of sort triples.", False),
        ("Going from 4 nodes to 8 nodes cuts the time of sort by 40 %.", True),
        ("Going from 4 nodes to 8 nodes cuts the time of sort by 30 %.", False),
        ("The throughput of sort rises by 67 % from 4 nodes to 8 nodes.", True),
        ("The throughput of sort rises by 20 % from 4 nodes to 8 nodes.", False),
        ("Eight nodes improve sort by a factor of 1.7 over four nodes.", True),
        ("Eight nodes improve sort by a factor of 1.2 over four nodes.", False),
    ],
)
def test_factors_and_changes_in_words(sentence: str, right: bool) -> None:
    table = "nodes,job,run,time_s,mb_per_s\n" + "".join(
        f"{nodes} nodes,{job},{run},{work * time},{1000 / work / time:.2f}\n"
        for nodes, times in ((4, (100, 104)), (8, (60, 62)))
        for run, time in enumerate(times, 1)
        for job, work in (("sort", 1), ("scan", 0.5))
    )
    text = f'page,sentence\n3,"{sentence}"\n4,Each job ran 2 times.\n'
    assert [p.check for p in points(text, table)] == ([] if right else ["claims"])


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("With 8 nodes, sort finished in 70 s.", "time_s 60, 62 (2 results)"),
        ("Sort took 70 s on 8 nodes on average.", "time_s 60, 62 (2 results)"),
        ("Scan needed 25 s on four nodes.", "time_s 50.0, 52.0 (2 results)"),
        ("Sort achieves 12 MB/s on eight nodes.", "mb_per_s 16.67, 16.13 (2 results)"),
        ("With 8 nodes, sort finished in 61 s.", ""),
        ("The average time of sort on 8 nodes is 1.02 min.", ""),
        ("Sort achieves 16.4 MB/s on eight nodes.", ""),
        ("Sort needs about 60 s on eight nodes.", ""),
        # other times, sums, limits and differences
        ("We waited 90 s between sort runs on 8 nodes.", ""),
        ("All sort runs on 8 nodes took 122 s.", ""),
        ("Sort on 1 TB took 900 s on 8 nodes.", ""),
        ("Sort on 8 nodes took at most 90 s.", ""),
        ("Sort took 41 s more on 4 nodes than on 8 nodes.", ""),
    ],
)
def test_amounts_in_the_text(sentence: str, found: str) -> None:
    table = "nodes,job,run,time_s,mb_per_s\n" + "".join(
        f"{nodes} nodes,{job},{run},{work * time},{1000 / work / time:.2f}\n"
        for nodes, times in ((4, (100, 104)), (8, (60, 62)))
        for run, time in enumerate(times, 1)
        for job, work in (("sort", 1), ("scan", 0.5))
    )
    for text in (f'page,sentence\n3,"{sentence}"\n4,Each job ran 2 times.\n', _row(sentence)):
        tables = {"runs.csv": table, "statements.csv": text}
        parsed = {name: parse_table(cells, name) for name, cells in tables.items()}
        case = Case(case_of("intel-2012").results, tables=parsed, mapped=MAP)
        points = list(amounts.amounts_of_results(case))
        assert [p.found for p in points] == ([found] if found else [])


def _row(sentence: str) -> str:
    """A sentence as a row with a number and a unit."""
    number, unit = re.findall(r"([\d.]+) (s|min|MB/s)\b", sentence)[-1]
    rest = sentence.replace(f"{number} {unit}", "")
    return f'claim,value,unit\n"{rest}",{number},{unit}\nqueries,2,queries\n'


def test_a_number_column_of_another_name() -> None:
    text = "page,claim,number,unit\n4,q1 orc less time than text,{},percent\n"
    assert points(text.format(60)) == []
    assert len(points(text.format(25))) == 1


def test_a_note_lists_the_claims_that_were_not_compared() -> None:
    text = (
        "page,claim,value,unit\n1,q1 orc less time than text,60,percent\n"
        "2,q1 orc less time than text in winter,10,percent\n3,queries,2,queries\n"
    )
    (note,) = points(text)
    assert (note.check, note.severity) == ("not-compared", "note")
    assert note.subject == "statements.csv: 1 of 2 claims not compared"
    assert note.found == "line 3 (unknown word 'winter')"
