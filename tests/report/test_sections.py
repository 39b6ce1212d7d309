"""One pipeline: every renderer shows the same sections, in the order of a reader's questions."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from tests.report.test_html import Page
from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.published import open_results
from windtunnel.report.charts import CHARTS
from windtunnel.report.export import to_json
from windtunnel.report.html import typographic, write_html
from windtunnel.report.markdown import to_markdown
from windtunnel.report.sections import SECTIONS, headline, sections
from windtunnel.report.sections.base import GROUPS, Column, Note, Section, Table
from windtunnel.report.sections.known import without_unknown
from windtunnel.report.terminal import print_report
from windtunnel.results.folder import read_results

ALWAYS = ("findings", "cells", "effects", "trials", "warnings", "limits")
NBSP = "\N{NO-BREAK SPACE}"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """A study of one factor with 69 levels, each run once."""
    levels = tuple(f"{64 + 8 * i} MB" for i in range(69))
    plan = Plan(trials=69, levels=levels, factor="block", write_samples=False)
    return analyse(read_results(study_folder(tmp_path_factory.mktemp("many"), plan)))


def terminal(analysis: Analysis, width: int = 100) -> str:
    out = io.StringIO()
    print_report(analysis, Console(file=out, width=width))
    return out.getvalue()


def page(analysis: Analysis, path: Path) -> str:
    write_html(analysis, analysis.results, path / "r.html")
    return (path / "r.html").read_text()


@pytest.fixture(scope="module")
def cisco() -> Analysis:
    return analyse(open_results("published:cisco-2014"))


@pytest.fixture(scope="module")
def cisco_page(cisco: Analysis, tmp_path_factory: pytest.TempPathFactory) -> str:
    return page(cisco, tmp_path_factory.mktemp("cisco"))


def test_a_section_of_somebody_else_is_in_every_renderer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def maker(analysis: Analysis) -> Section:
        return Section(
            id="extra",
            title="Something extra",
            said=["extra things were seen"],
            notes=[Note("x", "caution", "a caution of its own", "do this", 3)],
            tables=[Table("Extra table", [Column("what"), Column("size", True)], [("a", "12 s")])],
            data=[{"what": "a"}],
        )

    monkeypatch.setitem(SECTIONS, "extra", maker)
    analysis = analyse(read_results(study_folder(tmp_path, Plan(trials=4, write_samples=False))))
    for shown in (terminal(analysis), to_markdown(analysis), page(analysis, tmp_path)):
        for words in ("Something extra", "extra things were seen", "Extra table"):
            assert words in shown
        assert re.search("a caution of its own", shown, re.IGNORECASE)
    assert to_json(analysis)["extra"] == [{"what": "a"}]


def test_groups_stand_in_the_order_of_the_questions(cisco: Analysis) -> None:
    groups = list(dict.fromkeys(section.group for section in sections(cisco)))
    assert groups == [group for group in GROUPS if group in groups]
    titles = [section.title for section in sections(cisco) if section.shown]
    for shown in (terminal(cisco).splitlines(), to_markdown(cisco).splitlines()):
        heads = [line.removeprefix("## ") for line in shown]
        places = [heads.index(title) for title in titles]
        assert places == sorted(places)


def test_json_has_its_keys_even_of_an_empty_study(tmp_path: Path) -> None:
    found = read_results(study_folder(tmp_path, Plan(trials=1, write_samples=False)))
    empty = analyse(type(found)(found.path, found.study, []))
    data = json.loads(json.dumps(to_json(empty), allow_nan=False))
    assert all(isinstance(data[key], list) for key in ALWAYS)
    assert data["findings"] == data["trials"] == []
    assert terminal(empty) and to_markdown(empty)


def test_what_makes_it_trustworthy_is_folded_to_a_line_each(
    cisco: Analysis, cisco_page: str
) -> None:
    trust = cisco_page[cisco_page.index('<section id="trust"') :]
    assert cisco_page.index('id="trials"') < cisco_page.index('<section id="trust"')
    shown = [s for s in sections(cisco) if s.group == "trust" and s.shown]
    assert {"warnings", "invalid", "limits"} <= {s.id for s in shown}
    for section in shown:
        assert re.search(
            rf'<details class="fold"><summary><h3 id="h-{section.id}">.*?</summary>\s*'
            rf'<section id="{section.id}"',
            trust,
        )
    assert "<details open" not in cisco_page
    assert Page(cisco_page).open == []


def test_no_reader_sees_the_id_of_a_treatment(cisco: Analysis, cisco_page: str) -> None:
    ids = re.compile(r"(?<![\w-])test\d+(?![\w-])")  # in the id of a trial it may stand
    shown = cisco_page[: cisco_page.index('id="provenance"')]
    for text in (terminal(cisco), to_markdown(cisco), shown):
        assert not ids.search(text)
    assert any(cell["treatment"] == "test7" for cell in to_json(cisco)["cells"])


def test_the_first_sentence_names_three_things_at_most(cisco: Analysis, many: Analysis) -> None:
    assert headline(cisco).startswith("network 10 Gb/s -> 1 Gb/s has the largest effect on ")
    assert len(re.findall(r" total \(", headline(cisco))) == 3
    assert "68 changes" in headline(many) and len(headline(many)) < 200


def test_many_effects_are_in_one_picture_and_details_are_folded(
    cisco: Analysis, cisco_page: str, tmp_path: Path
) -> None:
    found = {section.id: section for section in sections(cisco)}
    assert found["findings"].charts == ("overview",)
    assert found["effects"].charts == () and found["effects"].details == ("effects",)
    assert all(table.folded for table in found["effects"].tables)
    said = CHARTS["overview"].describe(cisco)
    assert said.index("1 Gb/s : 10 Gb/s: +170 %") < said.index("E5-2695 v2 : E5-2660 v2")
    drawn = CHARTS["overview"].draw(cisco, 900)
    assert drawn is not None
    assert len([key for key in drawn if key.endswith("concat")]) == 0, "one plot, one scale"
    shown = re.search(r"<ul class=\"findings\">(.*?)</ul>", cisco_page, re.DOTALL)
    assert shown is not None and shown[1].count("<li") == 5
    assert f"{len(cisco.findings) - 5} more" in cisco_page
    few = analyse(read_results(study_folder(tmp_path, Plan(trials=6, write_samples=False))))
    assert CHARTS["overview"].draw(few, 900) is None


def test_forests_share_one_scale(cisco: Analysis) -> None:
    drawn = CHARTS["effects"].draw(cisco, 900)
    assert drawn is not None

    def domains(part: object) -> list[str]:
        if isinstance(part, dict):
            own = (
                [json.dumps(part["scale"]["domain"])]
                if "relative" in str(part.get("field")) and "domain" in part.get("scale", {})
                else []
            )
            return own + [one for value in part.values() for one in domains(value)]
        return [one for value in part for one in domains(value)] if isinstance(part, list) else []

    found = domains(drawn["vconcat"])
    assert len(found) == len(drawn["vconcat"]) > 1
    assert len(set(found)) == 1


def test_what_findings_have_in_common_is_said_once(cisco: Analysis, tmp_path: Path) -> None:
    (found,) = [section for section in sections(cisco) if section.id == "findings"]
    assert "n = 3 per cell, indicative" in found.lead and "7 comparisons" in found.lead
    assert not any("indicative" in said or "7 comparisons" in said for said in found.said)
    # an effect without an interval is no comparison: WordCount has one less
    others = [said for said in found.said if "comparisons" in said]
    assert others and all("wordcount" in said and "6 comparisons" in said for said in others)
    assert all("indicative" in text for text in to_json(cisco)["findings"]), "JSON has it whole"


def test_an_unknown_interval_is_said_once(many: Analysis, tmp_path: Path) -> None:
    text = to_markdown(many)
    assert text.count("interval unknown") == 1
    assert "136 MB: " in text
    for shown in (terminal(many), page(many, tmp_path)):
        assert len(re.findall("interval unknown", shown)) == 1


def test_columns_of_which_nothing_is_known_are_left_out() -> None:
    columns = [Column("a"), Column("interval", True), Column("verdict")]
    rows = [("x", "unknown", "bad"), ("y", "interval unknown", "good")]
    table = Table("T", columns, rows, alert=frozenset({(0, 2)}))
    made = without_unknown(table, "interval")
    assert [column.name for column in made.columns] == ["a", "verdict"]
    assert list(made.rows) == [("x", "bad"), ("y", "good")]
    assert made.alert == {(0, 1)}
    some = Table("T", columns, [*rows, ("z", "[1, 2]", "good")])
    assert without_unknown(some, "interval") == some


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("takes 31 % less, 24 disks", f"takes 31{NBSP}% less, 24{NBSP}disks"),
        ("664 MB/s of 1.5 Gb/s", f"664{NBSP}MB/s of 1.5{NBSP}Gb/s"),
        ("+170 % [+148, +194]", f"+170{NBSP}% [+148,{NBSP}+194]"),
        ("n = 3 per cell", f"n{NBSP}={NBSP}3 per cell"),
        ("in 2014 several", "in 2014 several"),
    ],
)
def test_numbers_stay_with_their_units_on_the_page(text: str, kept: str) -> None:
    assert typographic(text) == kept
