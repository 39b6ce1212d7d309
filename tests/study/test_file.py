"""The study file: what is read, what is left out, what is refused with line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from windtunnel.errors import DescriptionError
from windtunnel.study.file import (
    StudyFile,
    blame,
    catalogue_names,
    catalogue_text,
    load_bundle,
    load_study,
    part,
)

GOOD = """\
study: toy
cluster: local-3
workloads:
  terasort: {size: 1 GB, input_replication: 1, output_replication: 1}
"""


def write(folder: Path, text: str) -> str:
    file = folder / "study.yaml"
    file.write_text(text)
    return str(file)


def test_what_is_left_out_has_the_documented_values(tmp_path: Path) -> None:
    file, _ = load_study(write(tmp_path, GOOD))

    assert file.testbed.kind == "local"
    assert file.design.kind == "full-factorial"
    assert (file.protocol.rounds, file.protocol.seed, file.protocol.warmup) == (3, 1, 0)
    assert file.protocol.variation_limit == 0.20
    assert file.protocol.trial_time_limit == 1800
    assert (file.protocol.extra_rounds, file.protocol.retry_invalid) == (2, 1)
    assert file.protocol.cache == "warm"


def test_a_name_of_the_catalogue_needs_no_file() -> None:
    file, located = load_study("demo")

    assert file.study == "demo"
    assert located.name == "catalogue:studies/demo.yaml"


@pytest.mark.parametrize(
    ("change", "line", "key", "says"),
    [
        ("protocol: {round: 5}", 5, "protocol.round", "unknown key 'round'"),
        ("protocol: {rounds: 0}", 5, "protocol.rounds", "more than 0"),
        ("factors: {n: {levels: [1]}}", 5, "factors.n.levels", "mapping of paths to values"),
        ("protocol: {rounds: many}", 5, "protocol.rounds", "whole number"),
        ("protocol: {trial_time_limit: 5}", 5, "protocol.trial_time_limit", "unit"),
        ("protocol:\n  variation_limit: 2000 %", 6, "protocol.variation_limit", ""),
        ("protocol: {cache: cold}", 5, "protocol.cache", "must be one of warm, drop"),
        ("design: latin", 5, "design", "full-factorial"),
        ("factors: 7", 5, "factors", "mapping"),
        ("testbedd: local", 5, "testbedd", "unknown key"),
    ],
)
def test_a_mistake_is_shown_at_its_line_and_key(
    tmp_path: Path, change: str, line: int, key: str, says: str
) -> None:
    with pytest.raises(DescriptionError) as caught:
        load_study(write(tmp_path, GOOD + change + "\n"))

    assert (caught.value.line, caught.value.key) == (line, key)
    assert says in caught.value.render()


@pytest.mark.parametrize("name", ["", "a/b", "../x", "-x", "a b"])
def test_a_name_that_is_no_file_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DescriptionError, match="pattern"):
        load_study(write(tmp_path, GOOD.replace("study: toy", f"study: '{name}'")))


def test_an_error_without_a_file_gets_the_place_that_caused_it(tmp_path: Path) -> None:
    _, located = load_study(write(tmp_path, GOOD))
    with pytest.raises(DescriptionError) as caught, blame(located, "workloads", "terasort"):
        raise DescriptionError("too odd", key="rows", remedy="make it even")

    assert caught.value.line == 4
    assert caught.value.message == "rows: too odd"
    assert caught.value.remedy == "make it even"


def test_an_error_that_knows_its_file_keeps_it(tmp_path: Path) -> None:
    _, located = load_study(write(tmp_path, GOOD))
    with pytest.raises(DescriptionError) as caught, blame(located, "cluster"):
        raise DescriptionError("no hosts", file="cluster.yaml", line=3)

    assert (caught.value.file, caught.value.line) == ("cluster.yaml", 3)


def test_a_part_of_a_file_keeps_its_lines(tmp_path: Path) -> None:
    _, located = load_study(write(tmp_path, GOOD))

    assert part(located, "workloads").line_of(("terasort",)) == 4


def test_every_bundle_has_a_reason_for_each_line() -> None:
    for name in catalogue_names("bundles"):
        bundle = load_bundle(name)
        assert bundle.bundle == name
        assert all(len(line.reason) > 5 for line in bundle.settings.values())


def test_the_catalogue_names_what_it_has() -> None:
    with pytest.raises(DescriptionError) as caught:
        catalogue_text("studies", "nope")

    assert "demo" in caught.value.remedy


def test_every_field_of_the_study_file_is_described_in_its_schema() -> None:
    schema = StudyFile.model_json_schema()
    for owner in (schema, schema["$defs"]["Protocol"]):
        for name, field in owner["properties"].items():
            assert field.get("description") or name == "protocol", name
