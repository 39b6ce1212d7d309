"""The journal: atomic, durable, one writer, one study; killed anywhere, it loses nothing."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import time
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.support.appending import append, append_all, slots_of, trial_of
from tests.support.forks import Forks
from tests.support.mock import job_run, run_study, toy_plan
from windtunnel.errors import ResultsError, StorageFullError
from windtunnel.results.folder import read_results
from windtunnel.study.journal import open_journal
from windtunnel.study.plan import Slot
from windtunnel.study.record import study_record

# -- what is written -------------------------------------------------------------------


def test_a_trial_comes_back_as_it_was_appended(tmp_path: Path) -> None:
    plan = toy_plan()
    with open_journal(tmp_path / "out", study_record(plan)) as journal:
        slot = plan.round_slots(1)[0]
        append(journal, slot)
        (found,) = journal.attempts(slot)

    results = read_results(tmp_path / "out")
    assert results.trials == [found]
    samples, tasks = results.samples_path(found), results.tasks_path(found)
    assert samples is not None
    assert tasks is not None
    assert pq.read_table(samples).num_rows == 50
    assert pq.read_table(tasks).column("trial").to_pylist() == [found.id]


def test_the_study_file_of_a_user_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text("study: my-only-copy\n")
    with (
        pytest.raises(ResultsError, match="is not the file of this study"),
        open_journal(tmp_path, study_record(toy_plan())),
    ):
        pass
    assert file.read_text() == "study: my-only-copy\n"


def test_only_unfinished_files_of_ours_are_removed(tmp_path: Path) -> None:
    plan = toy_plan()
    with open_journal(tmp_path / "out", study_record(plan)) as journal:
        append(journal, plan.round_slots(1)[0])
    ours = [tmp_path / "out" / "trials" / ".t.json.0a1b2c3d.new"]
    ours += [tmp_path / "out" / "samples" / "t.parquet.new"]
    theirs = [tmp_path / "out" / "notes.new", tmp_path / "out" / "trials" / "mine.new"]
    for file in (*ours, *theirs):
        file.write_text("")
    with open_journal(tmp_path / "out", study_record(plan)):
        pass
    assert not any(file.exists() for file in ours)
    assert all(file.exists() for file in theirs)

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.new").write_text("")
    with pytest.raises(ResultsError), open_journal(tmp_path / "other", study_record(plan)):
        pass


def test_the_folder_keeps_the_question_as_it_was_written(tmp_path: Path) -> None:
    plan = toy_plan(seed=5)
    with open_journal(tmp_path / "out", study_record(plan, notes=["a caveat"])):
        pass
    study = read_results(tmp_path / "out").study

    assert (tmp_path / "out" / "study.yaml").read_text() == plan.source_text
    assert study.protocol.seed == 5
    assert study.notes == ["a caveat"]
    assert [t.id for t in study.treatments] == ["small", "large"]


def test_attempts_are_those_of_the_slot_alone(tmp_path: Path) -> None:
    """Treatments whose names begin alike are not taken for each other."""
    plan = toy_plan()
    slot = plan.round_slots(1)[0]
    with open_journal(tmp_path / "out", study_record(plan)) as journal:
        for name in ("x", "x-all", "x-a1", "x-a"):
            treatment = slot.treatment.model_copy(update={"id": name})
            other = Slot(f"r01-terasort-{name}", 1, 1, "terasort", treatment)
            assert journal.attempts(other) == [], f"before the first trial of {name}"
            append(journal, other)
        x = Slot("r01-terasort-x", 1, 1, "terasort", slot.treatment)
        assert [trial.id for trial in journal.attempts(x)] == ["r01-terasort-x-a1"]


def test_attempts_stand_in_their_order(tmp_path: Path) -> None:
    plan = toy_plan()
    slot = plan.round_slots(1)[0]
    with open_journal(tmp_path / "out", study_record(plan)) as journal:
        for attempt in (10, 2, 1):
            journal.append(trial_of(journal, slot, attempt, reason="bad"), [])
        assert [trial.attempt for trial in journal.attempts(slot)] == [1, 2, 10]


def test_provenance_is_stored_once(tmp_path: Path) -> None:
    with open_journal(tmp_path / "out", study_record(toy_plan())) as journal:
        keys = {journal.store_provenance({"hadoop": "3.5.0"}) for _ in range(3)}
        keys |= {journal.store_provenance({"hadoop": "3.4.2"})}
    files = list((tmp_path / "out" / "provenance").iterdir())

    assert {file.stem for file in files} == keys
    assert len(files) == 2


def test_plain_duckdb_opens_a_results_folder(tmp_path: Path) -> None:
    run_study(tmp_path / "out", toy_plan(rounds=2))
    with duckdb.connect() as db:
        rows = db.sql(
            f"SELECT treatment.id, count(*) FROM '{tmp_path}/out/trials/*.json' "
            "WHERE verdict.valid GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        tasks = db.sql(f"SELECT count(*) FROM '{tmp_path}/out/tasks/*.parquet'").fetchall()
        db.sql(f"SELECT * FROM '{tmp_path}/out/samples/*.parquet'").fetchall()

    assert rows == [("large", 2), ("small", 2)]
    assert tasks == [(12,)]


# -- killed at any moment --------------------------------------------------------------

CHILD = ("tests.support.appending", "append_until_killed")


def assert_whole(folder: Path) -> list[str]:
    """Every trial that counts is whole, with all that it points to; returns the ids."""
    if not (folder / "study.json").is_file():
        return []
    results = read_results(folder)
    for trial in results.trials:
        for path in (results.samples_path(trial), results.tasks_path(trial)):
            assert path is not None
            assert pq.ParquetFile(path).metadata.num_rows > 0
    return [trial.id for trial in results.trials]


def test_kill_9_at_every_file_operation_never_leaves_half_a_trial(
    tmp_path: Path, forks: Forks
) -> None:
    plan = toy_plan(rounds=2)
    wanted = sorted(f"{slot.id}-a1" for slot in slots_of(plan))
    moment, code = 0, -signal.SIGKILL
    while code == -signal.SIGKILL:
        moment += 1
        folder = tmp_path / f"out-{moment}"
        code = forks.start(*CHILD, str(folder), moment).wait()
        for file in folder.rglob("*.parquet"):  # DuckDB reads samples/*.parquet at any time
            assert pq.ParquetFile(file).metadata.num_rows > 0, f"killed at operation {moment}"
        kept = assert_whole(folder)
        append_all(folder, plan)
        trials = assert_whole(folder)
        assert sorted(trials) == wanted, f"killed at operation {moment}"
        assert set(kept) <= set(trials)
        assert list(folder.rglob("*.new")) == [], f"killed at operation {moment}"
    assert code == 0
    assert moment > 40, "the operations of four trials were all tried"


def test_kill_9_at_random_moments(tmp_path: Path, forks: Forks) -> None:
    plan = toy_plan(rounds=2)
    moments = random.Random(1)
    for number in range(10):
        folder = tmp_path / f"out-{number}"
        child = forks.start(*CHILD, str(folder), 0)
        while child.alive() and len(list(folder.glob("trials/*.json"))) < number // 3:
            pass
        time.sleep(moments.uniform(0, 0.02))
        child.kill()
        kept = assert_whole(folder)
        append_all(folder, plan)
        assert len(assert_whole(folder)) == 4
        assert set(kept) <= set(assert_whole(folder))


def test_stale_samples_of_an_interrupted_trial_are_not_given_to_another(tmp_path: Path) -> None:
    plan = toy_plan()
    slot = plan.round_slots(1)[0]
    with open_journal(tmp_path / "out", study_record(plan)) as journal:
        (tmp_path / "out" / "samples" / f"{slot.id}-a1.parquet").write_bytes(b"half a file")
    with open_journal(tmp_path / "out", study_record(plan)) as journal:
        journal.append(trial_of(journal, slot, reason="the cluster did not start"), [])
        (trial,) = journal.attempts(slot)

    assert trial.samples_file is None


# -- folders that cannot be used -------------------------------------------------------


def test_a_folder_of_another_study_is_refused(tmp_path: Path) -> None:
    run_study(tmp_path / "out", toy_plan(seed=1))
    with pytest.raises(ResultsError, match="contains another study: 'toy'") as caught:
        run_study(tmp_path / "out", toy_plan(seed=2))

    assert "--results" in caught.value.remedy
    assert len(read_results(tmp_path / "out").trials) == 4


def test_a_second_run_at_the_same_time_is_refused(tmp_path: Path) -> None:
    with (
        open_journal(tmp_path / "out", study_record(toy_plan())),
        pytest.raises(ResultsError, match="another run is writing to"),
        open_journal(tmp_path / "out", study_record(toy_plan())),
    ):
        pass
    assert len(run_study(tmp_path / "out", toy_plan())) == 4, "free again afterwards"


def test_a_folder_with_foreign_files_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ResultsError, match=r"other files and no study \(thesis.txt"):
        run_study(tmp_path, toy_plan())

    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(ResultsError, match="cannot be written"):
        run_study(tmp_path / "out", toy_plan())


def test_an_empty_folder_is_fine(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert len(run_study(tmp_path / "out", toy_plan())) == 4


def test_a_damaged_trial_is_named_before_anything_runs(tmp_path: Path) -> None:
    run_study(tmp_path / "out", toy_plan())
    broken = next(iter(sorted((tmp_path / "out" / "trials").iterdir())))
    broken.write_text(broken.read_text()[:100])
    with pytest.raises(ResultsError, match=broken.name):
        run_study(tmp_path / "out", toy_plan())


def test_a_study_of_a_later_version_is_refused(tmp_path: Path) -> None:
    run_study(tmp_path / "out", toy_plan())
    file = tmp_path / "out" / "study.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"schema": "windtunnel.study/9"}))
    with pytest.raises(ResultsError, match="this version reads"):
        run_study(tmp_path / "out", toy_plan())


def test_a_read_only_folder_is_refused(readonly_disk: Path) -> None:
    with pytest.raises(ResultsError, match="cannot be written: Read-only file system"):
        run_study(readonly_disk / "out", toy_plan())


def test_a_full_disk_stops_the_study_which_goes_on_once_there_is_room(small_disk: Path) -> None:
    folder = small_disk / "out"
    plan = toy_plan(rounds=2)
    with open_journal(folder, study_record(plan)) as journal:
        append(journal, slots_of(plan)[0])
        ballast = small_disk / "ballast"
        with contextlib.suppress(OSError):
            ballast.write_bytes(bytes(96 << 10))
        with pytest.raises(StorageFullError, match="No space left on device") as caught:
            for slot in slots_of(plan)[1:]:
                journal.append(trial_of(journal, slot), job_run("terasort", 5.0).tasks)
    assert caught.value.exit_code == 9
    kept = [trial.id for trial in read_results(folder).trials]
    assert f"{slots_of(plan)[0].id}-a1" in kept

    ballast.unlink()
    append_all(folder, plan)
    trials = [trial.id for trial in read_results(folder).trials]
    assert sorted(trials) == sorted(f"{slot.id}-a1" for slot in slots_of(plan))


def test_a_disk_that_fills_up_while_the_runner_runs(small_disk: Path) -> None:
    with pytest.raises(StorageFullError):
        run_study(small_disk / "out", toy_plan(rounds=50))
    results = read_results(small_disk / "out")

    assert 0 < len(results.trials) < 100
    assert all(trial.verdict.valid for trial in results.trials)
