"""The RO-Crate metadata: the MUST rules of the profiles, and the validator if it is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.synthetic import Plan, study_folder
from windtunnel.bundle.archive import write_zip
from windtunnel.bundle.contents import collect
from windtunnel.bundle.crate import METADATA, PROFILES


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crate")
    for name, seed in (("one", 1), ("two", 2)):
        study_folder(folder / name, Plan(trials=2, write_samples=False, seed=seed))
    made = collect([folder / "one", folder / "two"], redact=False)
    write_zip(made.files, folder / "b.zip")
    return folder / "b.zip"


@pytest.fixture(scope="module")
def graph(bundle: Path) -> dict[str, dict[str, Any]]:
    with zipfile.ZipFile(bundle) as archive:
        data = json.loads(archive.read(METADATA))
    assert "https://w3id.org/ro/crate/1.1/context" in data["@context"]
    entities = data["@graph"]
    assert len({entity["@id"] for entity in entities}) == len(entities), "ids are unique"
    return {entity["@id"]: entity for entity in entities}


def types(entity: dict[str, Any]) -> set[str]:
    found = entity["@type"]
    return {found} if isinstance(found, str) else set(found)


def ids(value: Any) -> list[str]:
    return [one["@id"] for one in (value if isinstance(value, list) else [value])]


def test_the_descriptor_and_the_root(graph: dict[str, dict[str, Any]]) -> None:
    descriptor, root = graph[METADATA], graph["./"]
    assert types(descriptor) == {"CreativeWork"} and ids(descriptor["about"]) == ["./"]
    assert "https://w3id.org/ro/crate/1.1" in ids(descriptor["conformsTo"])
    assert types(root) == {"Dataset"}
    assert all(root[key] for key in ("name", "description", "datePublished", "license"))
    assert set(ids(root["conformsTo"])) == set(PROFILES)


def test_every_file_is_a_part(graph: dict[str, dict[str, Any]], bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        names = set(archive.namelist()) - {METADATA, "manifest.json"}
    parts = set(ids(graph["./"]["hasPart"]))
    assert parts == names
    assert all("File" in types(graph[name]) for name in parts)


def test_every_reference_has_its_entity(graph: dict[str, dict[str, Any]]) -> None:
    missing = []
    for entity in graph.values():
        for key, value in entity.items():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, dict) and not one["@id"].startswith("http"):
                    missing += [(entity["@id"], key)] if one["@id"] not in graph else []
    assert missing == []


def test_each_study_is_a_workflow_that_ran(graph: dict[str, dict[str, Any]]) -> None:
    root = graph["./"]
    main = graph[ids(root["mainEntity"])[0]]
    assert {"File", "SoftwareSourceCode", "ComputationalWorkflow"} <= types(main)
    language = graph[ids(main["programmingLanguage"])[0]]
    assert types(language) == {"ComputerLanguage"}
    actions = [entity for entity in graph.values() if "CreateAction" in types(entity)]
    assert len(actions) == 2 and set(ids(root["mentions"])) == {one["@id"] for one in actions}
    for action in actions:
        workflow = graph[ids(action["instrument"])[0]]
        assert "ComputationalWorkflow" in types(workflow)
        assert action["startTime"] <= action["endTime"] and ids(action["result"])
    assert ids(root["mainEntity"])[0] in {ids(one["instrument"])[0] for one in actions}


_SCHEMA = (
    "ComputerLanguage CreateAction CreativeWork Dataset SoftwareApplication SoftwareSourceCode "
    "about actionStatus datePublished description encodingFormat endTime hasPart instrument "
    "license mainEntity mentions name object programmingLanguage result softwareVersion startTime "
    "version"
)
# The terms that bundles use, as in the context of RO-Crate 1.1.3.
TERMS = {name: f"http://schema.org/{name}" for name in _SCHEMA.split()} | {
    "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
    "File": "http://schema.org/MediaObject",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
}


def test_the_validator_accepts_it(bundle: Path, tmp_path: Path) -> None:
    """The context is a copy of the used terms, so that the validator needs no network."""
    validator = shutil.which("rocrate-validator")
    if validator is None:
        pytest.skip("rocrate-validator is not installed: the MUST rules are checked above")
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(tmp_path)
    file = tmp_path / METADATA
    crate = json.loads(file.read_text())
    used = {key for entity in crate["@graph"] for key in entity if not key.startswith("@")}
    used |= {name for entity in crate["@graph"] for name in types(entity)}
    assert used <= TERMS.keys()
    file.write_text(json.dumps({**crate, "@context": TERMS}))
    words = ["-y", "validate", "-p", "workflow-run-crate", "--no-paging", "-f", "json"]
    done = subprocess.run(
        [validator, *words, "-o", str(tmp_path.parent / "report.json"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    report = json.loads((tmp_path.parent / "report.json").read_text())
    assert report["passed"] is True and report["issues"] == []
