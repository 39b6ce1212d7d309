"""An existing cluster for the tests: web servers with recorded answers, and permission."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster_web import CLUSTER, ClusterWeb, serving
from windtunnel.testbeds.attached.allowance import VARIABLE, Allowance, allow


@pytest.fixture
def web() -> ClusterWeb:
    return ClusterWeb()


@pytest.fixture
def conf(web: ClusterWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "allowed.json"))
    allow(Allowance(CLUSTER, "default", 1 << 40, 20, "2099-12-31"))
    with serving(web, tmp_path) as folder:
        yield folder
