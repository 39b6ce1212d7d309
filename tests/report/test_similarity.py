"""The section "Similarity" of a study of a scale model."""

from __future__ import annotations

from pathlib import Path

from tests.support.models import known
from tests.support.synthetic import Plan, study_folder
from windtunnel.analysis.analyse import analyse
from windtunnel.analysis.bottleneck.physical_limits import (
    limits_by_host,
    limits_by_treatment,
    limits_of,
)
from windtunnel.report.sections.similarity import section
from windtunnel.results.folder import read_results
from windtunnel.results.record import ScaleRecord
from windtunnel.testbeds.base import Load
from windtunnel.testbeds.scaled.scale import Scale
from windtunnel.testbeds.scaled.similarity import similarity


def test_a_study_at_full_size_has_no_such_section(tmp_path: Path) -> None:
    study_folder(tmp_path, Plan())

    assert section(analyse(read_results(tmp_path))) is None


def test_the_groups_are_shown_with_states_and_consequences(tmp_path: Path) -> None:
    study_folder(tmp_path, Plan())
    groups = similarity(known(), Scale(rate=0.025, data=0.001), [Load("terasort", 1e12, 1e9)])
    file = tmp_path / "study.json"
    results = read_results(tmp_path)
    scale = ScaleRecord(rate=0.025, data=0.001, groups=groups)
    stored = results.study.model_copy(update={"scale": scale})
    file.write_text(stored.model_dump_json(by_alias=True))

    made = section(analyse(read_results(tmp_path)))

    assert made is not None
    assert "absolute times are those of the model" in made.lead
    table = made.tables[0]
    assert len(table.rows) == len(groups)
    assert {table.rows[i][-1] for i in table.strong} == {"broken"}
    assert any("start-up is about" in line for line in made.said)
    assert made.data["rate"] == 0.025


def test_limits_of_a_model_are_the_described_ones_times_the_rate(tmp_path: Path) -> None:
    study_folder(tmp_path, Plan(cluster=known().model_dump(mode="json")))
    results = read_results(tmp_path)
    results.study.testbed = "scaled"
    full = limits_of(results)
    results.study.scale = ScaleRecord(rate=0.025, data=0.001)
    model, treatment = limits_of(results), results.study.treatments[0].id

    assert full.network == 4 * 1.25e9
    assert model.network == 0.025 * 4 * 1.25e9
    assert model.cores == 0.025 * 32
    assert model.memory is None
    assert limits_by_treatment(results)[treatment].disk_read == model.disk_read
    assert limits_by_host(results)[treatment]["worker-1"].threads == 0.025 * 8

    results.study.scale = ScaleRecord(rate=0.025, data=0.001, core_speed=2.0)
    assert limits_of(results).cores == 0.025 * 32 / 2, "a faster core has a smaller quota"
    assert limits_of(results).network == model.network
    assert limits_by_host(results)[treatment]["worker-1"].threads == 0.025 * 8 / 2
