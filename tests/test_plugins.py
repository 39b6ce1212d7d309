"""Plug-ins: names without imports, clear messages for what cannot be used, and the switch."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.mock import MockTestbed, run_study, toy_plan
from tests.support.packages import install
from tests.support.synthetic import Plan, study_folder
from windtunnel import plugins
from windtunnel.analysis.analyse import analyse
from windtunnel.analysis.warnings import RULES
from windtunnel.cli.doctor import CHECKS, checkup
from windtunnel.cluster import ROLES, Cluster, load_text, validate
from windtunnel.cluster.role_table import Roles
from windtunnel.engines.registry import ENGINES
from windtunnel.errors import DescriptionError, SetupError
from windtunnel.plugins import SWITCH, Registry
from windtunnel.probes.registry import PROBES
from windtunnel.probes.sampler import Sampler
from windtunnel.report.export import to_json
from windtunnel.report.sections import SECTIONS
from windtunnel.results.folder import read_results
from windtunnel.testbeds import TESTBEDS
from windtunnel.workloads import WORKLOADS

SHAPES = {"square": "tests.support.packages:install", "round": print}
REGISTRIES = (WORKLOADS, ENGINES, TESTBEDS, PROBES, SECTIONS, CHECKS, RULES)


def shapes() -> Registry[object]:
    return Registry("checks", "shape", SHAPES)


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of ``sys.path`` for packages; what they bring is forgotten afterwards."""
    modules = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path / "site")
    plugins.warn.cache_clear()
    yield tmp_path / "site"
    for name in set(sys.modules) - modules:
        if name.startswith("plug_"):
            del sys.modules[name]


# --- the registry ---------------------------------------------------------------------------


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_every_part_that_ships_can_be_loaded(registry: Registry[object]) -> None:
    assert list(registry.problems()) == []
    assert list(dict(registry.items())) == list(registry)


def test_there_is_a_registry_for_every_kind() -> None:
    assert {registry.kind for registry in REGISTRIES} == set(plugins.KINDS)


def test_names_come_without_importing_anything(target: Path) -> None:
    install(target, "plug-shapes", {"checks": {"oval": "plug_shapes:OVAL"}}, "OVAL = 'an oval'")
    registry = shapes()
    assert list(registry) == ["square", "round", "oval"]
    assert "oval" in registry and len(registry) == 3
    assert "plug_shapes" not in sys.modules
    assert registry["oval"] == "an oval"
    assert "plug_shapes" in sys.modules
    assert registry["round"] is print and registry["square"] is install
    assert registry.describe("oval") == "the shape 'oval' of the plug-in plug-shapes 1.0"


def test_a_name_that_nobody_has_is_refused_with_those_there_are(target: Path) -> None:
    install(target, "plug-shapes", {"checks": {"oval": "plug_shapes:OVAL"}}, "OVAL = 'an oval'")
    with pytest.raises(DescriptionError, match="there is no shape 'star'") as caught:
        shapes().find("star", "shape")
    assert caught.value.remedy == "use one of: square, round, oval."
    assert shapes().get("star") is None
    with pytest.raises(KeyError):
        shapes()["star"]


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("plug_broken:absent", "AttributeError: module 'plug_broken' has no attribute 'absent'"),
        ("plug_absent:it", "ModuleNotFoundError: No module named 'plug_absent'"),
        ("plug_broken:odd", "it is no number"),
    ],
)
def test_a_broken_part_is_named_and_the_others_go_on(
    target: Path, caplog: pytest.LogCaptureFixture, where: str, why: str
) -> None:
    def admit(name: str, part: object) -> None:
        if part == "odd":
            raise ValueError("it is no number")

    install(target, "plug-broken", {"checks": {"star": where}}, "odd = 'odd'")
    registry: Registry[object] = Registry("checks", "shape", {"one": 1}, admit)
    said = f"the shape 'star' of the plug-in plug-broken 1.0 ({where}) cannot be used: {why}"
    with pytest.raises(SetupError) as caught:
        registry["star"]
    assert caught.value.message == said
    assert "plug-broken" in caught.value.remedy and f"{SWITCH}=0" in caught.value.remedy
    with caplog.at_level(logging.WARNING):
        assert dict(registry.items()) == {"one": 1}
        assert list(registry.values()) == [1]
    assert [record.getMessage() for record in caplog.records] == [f"warning: {said}"]
    assert list(registry.problems()) == [("plug-broken", said)]


def test_a_name_that_ships_is_refused(target: Path, caplog: pytest.LogCaptureFixture) -> None:
    install(target, "plug-clash", {"checks": {"square": "plug_clash:IT"}}, "IT = 'mine'")
    with caplog.at_level(logging.WARNING):
        assert list(shapes()) == ["square", "round"]
    assert shapes()["square"] is install
    (record,) = caplog.records
    assert record.getMessage() == (
        "warning: the shape 'square' of the plug-in plug-clash 1.0 is refused: Windtunnel has one "
        "of that name"
    )
    assert [name for name, _ in shapes().problems()] == ["plug-clash"]


def test_a_name_of_two_packages_is_refused_for_both(
    target: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("plug-one", "plug-two"):
        install(target, name, {"checks": {"oval": f"{name.replace('-', '_')}:IT"}}, "IT = 1")
    with caplog.at_level(logging.WARNING):
        assert "oval" not in shapes()
    assert "plug-one and plug-two have one of that name" in caplog.text


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("", ["oval", "star"]),
        ("1", ["oval", "star"]),
        ("0", []),
        ("off", []),
        ("plug-one", ["oval"]),
        ("plug_two, Plug.One", ["oval", "star"]),
    ],
)
def test_plug_ins_can_be_switched_off(
    target: Path, monkeypatch: pytest.MonkeyPatch, value: str, names: list[str]
) -> None:
    install(target, "plug-one", {"checks": {"oval": "plug_one:IT"}}, "IT = 1")
    install(target, "plug-two", {"checks": {"star": "plug_two:IT"}}, "IT = 2")
    monkeypatch.setenv(SWITCH, value)
    assert [name for name in shapes() if name not in SHAPES] == names
    assert len(plugins.versions()) == len(names)


def test_the_switch_names_a_package_that_is_not_there(
    target: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(SWITCH, "plug-absent")
    with caplog.at_level(logging.WARNING):
        assert plugins.entries("checks") == ()
    assert f"{SWITCH} names plug-absent: no such package is installed" in caplog.text


# --- what does not keep its contract --------------------------------------------------------


@pytest.mark.parametrize(
    ("registry", "source", "why"),
    [
        (WORKLOADS, "class It: pass", "no subclass of windtunnel.workloads.base.Workload"),
        (
            WORKLOADS,
            "from windtunnel.workloads.pi import Pi\nclass It(Pi): pass",
            "the class has the name 'pi'",
        ),
        (
            WORKLOADS,
            "from windtunnel.workloads.base import Workload\n"
            "class It(Workload):\n    name = 'it'\n    def phases(self): return ()",
            "it lacks data_bytes, demands, run_phase, verify, summary, about, parameters_type",
        ),
        (ENGINES, "class It: pass", "no subclass of windtunnel.engines.engine.Engine"),
        (
            ENGINES,
            "from windtunnel.engines.pig.engine import Pig\n"
            "class It(Pig):\n    name = 'it'\n    lines = {}",
            "it lacks lines",
        ),
        (TESTBEDS, "It = 7", "no subclass of windtunnel.testbeds.base.ClusterTestbed"),
        (PROBES, "It = 7", "no subclass of windtunnel.probes.base.Probe"),
        (
            PROBES,
            "from windtunnel.probes.disks import BusyDisks\n"
            "class It(BusyDisks):\n    name = 'it'\n    metrics = (7,)",
            "not all MetricInfo of the level 'sample'",
        ),
        (SECTIONS, "It = 7", "no function that makes a Section"),
        (CHECKS, "It = 7", "no function that gives findings"),
        (RULES, "It = 7", "no function from Evidence to warnings"),
    ],
)
def test_what_does_not_keep_its_contract_is_refused(
    target: Path, registry: Registry[object], source: str, why: str
) -> None:
    install(target, "plug-odd", {registry.kind: {"it": "plug_odd:It"}}, source)
    with pytest.raises(SetupError) as caught:
        registry["it"]
    assert "of the plug-in plug-odd 1.0" in caught.value.message
    assert why in caught.value.message


def test_a_metric_that_is_described_otherwise_is_refused(target: Path) -> None:
    source = """
from windtunnel.probes.disks import BusyDisks
from windtunnel.results.metrics import MetricInfo

class It(BusyDisks):
    name = "it"
    metrics = (MetricInfo("load_1min", "s", "another load", "me", level="sample"),)
"""
    install(target, "plug-load", {"probes": {"it": "plug_load:It"}}, source)
    with pytest.raises(SetupError, match=r"the metric 'load_1min' .*'another load'"):
        PROBES["it"]


# --- parts at work --------------------------------------------------------------------------

ENGINE = """
from windtunnel.cluster.role_table import RoleEntry
from windtunnel.engines.engine import Engine
from windtunnel.engines.releases import Line

class Impala(Engine):
    name = "impala"
    lines = {"4": Line("impala-4", 17, None)}
    roles = (RoleEntry("impalad", main="impalad", worker=True),)
    setting_words = ("impala",)

    def start(self):
        pass
"""


def test_roles_and_settings_of_an_engine_are_known_when_a_description_is_read(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """\
name: with-impala
hosts:
  all: {count: 1, roles: [namenode, datanode, impalad]}
settings: {impala.mem_limit: 1}
"""
    fresh = Roles()
    for engine in dict.fromkeys(role.engine for role in ROLES):
        fresh.add(engine, [role for role in ROLES if role.engine == engine])
    for module in ("windtunnel.cluster.roles", "windtunnel.engines.registry"):
        monkeypatch.setattr(f"{module}.ROLES", fresh)
    with pytest.raises(DescriptionError, match="must be one of"):
        validate(Cluster, load_text(text, "c.yaml"))
    install(target, "plug-impala", {"engines": {"impala": "plug_impala:Impala"}}, ENGINE)
    fresh.complete_with(ENGINES.values)

    cluster = validate(Cluster, load_text(text, "c.yaml"))
    assert cluster.role_counts()["impalad"] == 1
    assert fresh.engine_of_setting("impala.mem_limit") == "impala"
    assert [role.name for role in fresh.started("impala")] == ["impalad"]


PROBE = """
from windtunnel.probes.base import Probe
from windtunnel.results.metrics import MetricInfo

BEAT = MetricInfo("plug_beats", "1/s", "heart beats", "a test", level="sample")

class Heart(Probe):
    name = "heart"
    metrics = (BEAT,)

    def __init__(self, watched):
        super().__init__(watched)
        self.beats = 0

    def sample(self, now):
        self.beats += 1
        if self.beats > 2:
            raise RuntimeError("it stopped")
        yield self.reading(now, BEAT, 60.0 + self.beats)

class Dead(Heart):
    name = "dead"

    def begin(self):
        raise RuntimeError("it never beat")

class Odd(Heart):
    name = "odd"

    def sample(self, now):
        yield (now, "plug_beats", 1.0)
"""


def test_a_probe_gives_samples_until_it_fails(target: Path) -> None:
    entries = {name: f"plug_heart:{name.title()}" for name in ("heart", "dead", "odd")}
    install(target, "plug-heart", {"probes": entries}, PROBE)
    sampler = Sampler(dict)
    for now in (1.0, 2.0, 3.0, 4.0):
        sampler.rows += sampler._sample(now)

    beats = [row.value for row in sampler.rows if row.metric == "plug_beats"]
    assert beats == [61.0, 62.0]
    assert len({row.time_s for row in sampler.rows if row.metric == "load_1min"}) == 4
    lead = "of the plug-in plug-heart 1.0"
    assert sampler.failures == [
        f"the probe 'dead' {lead}: RuntimeError: it never beat",
        f"the probe 'odd' {lead}: TypeError: a probe gives samples, and this is none: "
        "(1.0, 'plug_beats', 1.0)",
        f"the probe 'heart' {lead}: RuntimeError: it stopped",
    ]


def test_a_probe_that_ships_does_not_hide_its_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: object, now: float) -> Iterator[object]:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(PROBES["disks"], "sample", fails)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        list(Sampler(dict)._sample(1.0))


def test_plug_ins_are_in_the_provenance(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(target, "plug-shapes", {"sections": {"oval": "plug_shapes:oval"}})
    with monkeypatch.context() as patch:
        patch.setenv(SWITCH, "0")
        run_study(tmp_path / "without", toy_plan(rounds=1), MockTestbed())
    run_study(tmp_path / "with", toy_plan(rounds=1), MockTestbed())

    found = []
    for name in ("without", "with"):
        results = read_results(tmp_path / name)
        found.append(results.provenance(results.trials[0]).get("plugins"))
    assert found == [None, {"plug-shapes": "1.0"}]


REPORT = """
from windtunnel.analysis.evidence import ReportWarning
from windtunnel.report.sections.base import Section

def extra(analysis):
    return Section(id="extra", title="Extra", data={"trials": len(analysis.trials)})

def misnamed(analysis):
    return Section(id="findings", title="Mine")

def failing(analysis):
    raise RuntimeError("no such column")

def few(evidence):
    yield ReportWarning("few", "note", "few trials", "run more.")

def shout(evidence):
    yield ReportWarning("shout", "loud", "few trials", "run more.")
"""


def test_sections_and_rules_of_plug_ins_are_in_the_report(
    target: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = ("extra", "misnamed", "failing")
    entries = {
        "sections": {name: f"plug_report:{name}" for name in names},
        "rules": {name: f"plug_report:{name}" for name in ("few", "shout", "failing")},
    }
    install(target, "plug-report", entries, REPORT)
    folder = study_folder(tmp_path / "results", Plan(trials=4, write_samples=False))
    analysis = analyse(read_results(folder))
    with caplog.at_level(logging.WARNING):
        found = to_json(analysis)

    assert found["extra"] == {"trials": 4}
    assert "misnamed" not in found and "failing" not in found
    warnings = {warning.id: warning for warning in analysis.warnings}
    assert warnings["few"].text == "few trials" and "shout" not in warnings
    failed = [warning.text for warning in analysis.warnings if warning.id == "rule-failed"]
    lead = "of the plug-in plug-report 1.0 could not be applied"
    assert failed == [
        f"the rule 'failing' {lead}: RuntimeError: no such column",
        f"the rule 'shout' {lead}: a severity that is none of serious, caution, note",
    ]
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "the section 'failing' of the plug-in plug-report 1.0 is omitted: RuntimeError" in said
    assert "the section 'misnamed' of the plug-in plug-report 1.0 is omitted: it has the" in said


CHECK = """
from windtunnel.cli.doctor import Finding

def licence():
    return [Finding("licence of the meter", True, "valid")]

def failing():
    raise OSError("no meter")
"""


def test_checks_of_plug_ins_are_in_the_doctors_findings(target: Path) -> None:
    entries = {name: f"plug_check:{name}" for name in ("licence", "failing")}
    install(target, "plug-check", {"checks": entries, "probes": {"gone": "plug_gone:It"}}, CHECK)
    found = {finding.what: finding for finding in checkup()}

    assert found["licence of the meter"].good
    failed = found["the check 'failing' of the plug-in plug-check 1.0"]
    assert failed.good is None and failed.detail == "failed: OSError: no meter"
    broken = found["plug-in plug-check"]
    assert broken.good is None and "No module named 'plug_gone'" in broken.detail


def test_a_part_that_a_test_sets_is_used_and_removed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = shapes()
    with monkeypatch.context() as patch:
        patch.setitem(registry, "square", SimpleNamespace())
        patch.setitem(registry, "star", 5)
        assert list(registry) == ["square", "round", "star"]
    assert list(registry) == ["square", "round"] and registry["square"] is install
