"""The page: parses, needs no network, has its headings in order and words for every chart."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import analyse
from windtunnel.report.html import write_html
from windtunnel.report.terminal import print_report
from windtunnel.report.timeline_selection import choose
from windtunnel.results.folder import Results, read_results
from windtunnel.results.record import Trial

VOID = {"meta", "input", "br", "link", "img", "hr"}
NASTY = '</script><img src=x onerror="alert(1)">'


class Page(HTMLParser):
    """Collects tags with attributes, checks that they nest, and keeps scripts apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def load(path: Path) -> Results:
    return read_results(path)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page")
    plan = Plan(trials=6, seconds=300, series=60, tasks=200, invalid=(2,))
    found = load(study_folder(folder, plan))
    write_html(analyse(found), found, folder / "report.html")
    return (folder / "report.html").read_text()


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_the_page_nests_and_is_small(text: str, page: Page):
    assert page.open == []
    assert len(text) < 5_000_000


def test_nothing_is_loaded_from_elsewhere(text: str, page: Page):
    for tag, attrs in page.tags:
        for name in ("src", "href", "data", "action", "srcset", "xlink:href"):
            value = attrs.get(name)
            assert value is None or value.startswith("#"), (tag, name, value)
    assert not re.search(r"@import|url\((?!#)|https?://", text)


def test_the_answer_comes_before_everything_else(text: str):
    assert text.index('id="answer"') < text.index("<h2")
    assert "less time" in text


def test_headings_go_down_one_step_at_a_time(page: Page):
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_every_chart_has_words(page: Page):
    charts = [a for _, a in page.tags if a.get("class") == "chart"]
    assert len(charts) == 5
    assert all(a.get("role") == "img" and len(a.get("aria-label") or "") > 40 for a in charts)
    assert all(a.get("aria-hidden") == "true" for a in page.all("svg") if "width" in a)


def test_tables_have_captions_and_scopes(page: Page):
    assert len(page.all("caption")) == len(page.all("table"))
    assert all("scope" in attrs for attrs in page.all("th"))


def test_controls_have_labels_and_ids_are_unique(page: Page):
    labelled = {a.get("for") for a in page.all("label")}
    controls = [a.get("id") for tag in ("select", "input") for a in page.all(tag)]
    assert set(controls) <= labelled
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for attrs in page.all("a"):
        assert (attrs.get("href") or "").lstrip("#") in ids


def test_landmarks_and_language(page: Page):
    assert page.all("html")[0]["lang"] == "en"
    assert [len(page.all(tag)) for tag in ("header", "nav", "main", "footer")] == [1, 1, 1, 1]


def test_the_timeline_holds_every_trial_of_a_small_study(page: Page):
    data = json.loads(page.scripts[0])
    assert len(data) == 6
    assert {"cpu_user", "disk_read", "net_sent", "memory_used"} <= set(
        data[0]["hosts"]["this-machine"]
    )
    assert [name for name, _ in data[0]["lanes"]] == ["worker-1", "worker-2", "worker-3"]
    for trial in data:
        assert all(0 <= b[1] <= trial["span"] for _, bars in trial["lanes"] for b in bars)


def test_invalid_trials_are_shown_with_the_reason(page: Page):
    assert any("checksum of the output differs" in piece for piece in page.text)


def test_text_from_the_study_is_escaped(tmp_path: Path):
    found = load(study_folder(tmp_path, Plan(trials=2, levels=("a", NASTY), write_samples=False)))
    study = found.study.model_copy(update={"name": NASTY, "question": NASTY})
    nasty = Results(found.path, study, found.trials)
    write_html(analyse(nasty), nasty, tmp_path / "r.html")
    page = Page((tmp_path / "r.html").read_text())
    assert page.open == []
    assert page.all("img") == []


def test_a_damaged_samples_file_is_a_note_and_no_failure(tmp_path: Path):
    found = load(study_folder(tmp_path, Plan(trials=2, tasks=4)))
    (tmp_path / "samples" / "t00001.parquet").write_bytes(b"PAR1 not really")
    write_html(analyse(found), found, tmp_path / "r.html")
    assert "t00001.parquet cannot be read" in (tmp_path / "r.html").read_text()


def test_an_empty_study_has_a_page(tmp_path: Path):
    found = load(study_folder(tmp_path, Plan(trials=1, write_samples=False)))
    empty = Results(found.path, found.study, [])
    write_html(analyse(empty), empty, tmp_path / "r.html")
    assert "no valid trial" in (tmp_path / "r.html").read_text()


def test_a_large_study_shows_a_choice_of_trials_and_says_so(tmp_path: Path):
    plan = Plan(trials=40, levels=("a", "b", "c", "d"), invalid=(9,), write_samples=False)
    found = load(study_folder(tmp_path, plan))
    analysis = analyse(found)
    picked = choose(analysis)
    assert len(picked) <= 12
    assert {c.trial.treatment for c in picked if c.why == "median of its treatment"} == set("abcd")
    assert "t00009" in {c.trial.id for c in picked}
    slowest = max(
        (t for t in analysis.trials if t.verdict == "valid"), key=lambda t: t.elapsed["total"]
    )
    assert slowest.id in {c.trial.id for c in picked}
    write_html(analysis, found, tmp_path / "r.html")
    assert f"{len(picked)} of 40 trials" in (tmp_path / "r.html").read_text()


def test_a_lone_phase_is_told_once_as_the_total(tmp_path: Path):
    def first_phase_alone(trial: Trial) -> Trial:
        return trial.model_copy(update={"phases": trial.phases[:1]})

    found = load(study_folder(tmp_path, Plan(trials=6, edit=first_phase_alone)))
    analysis = analyse(found)
    write_html(analysis, found, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    shown = StringIO()
    print_report(analysis, Console(file=shown, width=120))

    (name, total) = analysis.phases["terasort"]
    assert f"terasort {total}</th>" in page
    assert f"terasort {name}</th>" not in page
    assert f"terasort {name} " not in shown.getvalue()
    assert {effect.phase for effect in analysis.effects} == {name, total}, "the data has both"
