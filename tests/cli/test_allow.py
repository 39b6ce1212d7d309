"""``allow`` and ``run --dry-run`` as the user sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cluster_web import CLUSTER, ClusterWeb, serving
from windtunnel.cli import run
from windtunnel.testbeds.attached.allowance import VARIABLE, Allowance, allowances

LIMITS = ["--queue", "bench", "--space", "2 TiB", "--containers", "40", "--until", "2099-12-31"]
STUDY = """\
study: toy
cluster: local-1
testbed: {{kind: attached, conf: {conf}, queue: bench}}
workloads:
  pi: {{maps: 2, samples_per_map: 1000}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's, and an allow list of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "allowed.json"))
    return tmp_path


def test_an_entry_is_written_listed_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["allow"]) == 0
    assert "no cluster is allowed" in capsys.readouterr().out
    assert run(["allow", "CID-1", *LIMITS]) == 0
    assert allowances() == [Allowance("CID-1", "bench", 2 << 40, 40, "2099-12-31")]
    capsys.readouterr()
    assert run(["allow"]) == 0
    text = "CID-1: queue bench, 2.20 TB, 40 containers, until 2099-12-31\n"
    assert capsys.readouterr().out == text
    assert run(["allow", "CID-1", "--remove"]) == 0
    assert allowances() == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"--space": "much"}, "--space much"),
        ({"--space": "0 B"}, "--space must be positive"),
        ({"--containers": "0"}, "--containers must be positive"),
        ({"--until": "soon"}, "--until soon: not a date"),
        ({"--until": "2020-01-01"}, "is in the past"),
        ({"--until": None}, "are required"),
    ],
)
def test_a_wrong_limit_is_refused(
    changed: dict[str, str | None], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given: dict[str, str | None] = dict(zip(LIMITS[::2], LIMITS[1::2], strict=True))
    words = [w for name, value in (given | changed).items() if value for w in (name, value)]

    assert run(["allow", "CID-1", *words]) == 2
    assert says in capsys.readouterr().err
    assert allowances() == []


def test_a_study_is_refused_then_listed_and_nothing_is_written(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    web = ClusterWeb()
    with serving(web, here) as conf:
        (here / "study.yaml").write_text(STUDY.format(conf=conf))
        assert run(["run", "study.yaml", "--dry-run"]) == 13
        assert f"windtunnel allow {CLUSTER} --queue bench" in capsys.readouterr().err
        assert run(["allow", CLUSTER, *LIMITS]) == 0
        assert run(["run", "study.yaml", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert f"id {CLUSTER}, user " in out
    assert "queue bench" in out
    assert "container-hours: at most" in out
    assert not (here / "windtunnel-results").exists()
    assert not [target for target in web.requests if "webhdfs" in target]
