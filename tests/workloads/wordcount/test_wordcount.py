"""WordCount: the same text for every way of counting, and a verdict word by word."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.bare import BareDeployment
from tests.support.counting import TASK, CountingCluster
from windtunnel.cluster import Located, apply_overrides, load_cluster, validate
from windtunnel.engines.deployment import JobRun
from windtunnel.errors import DescriptionError, TrialInvalidError
from windtunnel.results.record import Verdict
from windtunnel.workloads.base import Execution
from windtunnel.workloads.wordcount import wordcount as module
from windtunnel.workloads.wordcount.wordcount import WordCount, WordCountParameters

COUNTS = "/w/t/counts/part-r-00000"


@pytest.fixture(autouse=True)
def own_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of ours counts as the example does."""

    def run(cluster: Any, phase: str, argv: Any, settings: Any, deadline_s: float) -> JobRun:
        return CountingCluster.run_job(cluster, phase, argv, settings)

    monkeypatch.setattr(module, "run_own_job", run)
    monkeypatch.setattr(module, "own_programs", lambda deployment: deployment)


def wordcount(**changes: Any) -> WordCount:
    wanted = {"size": "20 kB", "files": 2, "replication": 2, "reduces": 2} | changes
    wanted = {key: value for key, value in wanted.items() if value is not None}
    return WordCount(validate(WordCountParameters, Located(wanted)))


def own(path: Path) -> WordCount:
    return wordcount(size=None, files=None, text=str(path))


def run(
    workload: WordCount, cluster: Any, name: str = "t", study: dict[Any, Any] | None = None
) -> Execution:
    execution = Execution(f"/w/{name}", "/w/shared", time.monotonic() + 60, study=study or {})
    workload.prepare(cluster, execution)
    for phase in workload.phases():
        execution.runs[phase] = workload.run_phase(phase, cluster, execution)
    return execution


WAYS: list[dict[str, Any]] = [
    {},
    {"combiner": False},
    {"engine": "pig"},
    {"engine": "pig", "combiner": False},
]


@pytest.mark.parametrize("changes", WAYS)
def test_every_way_of_counting_gives_every_words_number(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    workload, cluster = wordcount(**changes), CountingCluster(tmp_path)
    verdict = workload.verify(cluster, run(workload, cluster))
    assert verdict.valid, verdict.reason
    assert len(verdict.checks) == (6 if "engine" in changes else 7)


def test_what_counts_and_how(tmp_path: Path) -> None:
    cluster = CountingCluster(tmp_path)
    for place, changes in enumerate(WAYS):
        run(wordcount(**changes), cluster, f"t{place}")
    programs = [who.rpartition(".")[2] for who, _ in cluster.jobs]
    assert programs == ["WordCount", "WordCountWithoutCombiner", "pig", "pig"]
    assert cluster.jobs[0][1] == {"dfs.replication": "2", "mapreduce.job.reduces": "2"}
    assert [settings.get("pig.exec.nocombiner") for _, settings in cluster.jobs[2:]] == [
        "false",
        "true",
    ]
    assert cluster.puts == 1, "one text for all"


def test_pig_splits_as_the_example_does() -> None:
    script = wordcount(engine="pig")._script("/in", "/out")
    assert r"TOKENIZE(line, ' \t\n\r\f')" in script
    assert "TextLoader()" in script, "PigStorage would take what follows a tab for a second field"
    assert wordcount(engine="pig").parameters.engines() == ("pig",)
    assert wordcount().parameters.engines() == ()


def judged(tmp_path: Path, spoil: Callable[[Any, Execution], None], **changes: Any) -> Verdict:
    workload, cluster = wordcount(**changes), CountingCluster(tmp_path)
    execution = run(workload, cluster)
    spoil(cluster, execution)
    deployment: Any = cluster
    return workload.verify(deployment, execution)


def one_too_many(cluster: Any, execution: Execution) -> None:
    lines = cluster.held[COUNTS].splitlines(keepends=True)
    word, number = lines[3].split(b"\t")
    lines[3] = b"%s\t%d\n" % (word, int(number) + 1)
    cluster.held[COUNTS] = b"".join(lines)


def two_words_swapped(cluster: Any, execution: Execution) -> None:
    """Words and distinct words are what they must be: the digest alone tells."""
    pairs = [line.split(b"\t") for line in cluster.held[COUNTS].splitlines()]
    first, second = pairs[0], next(pair for pair in pairs if pair[1] != pairs[0][1])
    first[1], second[1] = second[1], first[1]
    cluster.held[COUNTS] = b"".join(b"%s\t%s\n" % (word, number) for word, number in pairs)


def a_part_is_lost(cluster: Any, execution: Execution) -> None:
    del cluster.held[COUNTS]


def counted_twice(cluster: Any, execution: Execution) -> None:
    """A word that two reducers got, each a share of it."""
    lines = cluster.held[COUNTS].splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if int(line.split(b"\t")[1]) > 1)
    word, number = lines[place].split(b"\t")
    lines[place] = b"%s\t1\n%s\t%d\n" % (word, word, int(number) - 1)
    cluster.held[COUNTS] = b"".join(lines)


def no_line(cluster: Any, execution: Execution) -> None:
    cluster.held[COUNTS] += b"nonsense\n"


def shorter_text(cluster: Any, execution: Execution) -> None:
    (name,) = [name for name in cluster.held if name.endswith("/part-00000")]
    cluster.held[name] = cluster.held[name][:-1]


def other_text(cluster: Any, execution: Execution) -> None:
    (path,) = cluster.client_folder.glob("*/part-00000")
    path.write_bytes(path.read_bytes().swapcase())


def counter(name: str, value: int | None) -> Callable[[Any, Execution], None]:
    def spoil(cluster: Any, execution: Execution) -> None:
        old = execution.runs["wordcount"]
        kept = {k: v for k, v in old.counters.items() if k != f"{TASK}:{name}"}
        more = {} if value is None else {f"{TASK}:{name}": value}
        execution.runs["wordcount"] = replace(old, counters={**kept, **more})

    return spoil


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (one_too_many, "words: expected "),
        (two_words_swapped, "counts of all words (SHA-256): expected "),
        (a_part_is_lost, "distinct words: expected "),
        (counted_twice, "distinct words: expected "),
        (no_line, "distinct words: expected "),
        (shorter_text, "got 19999 bytes in 2 files with replication 2"),
        (other_text, "text (SHA-256): expected "),
        (counter("MAP_OUTPUT_RECORDS", 7), "words by MAP_OUTPUT_RECORDS: expected "),
        (counter("MAP_OUTPUT_RECORDS", None), "got unknown"),
        (counter("COMBINE_INPUT_RECORDS", 0), "expected used, got not used"),
        (counter("COMBINE_INPUT_RECORDS", None), "expected used, got unknown"),
    ],
)
def test_what_is_wrong_is_caught(
    tmp_path: Path, spoil: Callable[[Any, Execution], None], says: str
) -> None:
    verdict = judged(tmp_path, spoil)
    assert not verdict.valid
    assert says in verdict.reason


def test_a_swap_is_told_by_the_digest_alone(tmp_path: Path) -> None:
    failed = [made.name for made in judged(tmp_path, two_words_swapped).checks if not made.passed]
    assert failed == ["counts of all words (SHA-256)"]


def test_a_combiner_that_was_not_wanted_is_caught(tmp_path: Path) -> None:
    ran = counter("COMBINE_INPUT_RECORDS", 5)
    assert "expected not used, got used" in judged(tmp_path, ran, combiner=False).reason


def test_figures_of_its_own(tmp_path: Path) -> None:
    execution = run(wordcount(), CountingCluster(tmp_path))
    metrics = execution.runs["wordcount"].phase.metrics
    assert metrics["data_rate"].value == 2_000
    assert metrics["bytes_per_cpu_second"].value == 2_000
    assert metrics["words"].value > metrics["distinct_words"].value > 100


# -- the user's own text --------------------------------------------------------------------


def test_own_files_are_counted_and_put(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "a.txt").write_text("to be or not to be")
    (folder / "b.txt").write_text("that is the question")
    (folder / ".hidden").write_text("not read")
    workload, cluster = own(folder), CountingCluster(tmp_path)
    execution = run(workload, cluster)

    deployment: Any = cluster
    verdict = workload.verify(deployment, execution)
    assert verdict.valid, verdict.reason
    assert execution.runs["wordcount"].phase.metrics["words"].value == 10
    assert len(verdict.checks[0].got) == 64, "the digest of the text is in the record"


def test_own_text_that_changes_between_trials_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("one")
    first = run(own(path), CountingCluster(tmp_path / "a"))
    path.write_text("two")
    again = CountingCluster(tmp_path / "b")  # on a new deployment of the same study
    with pytest.raises(TrialInvalidError, match=r"own\.txt is another text than in an earlier"):
        run(own(path), again, "t2", first.study)


def test_own_text_that_is_not_there_is_said_before_anything_starts(tmp_path: Path) -> None:
    (problem,) = own(tmp_path / "absent").check(load_cluster("local-3"))
    assert problem == f"workloads.wordcount.text: there is no text file at {tmp_path}/absent"
    assert own(tmp_path / "absent").data_bytes() == 0
    (tmp_path / "there").write_text("12345")
    assert own(tmp_path / "there").check(load_cluster("local-3")) == []
    (tmp_path / "packed.gz").touch()
    (problem,) = own(tmp_path / "packed.gz").check(load_cluster("local-3"))
    assert "packed.gz is compressed" in problem
    (tmp_path / "packed.gz").unlink()
    assert own(tmp_path / "there").data_bytes() == own(tmp_path).data_bytes() == 5


# -- parameters -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"size": None}, "either size or text"),
        ({"text": "/x"}, "either size or text"),
        ({"size": None, "text": "/x"}, "apply to a generated text"),
        ({"size": "1 B"}, "at least one byte per file"),
        ({"engine": "hive"}, "mapreduce"),
        ({"reduces": 0}, "more than 0"),
        ({"seed": -1}, "0"),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DescriptionError, match=says):
        wordcount(**changes)


def test_what_the_cluster_lacks_is_said() -> None:
    cluster = load_cluster("local-3")
    storage = {"hosts.master.roles": ["namenode"], "hosts.worker.roles": ["datanode"]}
    assert wordcount().check(cluster) == []
    assert "has 3 datanodes" in str(wordcount(replication=4).check(cluster))
    assert "needs YARN" in str(wordcount().check(apply_overrides(cluster, storage)))


def test_without_a_combiner_more_is_moved() -> None:
    with_it, without = (wordcount(combiner=on).demands("wordcount", 3) for on in (True, False))
    assert with_it.network_bytes < without.network_bytes
    assert without.disk_write_bytes > wordcount().data_bytes()


def test_a_testbed_that_lacks_something_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    execution = Execution("/w/t", "/w/shared", time.monotonic() + 60)
    bare = BareDeployment()
    with pytest.raises(TrialInvalidError, match="no client"):
        wordcount().prepare(bare, execution)
    with pytest.raises(TrialInvalidError, match="no engine can run"):
        wordcount(engine="pig").run_phase("wordcount", bare, execution)
    with pytest.raises(TrialInvalidError, match="program of Windtunnel's own"):
        wordcount(combiner=False).run_phase("wordcount", bare, execution)
