"""The claims of the published studies: complete, consistent with the facts, and checked."""

from __future__ import annotations

from statistics import fmean

import pytest

from tests.support.published import case_of
from windtunnel.cluster import load_text
from windtunnel.errors import DescriptionError, UsageError
from windtunnel.published import published_names
from windtunnel.published.claims import claims_from, study_claims
from windtunnel.published.sources import build_published, fact_table, facts
from windtunnel.study.file import load_study
from windtunnel.study.plan import make_plan

NAMES = published_names()
GOOD = """\
study: mine
runs:
  demo: {minutes: 3, treatments: 2, needs: nothing}
claims:
  - id: one
    topic: network
    says: it is faster
    source: page 1
    published: 0.5
    here: {run: demo, workload: terasort, phase: total, treatment: {settings: tuned}}
"""


@pytest.mark.parametrize("name", NAMES)
def test_each_study_has_claims(name: str) -> None:
    claims = study_claims(name)
    assert claims.study == name and len(claims.claims) >= 9
    for claim in claims.claims:
        assert claim.source and claim.says


@pytest.mark.parametrize("name", NAMES)
def test_published_ratios_are_those_of_the_facts(name: str) -> None:
    """Wherever the runs of the study have both sides, the ratio is that of their means."""
    analysis = case_of(name).analysis
    checked = 0
    for claim in study_claims(name).claims:
        if claim.measure is None or claim.published is None:
            continue
        m = claim.measure
        sides = [
            analysis.cell(side, m.workload, m.phase, m.metric) for side in (m.treatment, m.baseline)
        ]
        if all(sides):
            means = [side.mean for side in sides if side]
            assert claim.published == pytest.approx(means[0] / means[1], rel=2e-3), claim.id
            checked += 1
    assert checked >= {"cisco-2014": 80, "vmware-2011": 90, "cern-2016": 10}.get(name, 0)


@pytest.mark.parametrize("name", NAMES)
def test_treatments_exist(name: str) -> None:
    treatments = {one.id for one in build_published(name).study.treatments}
    for claim in study_claims(name).claims:
        if claim.measure is not None and claim.measure.workload != "get":
            assert {claim.measure.treatment, claim.measure.baseline} <= treatments, claim.id


@pytest.mark.parametrize("name", NAMES)
def test_runs_are_studies_with_the_treatments_of_the_claims(name: str) -> None:
    claims = study_claims(name)
    plans = {run: make_plan(*load_study(run)) for run in claims.runs}
    for run, plan in plans.items():
        assert claims.runs[run].treatments == len(plan.treatments), run
        assert plan.protocol.rounds >= 3
    for claim in claims.claims:
        if claim.here is None:
            continue
        plan = plans[claim.here.run]
        assert claim.here.workload in plan.workloads
        for levels in (claim.here.treatment, claim.here.baseline):
            wanted = {**plan.baseline, **levels}
            assert any(dict(t.levels) == wanted for t in plan.treatments), claim.id


def test_every_text_claim_is_a_row() -> None:
    """VMware's 31 textual claims: one is a general number without a measurement."""
    texts = [c for c in study_claims("vmware-2011").claims if c.id.startswith("text-")]
    assert len(texts) >= len(fact_table("vmware-2011", "claims.csv").rows) - 2


def test_sources_name_files_that_exist() -> None:
    for name in NAMES:
        files = facts(name)
        for claim in study_claims(name).claims:
            named = [w.strip(",;") for w in claim.source.split() if w.strip(",;").endswith(".csv")]
            assert all(file in files for file in named), claim.id


def test_a_good_file_is_read() -> None:
    claim = claims_from(load_text(GOOD, "claims.yaml")).claim("one")
    assert claim.tolerance == 0.15 and fmean([claim.published or 0]) == 0.5


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "message"),
    [
        ("run: demo", "run: dmo", 10, "claims.0.here.run", "there is no run 'dmo'"),
        (
            "published: 0.5",
            "published: -1",
            9,
            "claims.0.published",
            "must be more than 0|greater than 0|above 0",
        ),
        ("topic: network", "topik: network", 6, "claims.0.topik", "unknown key"),
        ("    here:", "    cannot: no\n    here:", 10, "claims.0.cannot", "exactly one of"),
        ("published: 0.5", "tolerance: 2", 9, "claims.0.tolerance", "must be at most 1, not 2"),
        ("id: one", "id: One two", 5, "claims.0.id", "pattern"),
    ],
)
def test_an_error_names_file_line_and_key(
    old: str, new: str, line: int, key: str, message: str
) -> None:
    with pytest.raises(DescriptionError, match=message) as caught:
        claims_from(load_text(GOOD.replace(old, new), "claims.yaml"))
    text = caught.value.render()
    assert f"claims.yaml:{line}" in text and f"'{key}'" in text


def test_an_id_that_occurs_twice() -> None:
    double = GOOD + GOOD[GOOD.index("  - id") :]
    with pytest.raises(DescriptionError, match="occurs twice"):
        claims_from(load_text(double, "claims.yaml"))


def test_an_unknown_claim_has_a_suggestion() -> None:
    with pytest.raises(UsageError, match="no claim 'putt'") as caught:
        study_claims("intel-2012").claim("putt")
    assert "put" in caught.value.remedy
