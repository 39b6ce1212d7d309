"""``windtunnel power`` and the tariff of ``report``, as typed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.support.powered import dcm_csv, powered
from windtunnel.cli import run
from windtunnel.results.folder import Results

MAP = "--map time=timestamp_local --map watts=power_w --map group=dcm_group"


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A study of two trials, and ``dcm.csv`` beside it: 800 W every 10 s in UTC-7."""
    found = powered(tmp_path / "out", trials=2)
    start = found.trials[0].started_at - 100
    count = int((found.trials[-1].finished_at - start) / 10) + 20
    dcm_csv(tmp_path / "dcm.csv", start, [800.0] * count, 10.0)
    return found


def windtunnel(results: Results, words: str) -> int:
    return run(shlex.split(words.format(d=results.path.parent)))


def test_readers_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["power"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("csv (metered", "rapl (rapl", "modelled (modelled"))


def test_import_then_report(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    words = "power {d}/out --csv {d}/dcm.csv " + MAP + " --zone=-07:00 --hosts 4 --source DCM"
    assert windtunnel(results, words) == 0
    assert "metered: DCM, GroupBD, 4 hosts" in capsys.readouterr().out
    assert windtunnel(results, words) == 0
    assert "nothing was changed" in capsys.readouterr().out

    words = "report {d}/out --json --years 5 --pue 1.5 --electricity '0.2 USD/kWh'"
    assert windtunnel(results, words + " --utilisation '50 %'") == 0
    data = json.loads(capsys.readouterr().out)
    watts = {r["mean"] for r in data["energy"]["rows"] if r["metric"] == "power_metered"}
    assert min(watts) == pytest.approx(800.0)
    assert max(watts) == pytest.approx(800.0)
    assert data["price"]["tariff"]["pue"] == 1.5


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("power {d}/out", 2, "nothing to import"),
        ("power {d}/nowhere --csv {d}/dcm.csv " + MAP, 6, "does not exist"),
        ("power {d}/out --csv {d}/none.csv " + MAP, 3, "none.csv"),
        ("power {d}/out --csv {d}/dcm.csv --map watts=power_w", 2, "the role 'time' has no column"),
        ("power {d}/out --csv {d}/dcm.csv --map power_w", 2, "expected ROLE=COLUMN"),
        ("power {d}/out --csv {d}/dcm.csv " + MAP.replace("power_w", "watt"), 3, "'watt'"),
        ("power {d}/out --csv {d}/dcm.csv " + MAP, 3, "dcm.csv:2: key 'timestamp_local'"),
        ("power {d}/out --csv {d}/dcm.csv " + MAP + " --zone PST", 2, "no such time zone"),
        ("power {d}/out --csv {d}/dcm.csv " + MAP + " --zone UTC", 2, "check --zone"),
        ("power {d}/out --csv {d}/dcm.csv " + MAP + " --zone UTC --group X", 2, "group 'X'"),
        ("power {d}/out --csv {d}/dcm.csv " + MAP + " --stamp middle", 2, "--stamp middle"),
        ("power {d}/out --csv {d}/dcm.csv " + MAP + " --period 180", 2, "--period"),
        ("power {d}/out --csv {d}/dcm.csv " + MAP + " --delimiter abc", 2, "one character"),
        ("report {d}/out --electricity 0.15", 2, "price per kWh"),
        ("report {d}/out --pue 0.5", 2, "at least 1"),
        ("report {d}/out --years 0", 2, "more than 0"),
        ("report {d}/out --utilisation 60", 2, "--utilisation"),
    ],
)
def test_a_mistake_is_answered(
    results: Results, capsys: pytest.CaptureFixture[str], words: str, code: int, said: str
) -> None:
    assert windtunnel(results, words) == code
    shown = capsys.readouterr().err
    assert said in shown
    assert "what to do: " in shown or "must be" in shown
    assert not (results.path / "power").exists()
