"""YAML files with line numbers, and validation errors with FILE:LINE and key.

The module is generic: cluster descriptions and study files both use :func:`load_yaml` and
:func:`validate`. All errors of a file are reported in exactly one :class:`DescriptionError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.constructor import BaseConstructor, ConstructorError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from windtunnel.cluster.schema_paths import Key, dotted
from windtunnel.cluster.validation_messages import Complaint, complaints
from windtunnel.errors import DescriptionError

MAX_NODES = 200_000  # protects against aliases that multiply; a description is small
_TEXT_TAGS = ("str", "timestamp", "binary")
_NUMBER_TAGS = ("int", "float", "bool", "null")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Located:
    """Plain data and the line of each part.

    ``name`` is the file as the user wrote it, or None for data without a file;
    ``lines`` maps a path (a tuple of keys and indices) to a line, counted from 1.
    """

    data: dict[str, Any]
    name: str | None = None
    lines: Mapping[tuple[Key, ...], int] = field(default_factory=dict)
    text: str = ""

    def line_of(self, loc: tuple[Key, ...]) -> int | None:
        """The line of ``loc``, or of its nearest parent in the file."""
        for length in range(len(loc), 0, -1):
            if loc[:length] in self.lines:
                return self.lines[loc[:length]]
        return self.lines.get(())

    def error(self, message: str, *loc: Key, remedy: str = "") -> DescriptionError:
        """A DescriptionError at ``loc`` in this file."""
        return DescriptionError(
            message, remedy=remedy, file=self.name, line=self.line_of(loc), key=dotted(loc) or None
        )

    def placed(self, error: DescriptionError) -> DescriptionError:
        """The error with the file and the line of its key, if the file has the key and it has none.

        Otherwise the line is that of the nearest key above it.
        """
        places = {dotted(loc): loc for loc in self.lines if loc}
        key = error.key or ""
        while key and key not in places:
            key = key.rpartition(".")[0]
        if not key or error.file is not None:
            return error
        found = self.error(error.message, *places[key], remedy=error.remedy)
        found.key = error.key
        return found


def load_yaml(path: Path | str) -> Located:
    """Read a YAML file whose top level is a mapping.

    Raises
    ------
    DescriptionError
        The file is missing, a directory, unreadable, not UTF-8, empty, not YAML, has a
        duplicate key, or is not a mapping.
    """
    file = Path(path)
    try:
        if not file.exists():
            problem = "the file does not exist"
            if file.is_symlink():
                problem = f"the link points to {file.readlink()}, which does not exist"
            raise DescriptionError(problem, file=path, remedy="check the path")
        if not file.is_file():
            kind = "a directory" if file.is_dir() else "not a regular file"
            raise DescriptionError(f"this is {kind}", file=path, remedy="specify a YAML file")
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DescriptionError(
            f"byte {error.start} is not UTF-8 text",
            file=path,
            line=line,
            remedy="save the file as UTF-8 text",
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DescriptionError(
            f"cannot be read: {reason}", file=path, remedy="check the path and its permissions"
        ) from None
    return load_text(text, str(path))


def load_text(text: str, name: str | None = None) -> Located:
    """Like :func:`load_yaml`, for text; ``name`` is the name of the file in messages."""
    try:
        yaml = YAML(typ="safe", pure=True)
        node = yaml.compose(text)
        if node is None:
            raise DescriptionError("the file is empty", file=name, remedy="add the description")
        walk = _Walk(name, yaml.constructor)
        data = walk.plain(node, ())
    except MarkedYAMLError as error:
        raise _syntax_error(error, name) from None
    except YAMLError as error:
        message = str(error).splitlines()[0]
        raise DescriptionError(f"not YAML: {message}", file=name, remedy=_SYNTAX_REMEDY) from None
    except RecursionError:
        raise DescriptionError("nested too deeply", file=name, remedy="flatten it") from None
    if not isinstance(data, dict):
        raise DescriptionError(
            "the top level must be a mapping (lines of 'key: value')",
            file=name,
            line=walk.lines.get(()),
            remedy="start with a line such as 'name: my-cluster'",
        )
    return Located(data, name, walk.lines, text)


_SYNTAX_REMEDY = "check the indentation, colons, quotes and tabs on that line"


def _syntax_error(error: MarkedYAMLError, name: str | None) -> DescriptionError:
    """The parser's error with its line."""
    mark = error.problem_mark or error.context_mark
    problem = error.problem or error.context or "cannot be parsed"
    if problem.startswith("found unknown escape") or mark is None:
        where = ""
    else:
        where = f" (column {mark.column + 1})"
    return DescriptionError(
        f"not YAML: {problem.strip()}{where}",
        file=name,
        line=None if mark is None else mark.line + 1,
        remedy=_SYNTAX_REMEDY,
    )


class _Walk:
    """Converts composed nodes to plain data and records the line of every key and item."""

    def __init__(self, name: str | None, constructor: BaseConstructor) -> None:
        self.name = name
        self.lines: dict[tuple[Key, ...], int] = {}
        self._open: list[Node] = []
        self._visited = 0
        self._constructor = constructor

    def plain(self, node: Node, loc: tuple[Key, ...]) -> Any:
        """The value of ``node``, which is at ``loc``."""
        self._visited += 1
        if any(node is outer for outer in self._open):
            raise self._error("an alias refers to something that contains it", node, loc)
        if self._visited > MAX_NODES:
            raise self._error(f"more than {MAX_NODES} values", node, loc)
        self.lines.setdefault(loc, node.start_mark.line + 1)
        self._open.append(node)
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node, loc)
            if isinstance(node, SequenceNode):
                return [self.plain(item, (*loc, i)) for i, item in enumerate(node.value)]
            return self._scalar(node, loc)
        finally:
            self._open.pop()

    def _mapping(self, node: MappingNode, loc: tuple[Key, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode) or str(key_node.tag).endswith(":merge"):
                raise self._error("a key must be a plain word (no '<<', no list)", key_node, loc)
            key = self._text(key_node, loc)
            where = (*loc, key)
            line = key_node.start_mark.line + 1
            if key in result:
                first = self.lines[where]
                raise self._error(
                    f"the key is a duplicate; the first one is on line {first}",
                    key_node,
                    where,
                    remedy="remove one of the two",
                )
            self.lines[where] = line
            result[key] = self.plain(value_node, where)
        return result

    def _scalar(self, node: Node, loc: tuple[Key, ...]) -> Any:
        tag = str(node.tag)
        kind = tag.removeprefix("tag:yaml.org,2002:")
        if kind not in (*_TEXT_TAGS, *_NUMBER_TAGS):
            raise self._error(f"the tag '{tag}' is not allowed", node, loc, remedy="remove it")
        if kind in _TEXT_TAGS:
            return self._text(node, loc)
        try:
            return self._constructor.construct_object(node)
        except (ConstructorError, ValueError, OverflowError) as error:
            raise self._error(f"'{node.value}' cannot be read: {error}", node, loc) from None

    def _text(self, node: Node, loc: tuple[Key, ...]) -> str:
        """The text of a scalar; half a surrogate pair, which an escape can produce, is an error."""
        text = str(node.value)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(text[error.start]):04x}"
            remedy = "write the character itself, or its code with eight digits (\\U0001f600)"
            message = f"the escape {half} is not a character"
            raise self._error(message, node, loc, remedy=remedy) from None
        return text

    def _error(
        self, message: str, node: Node, loc: tuple[Key, ...], remedy: str = ""
    ) -> DescriptionError:
        return DescriptionError(
            message,
            file=self.name,
            line=node.start_mark.line + 1,
            key=dotted(loc) or None,
            remedy=remedy or "write it as plain YAML: mappings, lists, texts and numbers",
        )


def validate(model: type[M], located: Located) -> M:
    """``located.data`` as a ``model``.

    Raises
    ------
    DescriptionError
        With the first complaint in the order of the file (file, line, key, remedy); the message
        also contains the other complaints, one line each.
    """
    try:
        return model.model_validate(located.data)
    except ValidationError as error:
        found = complaints(model, located.data, error)
    found.sort(key=lambda c: located.line_of(c.loc) or 0)
    first, others = found[0], found[1:]
    message = "\n".join([first.message, *(f"  also: {_line(located, c)}" for c in others)])
    raise located.error(message, *first.loc, remedy=first.remedy)


def _line(located: Located, complaint: Complaint) -> str:
    """One additional complaint on one line."""
    line = located.line_of(complaint.loc)
    where = f"line {line}: " if line is not None and located.name is not None else ""
    key = f"key '{dotted(complaint.loc)}': " if complaint.loc else ""
    return f"{where}{key}{complaint.message}"
