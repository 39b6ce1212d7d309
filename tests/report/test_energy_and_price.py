"""Energy and price on the terminal, on the page and as JSON."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.powered import METERED, busy, powered, steady
from windtunnel.analysis.analyse import Analysis, analyse
from windtunnel.analysis.cost.price import MODEL_COSTS
from windtunnel.analysis.formatting import money, quantity
from windtunnel.report.charts import CHARTS
from windtunnel.report.export import to_json
from windtunnel.report.html import write_html
from windtunnel.report.sections import energy, price
from windtunnel.report.sections.known import INTERVALS_UNKNOWN
from windtunnel.report.terminal import print_report
from windtunnel.results.folder import Results
from windtunnel.results.record import ScaleRecord


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    path = tmp_path_factory.mktemp("powered")
    dearer = {"tuned": {"hosts.worker.price": "15000 USD"}}
    return analyse(powered(path, samples=steady(800.0), source=METERED, overrides=dearer))


def test_the_page_has_both_charts_and_their_words(analysis: Analysis, tmp_path: Path) -> None:
    write_html(analysis, analysis.results, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()

    assert '<section id="energy"' in page
    assert '<section id="price"' in page
    assert "Mean energy by treatment with 95 % intervals" in page
    assert "Time against price or energy" in page


def test_the_terminal_says_source_and_assumptions(analysis: Analysis) -> None:
    shown = io.StringIO()
    print_report(analysis, Console(file=shown, width=120))
    text = shown.getvalue()

    assert "metered energy: Intel DCM, GroupBD, 4 hosts" in text
    assert "Assumed: 3 years at 100 % utilisation, electricity 0.13 USD/kWh, PUE 1." in text
    assert "49,000 USD" in text


def test_a_scale_model_has_changes_of_costs_and_no_costs(tmp_path: Path) -> None:
    full = powered(tmp_path, samples=steady(800.0), source=METERED)
    study = full.study.model_copy(update={"scale": ScaleRecord(rate=0.1, data=0.1)})
    shown = analyse(Results(full.path, study, full.trials))
    section = price.section(shown)
    assert section is not None

    assert MODEL_COSTS in section.said
    captions = [table.caption for table in section.tables]
    assert not any(caption.startswith("Cost of the work") for caption in captions)
    assert any(caption.startswith("Change of price/performance") for caption in captions)
    assert "USD per TB" not in json.dumps(to_json(shown)).replace('"unit": "USD per TB/h"', "")
    assert section.data["figures"] == []
    for effect in section.data["effects"]:
        assert math.isnan(effect["mean"]) and math.isfinite(effect["relative"])


@pytest.mark.parametrize("scale", [None, ScaleRecord(rate=0.1, data=0.1)])
def test_modelled_energy_of_a_scale_model_states_what_it_is(
    tmp_path: Path, scale: ScaleRecord | None
) -> None:
    full = powered(tmp_path, samples=busy(0.25))
    study = full.study.model_copy(update={"scale": scale})
    section = energy.section(analyse(Results(full.path, study, full.trials)))
    assert section is not None
    assert (energy.MODEL_ENERGY in section.said) == (scale is not None)


@pytest.mark.parametrize("trials", [2, 6])
def test_unknown_intervals_of_prices_are_stated_once(tmp_path: Path, trials: int) -> None:
    study = powered(tmp_path, samples=steady(800.0), source=METERED, trials=trials)
    section = price.section(analyse(study))
    assert section is not None
    (costs,) = [t for t in section.tables if t.caption.startswith("Cost of the work")]
    texts = [text for row in costs.rows for text in row[1:]]
    known = trials == 6
    assert section.lead.endswith(f"{INTERVALS_UNKNOWN.capitalize()}.") != known
    assert ("interval" in costs.caption) == known
    assert any("[" in text for text in texts) == known
    assert not any("n = 1" in text for text in texts)


def test_json_holds_every_number(analysis: Analysis) -> None:
    data = json.loads(json.dumps(to_json(analysis), allow_nan=False))
    joules = {
        row["treatment"]: row["mean"]
        for row in data["energy"]["rows"]
        if (row["metric"], row["phase"]) == ("energy_metered", "total")
    }
    watts = {name: joules[name] / 800.0 for name in joules}

    assert set(joules) == {"stock", "tuned"}
    assert 50 < watts["stock"] < 70
    assert data["energy"]["sources"] == {"metered": ["Intel DCM, GroupBD, 4 hosts"]}
    assert {row["metric"] for row in data["price"]["figures"]} == {
        "price_performance",
        "hardware_cost_per_tb",
        "cost_per_tb",
        "cost_over_years",
    }


@pytest.mark.parametrize("name", ["energy", "pareto"])
@pytest.mark.parametrize("width", [900, 326])
def test_charts_fit(analysis: Analysis, name: str, width: int) -> None:
    drawing = CHARTS[name].draw(analysis, width)
    assert drawing is not None
    (panel,) = drawing["vconcat"]
    assert 0.5 * width < panel["width"] < width


@pytest.mark.parametrize("name", ["energy", "pareto"])
def test_there_is_no_chart_of_nothing(name: str, tmp_path: Path) -> None:
    bare = analyse(powered(tmp_path, testbed="local", cluster={}))
    assert CHARTS[name].draw(bare, 900) is None


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [(7250.0, "J", "7.25 kJ"), (3.6e6, "J", "1.00 kWh"), (4.4e5, "J s", "440 kJ s")],
)
def test_energy_in_words(value: float, unit: str, words: str) -> None:
    assert quantity(value, unit) == words


def test_money_in_words() -> None:
    assert money(29988.92, "USD") == "29,989 USD"
    assert money(0.1284, "USD") == "0.128 USD"
    assert money(None, "USD") == "unknown"
