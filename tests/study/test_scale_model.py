"""Studies of scale models: the options, what runs, what is stored, a saturated host machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.support.mock import MockTestbed, plan_from, run_study
from tests.support.models import TEXT
from windtunnel.analysis.prediction.points import points_of
from windtunnel.analysis.subjects.similarity import consequences, counts, value_words
from windtunnel.cluster.hosts import SMT_GAIN
from windtunnel.errors import DescriptionError, NotRealisableError, ResultsError
from windtunnel.model.hardware import hardware, with_quota
from windtunnel.results.folder import read_results
from windtunnel.results.record import Phase
from windtunnel.results.sample import Sample
from windtunnel.study.file import load_study
from windtunnel.study.plan import Plan
from windtunnel.study.record import scale_record
from windtunnel.testbeds import TESTBEDS, make_testbed
from windtunnel.testbeds.base import Judgement
from windtunnel.testbeds.scaled.saturation import judge
from windtunnel.testbeds.scaled.scale import ScaledOptions
from windtunnel.testbeds.scaled.testbed import ScaledTestbed
from windtunnel.workloads import WORKLOADS

OPTIONS = "{kind: scaled, rate: 1/40, data: 1/1000}"
STUDY = """\
study: toy
cluster: {cluster}
testbed: {{kind: scaled, rate: 1/40, data: 1/1000}}
workloads:
  terasort: {{size: 1 TB, input_replication: 3, output_replication: 1}}
factors:
  hosts.worker.nics.0.rate: [10 Gb/s, 1 Gb/s]
  workloads.terasort.size: [1 TB, 2 TB]
protocol: {{rounds: 1, extra_rounds: 0, retry_invalid: 0}}
"""


class ModelTestbed(MockTestbed):
    """The mock with the options and the record of scale models."""

    options_type = ScaledOptions
    study_record = ScaledTestbed.study_record

    def __init__(self, logs: Path, notify: object, options: object = None) -> None:
        super().__init__()
        self.options = options


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TESTBEDS, "scaled", ModelTestbed)


@pytest.fixture
def study(tmp_path: Path) -> str:
    cluster = tmp_path / "known.yaml"
    cluster.write_text(TEXT)
    return STUDY.format(cluster=cluster)


@pytest.fixture
def plan(study: str) -> Plan:
    return plan_from(study)


def test_what_runs_is_a_share_of_what_is_written(plan: Plan) -> None:
    treatment = plan.treatments[-1]

    assert plan.parameters_of("terasort", treatment)["size"] == "2 TB"
    assert plan.run_parameters_of("terasort", treatment)["size"] == "2 GB"
    assert plan.workload_of("terasort", treatment).data_bytes() == 2 * 10**9
    assert plan.cluster_of(treatment).hosts["worker"].nics[0].rate == 125e6  # type: ignore[index]


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_says_what_a_model_runs_a_share_of(name: str) -> None:
    parameters = WORKLOADS[name].parameters_type

    assert set(parameters.amounts) & set(parameters.model_fields)


def test_the_scale_is_part_of_the_fingerprint(study: str, plan: Plan) -> None:
    other = plan_from(study.replace("1/1000", "1/500"))

    assert plan.fingerprint != other.fingerprint
    assert plan.fingerprint == plan_from(study.replace("1/40", "0.025")).fingerprint


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "says"),
    [
        ("rate: 1/40", "rate: 40", 3, "testbed.rate", "at most 1"),
        ("rate: 1/40", "rate: fast", 3, "testbed.rate", "fraction such as 1/40"),
        ("rate: 1/40", "rate: 1/40, speed: 2", 3, "testbed.speed", "no option 'speed'"),
        ("kind: scaled", "kind: local", 3, "testbed.rate", "no option 'rate'"),
        ("kind: scaled", "kind: cloud", 3, "testbed.kind", "no testbed 'cloud'"),
        ("kind: scaled, ", "", 3, "testbed", "'kind' is missing"),
        (", data: 1/1000", "", 3, "testbed.data", "missing"),
    ],
)
def test_a_wrong_scale_is_refused_at_its_line(
    tmp_path: Path, study: str, old: str, new: str, line: int, key: str, says: str
) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(study.replace(old, new))

    with pytest.raises(DescriptionError) as caught:
        load_study(str(file))
    assert (caught.value.line, caught.value.key) == (line, key)
    assert says in caught.value.message


def test_the_bare_name_is_pointed_to_the_proposal(tmp_path: Path, study: str) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(study.replace(OPTIONS, "scaled"))

    with pytest.raises(DescriptionError, match="requires the options 'rate' and 'data'") as caught:
        load_study(str(file))
    assert "--propose" in caught.value.remedy


def test_the_deprecated_spelling_is_the_same_study_with_a_note(study: str, plan: Plan) -> None:
    old = plan_from(study.replace(OPTIONS, "scaled\nscale: {rate: 1/40, data: 1/1000}"))

    assert old.testbed_options == plan.testbed_options
    assert old.fingerprint == plan.fingerprint
    assert ["'scale' is deprecated" in note for note in old.notes] == [True]
    assert plan.notes == []


def test_options_in_both_spellings_are_refused(tmp_path: Path, study: str) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(study + "scale: {rate: 1/2, data: 1/2}\n")

    with pytest.raises(DescriptionError, match="given twice") as caught:
        load_study(str(file))
    assert caught.value.key == "scale"


@pytest.mark.parametrize(
    ("testbed", "scale", "key", "says"),
    [
        ("local", "{rate: 1, data: 1}", "scale", "runs at full size"),
        ("scaled", "{rate: 40, data: 1}", "scale.rate", "at most 1"),
        ("scaled", "{rate: 1, data: 1, speed: 2}", "scale.speed", "speed"),
        ("scaled", "fast", "scale", "requires the options"),
    ],
)
def test_a_wrong_deprecated_scale_is_refused_at_its_line(
    tmp_path: Path, study: str, testbed: str, scale: str, key: str, says: str
) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(study.replace(OPTIONS, f"{testbed}\nscale: {scale}"))

    with pytest.raises(DescriptionError, match=says) as caught:
        load_study(str(file))
    assert (caught.value.line, caught.value.key) == (4, key)


def test_data_too_small_for_a_model_names_the_scale(study: str) -> None:
    with pytest.raises(DescriptionError, match=r"runs 0\.001 of the data"):
        plan_from(study.replace("1 TB,", "50 kB,").replace("[1 TB, 2 TB]", "[50 kB, 60 kB]"))


def test_the_similarity_of_the_baseline_is_stored_and_what_differs_elsewhere(
    tmp_path: Path, plan: Plan
) -> None:
    run_study(tmp_path / "out", plan, ModelTestbed(tmp_path, None))
    stored = read_results(tmp_path / "out").study.scale

    assert stored is not None and stored == scale_record(plan)
    assert (stored.rate, stored.data) == (0.025, 0.001)
    assert {g.name for g in stored.groups if g.treatment is None} >= {"disk : network", "racks"}
    assert all(g.treatment in {t.id for t in plan.treatments} | {None} for g in stored.groups)


def test_trials_keep_the_parameters_that_ran(tmp_path: Path, plan: Plan) -> None:
    trials = run_study(tmp_path / "out", plan, ModelTestbed(tmp_path, None))

    assert {trial.parameters["size"] for trial in trials} == {"1 GB", "2 GB"}


def test_an_unknown_part_is_refused_before_anything_is_stored(tmp_path: Path, study: str) -> None:
    bare = plan_from(study.replace(str(tmp_path / "known.yaml"), "cisco-2014"))

    with pytest.raises(NotRealisableError, match=r"hosts\.worker\.disks\.0\.read_rate"):
        scale_record(bare)


def test_the_testbed_is_made_with_its_options(tmp_path: Path, plan: Plan) -> None:
    made = make_testbed(plan.testbed_options, tmp_path, lambda text: None)

    assert getattr(made, "options", None) == plan.testbed_options


def test_a_trial_on_a_saturated_machine_is_invalid_and_keeps_the_thresholds(
    tmp_path: Path, plan: Plan
) -> None:
    seen: list[Sequence[Phase]] = []

    class Saturated(ModelTestbed):
        def judge(self, rows: Sequence[Sample], phases: Sequence[Phase]) -> Judgement:
            seen.append(phases)
            at = [row for phase in phases for row in a_busy_machine(phase)]
            return judge(at if len(seen) == 2 else [], phases)

    trials = run_study(tmp_path / "out", plan, Saturated(tmp_path, None))
    bad = [trial for trial in trials if not trial.verdict.valid]

    assert len(seen) == len(trials) == 4
    (reason,) = [trial.verdict.reason or "" for trial in bad]
    assert reason.startswith("the host machine was saturated: teragen: its CPUs were 1 % idle")
    assert bad[0].verdict.checks[-1].name == "host machine"
    assert any("saturation unknown" in flag for flag in trials[0].flags)
    assert {trial.thresholds["cpu_idle_at_least"].value for trial in trials} == {0.20}


def a_busy_machine(phase: Phase) -> Iterator[Sample]:
    yield Sample(phase.finished_at, "this-machine", "cpu_idle", "ratio", 0.01)


def test_similarity_in_words(plan: Plan) -> None:
    record = scale_record(plan)
    assert record is not None

    assert counts(record).startswith("23 groups: ")
    assert any("start-up" in line for line in consequences(record))
    assert value_words(0.4, "share") == "40 %"
    assert value_words(90e6, "bytes/s per core") == "90.0 MB/s per core"
    assert value_words(None, "ratio") == "unknown"


def test_the_physics_model_takes_what_the_model_runs(plan: Plan) -> None:
    treatment = plan.treatments[-1]
    described = plan.cluster_of(treatment)
    ran, fraction = ScaledTestbed.as_run(plan.testbed_options, described)
    assert (fraction, ran.hosts["worker"].nics) != (1.0, described.hosts["worker"].nics)
    full, model = hardware(described), with_quota(hardware(ran), fraction)
    assert model.nic_bytes_s == pytest.approx(full.nic_bytes_s / 40)
    assert model.fixed_read_bytes_s == pytest.approx(full.fixed_read_bytes_s / 40)
    gain = SMT_GAIN if full.threads_per_core > 1 else 1.0
    assert model.cores == pytest.approx(full.cores * gain / 40)
    assert (model.hosts, model.clock_ghz) == (full.hosts, full.clock_ghz)
    assert with_quota(full, 1.0) == full


def test_a_fit_to_a_scale_model_predicts_its_seconds(plan: Plan, tmp_path: Path) -> None:
    run_study(tmp_path / "out", plan, ModelTestbed(tmp_path, None))
    results = read_results(tmp_path / "out")
    with pytest.raises(ResultsError, match="unknown testbed"):
        points_of(results)
    found = points_of(results, partial(ScaledTestbed.as_run, plan.testbed_options)).points
    assert {round(point.job.data_bytes) for point in found} == {10**9, 2 * 10**9}
    rates = sorted({point.hardware.nic_bytes_s for point in found})
    payload = (1500 - 52) / (1500 + 38)  # of a frame of Ethernet with TCP/IP
    assert rates == pytest.approx([3125000 * payload, 31250000 * payload])
