"""The sentences of a file, without its code: for the tests of words."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML


class Passage(NamedTuple):
    """Connected text: a paragraph, a table row, a docstring, a comment, a message."""

    line: int
    section: str
    text: str


FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
GENERATED = re.compile(r"^<!-- generated: ([^>]+) -->$.*?^<!-- end of \1 -->$", re.M | re.S)
# Keys of the catalogue's files whose values are sentences for the reader.
PROSE_KEYS = {"question", "about", "reason", "note", "notes", "means", "name", "sources"}


def passages(path: Path) -> Iterator[Passage]:
    """The passages of a Markdown, YAML, Python, Java or template file."""
    text = path.read_text(encoding="utf-8")
    kinds = {".md": markdown, ".yaml": catalogue, ".py": python, ".java": java, ".j2": template}
    for passage in kinds[path.suffix](text):
        yield passage._replace(text=plain(passage.text))


def plain(text: str) -> str:
    """Without code and link targets, on one line."""
    text = re.sub(r"``.+?``|`[^`]+`", "CODE", text, flags=re.S)
    text = re.sub(r"\]\([^)\s]+\)", "]", text)
    return " ".join(text.split())


def blanked(pattern: re.Pattern[str], text: str) -> str:
    """The text with empty lines in place of every match, so that line numbers stay."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


def markdown(text: str) -> Iterator[Passage]:
    """Headings, paragraphs, list items and table rows, without the generated parts."""
    text = blanked(FENCED, blanked(GENERATED, text))
    section, start, lines = "", 1, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        begins = re.match(r"\s*(#+ |[-*] |\d+\. |\|)", line)
        if lines and (begins or not line.strip()):
            yield Passage(start, section, " ".join(lines))
            lines = []
        if line.startswith("#"):
            section = line.lstrip("# ")
        if line.strip():
            start = start if lines else number
            lines.append(re.sub(r"^\s*(#+|[-*]|\d+\.) ", "", line))


def catalogue(text: str) -> Iterator[Passage]:
    """Comments, and the values of the keys that hold sentences."""
    yield from commented(text, r"(?:^|\s)#\s(.*)$")
    yield from (Passage(0, key, value) for key, value in sentences(YAML(typ="safe").load(text)))


def sentences(node: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The sentences below a node of a YAML file, with their keys."""
    if isinstance(node, dict):
        for name, inner in node.items():
            yield from sentences(inner, str(name))
    elif isinstance(node, list):
        for inner in node:
            yield from sentences(inner, key)
    elif isinstance(node, str) and key in PROSE_KEYS:
        yield key, node


def commented(text: str, comment: str) -> Iterator[Passage]:
    """Comments, those of consecutive lines as one."""
    start, lines = 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        found = re.search(comment, line)
        if lines and (found is None or not line.lstrip().startswith(("#", "/", "*"))):
            yield Passage(start, "comment", " ".join(lines))
            lines = []
        if found:
            start = start if lines else number
            lines.append(found[1])


def python(text: str) -> Iterator[Passage]:
    """Docstrings, comments, and string literals of more than one word."""
    last, start, lines = -1, 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        number = token.start[0]
        alone = token.line.lstrip().startswith("#")
        if lines and (number != last + 1 or not alone):
            yield Passage(start, "comment", " ".join(lines))
            lines = []
        start, last = (start if lines else number), number
        lines.append(token.string.lstrip("# "))
    if lines:
        yield Passage(start, "comment", " ".join(lines))
    yield from literals(ast.parse(text))


def literals(node: ast.AST) -> Iterator[Passage]:
    """String literals; an f-string is one, its expressions are ``CODE``."""
    if isinstance(node, ast.JoinedStr):
        parts = [n.value if isinstance(n, ast.Constant) else " CODE " for n in node.values]
        yield Passage(node.lineno, "text", "".join(map(str, parts)))
        inner = [n.value for n in node.values if isinstance(n, ast.FormattedValue)]
        for expression in inner:
            yield from literals(expression)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str) and " " in node.value.strip():
            yield Passage(node.lineno, "text", node.value)
    else:
        for child in ast.iter_child_nodes(node):
            yield from literals(child)


def java(text: str) -> Iterator[Passage]:
    """Comments, and string literals of more than one word."""
    yield from commented(text, r"(?:^|\s)(?://|/\*\*?|\*)\s(.*?)(?:\*/)?$")
    for number, line in enumerate(text.splitlines(), 1):
        for literal in re.findall(r'"((?:[^"\\]|\\.)*\s(?:[^"\\]|\\.)*)"', line):
            yield Passage(number, "text", literal)


def template(text: str) -> Iterator[Passage]:
    """The text between the tags of a template, line by line."""
    text = blanked(re.compile(r"\{#.*?#\}|\{%.*?%\}|<[^>]*>", re.S), text)
    for number, line in enumerate(text.splitlines(), 1):
        yield Passage(number, "text", re.sub(r"\{\{.*?\}\}", "CODE", line))
