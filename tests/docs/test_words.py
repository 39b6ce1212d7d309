"""Documentation and code use the terms of docs/glossary.md, not the words that they replace."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tests.support.prose import Passage, passages

ROOT = Path(__file__).resolve().parents[2]
WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
RULES = [
    (re.compile(rf"(?<![\w-])(?:{rule['not']})(?![\w-])", re.I), rule["say"])
    for rule in WORDS["rules"]
]
MARKDOWN = sorted(
    [*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.md"), *(ROOT / "docs").rglob("*.md")]
)
CATALOGUE = sorted((ROOT / "windtunnel/catalogue").rglob("*.yaml"))
SOURCES = ("*.py", "*.java", "*.j2")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def excepted(path: Path, passage: Passage, word: str) -> bool:
    """Whether an exception with a reason allows a word there."""
    return any(
        fnmatch(name(path), rule["path"])
        and passage.section == rule.get("section", passage.section)
        and re.fullmatch(rule.get("word", ".*"), word, re.I | re.S)
        for rule in WORDS["exceptions"]
    )


def findings(path: Path) -> Iterator[str]:
    """Each word to replace, with its place and its replacement."""
    found = list(passages(path))
    whole = "\n\n".join(passage.text for passage in found)
    rules = [rule for rule in RULES if rule[0].search(whole)]  # most files have no match at all
    for passage in found:
        for pattern, say in rules:
            for match in pattern.finditer(passage.text):
                if not excepted(path, passage, match[0]):
                    around = passage.text[max(0, match.start() - 30) : match.end() + 30]
                    yield f"{name(path)}:{passage.line}: '{match[0]}' ({around}); say: {say}"


def code_folders() -> list[str]:
    """The folders of the code: each part of the package by itself, without the catalogue."""
    package = ROOT / "windtunnel"
    parts = [p.name for p in package.iterdir() if p.is_dir() and not p.name.startswith("__")]
    kept = sorted(f"windtunnel/{part}" for part in parts if part != "catalogue")
    return ["windtunnel", *kept, "tools", "bench"]


def sources(folder: str) -> list[Path]:
    """The files of a folder; of the package itself only those that are in no part."""
    root = ROOT / folder
    search = root.glob if folder == "windtunnel" else root.rglob
    return sorted(path for pattern in SOURCES for path in search(pattern))


@pytest.mark.parametrize("path", [*MARKDOWN, *CATALOGUE], ids=name)
def test_a_document_uses_the_terms_of_the_glossary(path: Path) -> None:
    assert not list(findings(path))


@pytest.mark.parametrize("folder", [f for f in code_folders() if f not in WORDS["not_yet"]])
def test_code_uses_the_terms_of_the_glossary(folder: str) -> None:
    assert not [found for path in sources(folder) for found in findings(path)]


def test_folders_without_findings_leave_the_list() -> None:
    listed = WORDS["not_yet"]
    assert set(listed) <= set(code_folders())
    clean = [f for f in listed if not any(any(findings(path)) for path in sources(f))]
    assert not clean, "remove these from not_yet in words.toml"


@pytest.mark.parametrize("rule", WORDS["exceptions"], ids=lambda rule: str(rule["path"]))
def test_an_exception_has_a_reason_and_a_file(rule: dict[str, str]) -> None:
    assert rule["reason"]
    assert [path for path in ROOT.rglob(rule["path"]) if path.is_file()]


BAD = {
    "a.md": "The report\ntells it.\n\n| it | beside it |\n\n`told` is code.\n\n```sh\nask\n```\n",
    "a.yaml": "question: Who is told?\nstated: told * 2\nx: 1 # left out: none\n",
    "a.py": '"""It asks."""\n\nA = "told"  # is told\nB = f"{A} was left out"\n',
    "a.java": '/** It tells. */\nString a = "was told"; // beside b\n',
    "a.j2": '<p class="told">{{ told }} is told</p>\n',
    "b.md": "Does it leave 0, it is so. Does it?\n\nDo not stop it, wait.\n",
}
EXPECTED = {
    "a.md": ["tells", "beside"],
    "a.yaml": ["left out", "told"],
    "a.py": ["told", "asks", "left out"],
    "a.java": ["tells", "beside", "told"],
    "a.j2": ["told"],
    "b.md": ["Does it leave 0, it is so."],
}


@pytest.mark.parametrize("file", BAD)
def test_words_are_found_in_prose_and_not_in_code(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / file).write_text(BAD[file], encoding="utf-8")
    found = [re.findall(r": '(.+?)' \(", line)[0] for line in findings(tmp_path / file)]
    assert found == EXPECTED[file]
