"""A bundle checks itself: changed numbers, changed files, unsafe and damaged zips are named."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.synthetic import Plan, study_folder
from windtunnel.bundle.archive import MANIFEST, digest, read_zip, write_zip
from windtunnel.bundle.contents import collect
from windtunnel.bundle.redaction import _patterns
from windtunnel.bundle.verify import differences, verify
from windtunnel.cli import run
from windtunnel.errors import BundleError, ResultsError

REPORT = "reports/mine.json"
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("bundle") / "mine"
    study_folder(folder, Plan(trials=4, write_samples=False))
    return collect([folder], redact=False).files


def written(folder: Path, files: Files) -> Path:
    out = folder / "bundle.zip"
    write_zip(files, out)
    return out


def with_hash(files: Files, path: str, content: bytes) -> Files:
    """The files with one changed, and the manifest changed with it."""
    manifest = json.loads(files[MANIFEST])
    for entry in manifest["files"]:
        if entry["path"] == path:
            entry |= {"sha256": digest(content), "bytes": len(content)}
    return {**files, path: content, MANIFEST: json.dumps(manifest).encode()}


def test_a_bundle_is_verified(files: Files, tmp_path: Path) -> None:
    found = verify(written(tmp_path, files))
    assert found.problems == []
    assert found.numbers > 500
    assert found.manifest.results == ["mine"]


def test_the_parts_are_there(files: Files) -> None:
    assert {"APPENDIX.md", "DISCLOSURE.md", "ro-crate-metadata.json", MANIFEST, REPORT} <= set(
        files
    )
    assert "pages/mine.html" in files and "settings/mine.json" in files
    assert "windtunnel run results/mine/study.yaml" in files["APPENDIX.md"].decode()
    sheet = files["DISCLOSURE.md"].decode()
    for part in ("Configuration", "Price", "Energy", "Deviations"):
        assert f"### {part}" in sheet


def test_a_changed_file_is_named(files: Files, tmp_path: Path) -> None:
    changed = {**files, "DISCLOSURE.md": b"nothing"}
    assert verify(written(tmp_path, changed)).problems == [
        "DISCLOSURE.md was changed: its SHA-256 is not that of the manifest"
    ]


def test_missing_and_additional_files_are_named(files: Files, tmp_path: Path) -> None:
    changed = {**files, "more.txt": b""}
    del changed["APPENDIX.md"]
    assert verify(written(tmp_path, changed)).problems == [
        "APPENDIX.md is missing",
        "more.txt is not in the manifest",
    ]


def test_a_changed_number_is_found_although_its_hash_is_right(files: Files, tmp_path: Path) -> None:
    report = json.loads(files[REPORT])
    cell = report["cells"][0]
    stated = cell["mean"]
    cell["mean"] = stated * 0.9
    found = verify(written(tmp_path, with_hash(files, REPORT, json.dumps(report).encode())))
    assert len(found.problems) == 1
    assert REPORT in found.problems[0] and "mean" in found.problems[0]
    assert f"recomputed {stated}" in found.problems[0]


def test_a_changed_trial_is_found_by_the_report(files: Files, tmp_path: Path) -> None:
    path = next(name for name in files if name.startswith("results/mine/trials/"))
    trial = json.loads(files[path])
    trial["phases"][0]["elapsed_s"] *= 2
    found = verify(written(tmp_path, with_hash(files, path, json.dumps(trial).encode())))
    assert any("cells" in line for line in found.problems)


def test_a_damaged_trial_is_a_difference(files: Files, tmp_path: Path) -> None:
    path = next(name for name in files if name.startswith("results/mine/trials/"))
    found = verify(written(tmp_path, with_hash(files, path, b"{")))
    assert len(found.problems) == 1 and "cannot be analysed" in found.problems[0]
    assert "windtunnel-verify-" not in found.problems[0]


def test_two_bundles_of_the_same_content_are_equal(files: Files, tmp_path: Path) -> None:
    one, other = (write_zip(files, tmp_path / name) for name in ("a.zip", "b.zip"))
    assert one == other


def test_redaction_removes_the_machine(tmp_path: Path) -> None:
    study_folder(tmp_path / "mine", Plan(trials=2, write_samples=False))
    provenance = next((tmp_path / "mine/provenance").glob("*.json"))
    data = json.loads(provenance.read_text())
    data["machine"] = {**data.get("machine", {}), "cpu_model": "Secret 9000", "kernel": "9.9.9-own"}
    provenance.write_text(json.dumps(data))
    made = collect([tmp_path / "mine"], redact=True)
    assert made.manifest.redacted
    assert not any(b"Secret 9000" in text or b"9.9.9-own" in text for text in made.files.values())
    assert verify(written(tmp_path, made.files)).problems == []


def test_redaction_covers_the_client_of_an_existing_cluster(tmp_path: Path) -> None:
    study_folder(tmp_path / "mine", Plan(trials=2, write_samples=False))
    provenance = next((tmp_path / "mine/provenance").glob("*.json"))
    data = json.loads(provenance.read_text())
    data["client_machine"] = {"cpu_model": "Secret 9000", "machine": "x9", "cpu_threads": 8}
    provenance.write_text(json.dumps(data))
    made = collect([tmp_path / "mine"], redact=True)
    assert not any(b"Secret 9000" in text or b'"x9"' in text for text in made.files.values())
    stored = json.loads(made.files[f"results/mine/provenance/{provenance.name}"])
    assert stored["client_machine"]["cpu_threads"] == 8


@pytest.mark.parametrize("account", ["hadoop", "test", "yarn", "alice"])
def test_redaction_leaves_the_words_of_results(
    account: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study_folder(tmp_path / "mine", Plan(trials=2, write_samples=False))
    study = tmp_path / "mine/study.json"
    data = json.loads(study.read_text())
    data["notes"] = [f"run by {account}@host", f"/home/{account}/x.yaml", f"{account}-common.jar"]
    study.write_text(json.dumps(data))
    plain = collect([tmp_path / "mine"], redact=False)
    monkeypatch.setattr("getpass.getuser", lambda: account)
    monkeypatch.setenv("HOME", f"/home/{account}")
    _patterns.cache_clear()
    made = collect([tmp_path / "mine"], redact=True)
    _patterns.cache_clear()
    assert verify(written(tmp_path, made.files)).problems == []
    assert [*made.files] == [*plain.files]
    notes = json.loads(made.files["results/mine/study.json"])["notes"]
    assert notes[1:] == ["redacted/x.yaml", f"{account}-common.jar"]
    assert (account in notes[0]) == (account != "alice")


@pytest.mark.parametrize("name", ["9:30", "a\\b", "a\udcff"])
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_name_that_verify_refuses_is_not_written(kind: str, name: str, tmp_path: Path) -> None:
    folder = tmp_path / (name if kind == "folder" else "mine")
    study_folder(folder, Plan(trials=2, write_samples=False))
    if kind == "file":
        (folder / "facts").mkdir(exist_ok=True)
        (folder / "facts" / name).touch()
    with pytest.raises(ResultsError, match=f"the {kind} .* cannot be in a bundle") as caught:
        collect([folder], redact=False)
    assert "rename" in str(caught.value.remedy)


@pytest.mark.parametrize("name", ["notes.json", "notes.yaml"])
def test_a_file_that_is_no_utf_8_cannot_be_redacted(name: str, tmp_path: Path) -> None:
    study_folder(tmp_path / "mine", Plan(trials=2, write_samples=False))
    (tmp_path / "mine" / name).write_bytes('"café"'.encode("latin-1"))
    assert collect([tmp_path / "mine"], redact=False).files[f"results/mine/{name}"] == b'"caf\xe9"'
    with pytest.raises(ResultsError, match=f"{name} is not UTF-8, so that it cannot be redacted"):
        collect([tmp_path / "mine"], redact=True)


def test_what_the_manifest_does_not_list_is_found(files: Files, tmp_path: Path) -> None:
    manifest = json.loads(files[MANIFEST])
    manifest["results"] = []
    found = verify(written(tmp_path, {**files, MANIFEST: json.dumps(manifest).encode()})).problems
    assert [line.split(" ")[0] for line in found] == [REPORT, "results/mine/study.json"]


def test_software_of_all_trials_is_described(tmp_path: Path) -> None:
    study_folder(tmp_path / "mine", Plan(trials=2, write_samples=False))
    first, *_ = (tmp_path / "mine/provenance").glob("*.json")
    data = json.loads(first.read_text())
    data["software"] = {**data.get("software", {}), "hadoop": "3.4.3", "jars": [{"name": "a.jar"}]}
    (first.parent / "other.json").write_text(json.dumps(data))
    trial = sorted((tmp_path / "mine/trials").glob("*.json"))[-1]
    record = json.loads(trial.read_text())
    trial.write_text(json.dumps(record | {"provenance": "other"}))
    made = collect([tmp_path / "mine"], redact=False).files
    assert {"name": "a.jar"} in json.loads(made["jars/mine.json"])
    assert "locks/hadoop-3.4.lock.toml" in made
    assert "Hadoop 3.4.3" in made["APPENDIX.md"].decode()


# --- what is not a bundle -------------------------------------------------------------------


def slip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../outside.txt", "x")


def absolute(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("/etc/outside.txt", "x")


def link(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("results")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc")


def no_manifest(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "x")


def future(path: Path) -> None:
    empty = {"schema": "windtunnel.bundle/9", "windtunnel": "9", "created": "", "redacted": False}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MANIFEST, json.dumps({**empty, "results": [], "files": []}))


def huge(path: Path) -> None:
    """A zip that states a size of 3 GiB for its file."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "x")
    raw = bytearray(path.read_bytes())
    place = raw.index(b"PK\x01\x02")
    raw[place + 24 : place + 28] = struct.pack("<I", 3 << 30)
    path.write_bytes(bytes(raw))


def text(path: Path) -> None:
    path.write_text("no zip")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (slip, "is outside the folder"),
        (absolute, "is outside the folder"),
        (link, "not a regular file"),
        (no_manifest, f"has no {MANIFEST}"),
        (future, "windtunnel.bundle/9"),
        (huge, "too large"),
        (text, "damaged or truncated"),
        (Path.mkdir, "cannot be read"),
    ],
)
def test_an_unsafe_or_damaged_zip_is_refused(
    make: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.zip"
    make(path)
    with pytest.raises(BundleError, match=message) as caught:
        read_zip(path)
    assert caught.value.remedy


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_cut_or_changed_zip_never_ends_in_another_error(
    data: st.DataObject, files: Files, tmp_path: Path
) -> None:
    small = {MANIFEST: files[MANIFEST], "study.yaml": b"study: x\n"}
    path = written(tmp_path, small)
    raw = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        raw = raw[: data.draw(st.integers(0, len(raw) - 1))]
    else:
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(raw))
    try:
        read_zip(path)
    except BundleError:
        return


def test_differences_name_the_place() -> None:
    stated = {"cells": [{"id": "a", "n": 3}, {"id": "b", "n": 4}], "more": 1}
    found = {"cells": [{"id": "a", "n": 3}, {"id": "b", "n": 5}]}
    assert list(differences(stated, found, "r.json")) == [
        "r.json: cells [2 b]: n: stated 4, recomputed 5",
        "r.json: more is stated but not recomputed",
    ]


# --- the command line -----------------------------------------------------------------------


def test_the_commands(
    files: Files,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    study_folder(tmp_path / "mine", Plan(trials=2, write_samples=False))
    assert run(["bundle", "mine", "--out", "b.zip"]) == 0
    assert run(["verify", "b.zip"]) == 0
    assert "verified: every file and every number" in capsys.readouterr().out
    written(tmp_path, {**files, "APPENDIX.md": b""})
    assert run(["verify", "bundle.zip"]) == 15
    output = capsys.readouterr()
    assert "different: APPENDIX.md was changed" in output.out
    assert "not verified: 1 difference" in output.err
    assert run(["verify", "none.zip"]) == 15
    assert run(["bundle", "none", "--out", "c.zip"]) == 6
    assert not Path("c.zip").exists()
