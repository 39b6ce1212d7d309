"""One XML file of Hadoop's properties, and the files that it includes (``xi:include``).

Source of the rules: API documentation of ``org.apache.hadoop.conf.Configuration``. An included
file is relative to the one that includes it; here it must be in the same folder or below it. The
properties of ``xi:fallback`` count only if the file is not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from windtunnel.errors import DescriptionError

MAX_BYTES = 16 << 20
_MAX_INCLUDES = 20


@dataclass(frozen=True)
class SiteProperty:
    """One property, without white space at its ends, and where it is."""

    name: str
    value: str
    file: Path
    line: int
    final: bool = False


@dataclass
class SiteFile:
    """The properties of a file and of the files that it includes, in their order.

    ``read`` are the files that were read. ``unread`` are the includes that were not: the place
    (file and line) and the reason.
    """

    properties: list[SiteProperty] = field(default_factory=list)
    read: list[Path] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)


def read_site_file(file: Path, *, entities: bool = False) -> SiteFile:
    """Read a site file and what it includes; with ``entities``, it may declare entities.

    Raises
    ------
    OSError
        The file itself cannot be read.
    DescriptionError
        A file is no XML, too large, declares entities, or is included in a circle (file, line).
    """
    parser = _Parser(file, entities)
    parser.made.properties += parser.properties_of(file, ())
    return parser.made


class _Parser:
    """Parses one site file, and the files that it includes."""

    def __init__(self, file: Path, entities: bool) -> None:
        self.made = SiteFile()
        self._root = file.resolve().parent
        self._entities = entities
        self._included = 0

    def properties_of(self, file: Path, above: tuple[Path, ...]) -> list[SiteProperty]:
        """The properties of a file; ``above`` are the files that include it."""
        if file.stat().st_size > MAX_BYTES:
            raise _bad(file, 1, "it is larger than 16 MiB")
        raw = file.read_bytes()
        self.made.read.append(file)
        found: list[SiteProperty] = []
        fields: dict[str, str] = {}
        text: list[str] = []
        open_tags: list[str] = []
        line_of_property = [1]
        fallback_counts = [True]
        parser = expat.ParserCreate(namespace_separator=" ")

        def start(tag: str, attributes: Mapping[str, str]) -> None:
            tag = tag.split(" ")[-1]
            open_tags.append(tag)
            text.clear()
            if tag == "include":
                line = parser.CurrentLineNumber
                included = self._include(file, attributes.get("href", ""), line, above)
                fallback_counts[0] = included is None
                found.extend(included or [])
            elif tag == "property":
                fields.clear()
                fields.update(attributes)  # the short form: <property name="..." value="..."/>
                line_of_property[0] = parser.CurrentLineNumber

        def end(tag: str) -> None:
            tag = tag.split(" ")[-1]
            open_tags.pop()
            content = "".join(text)
            text.clear()
            if tag in ("name", "value", "final") and open_tags[-1:] == ["property"]:
                fields[tag] = content if tag == "value" else content.strip()
            elif tag == "property" and fields.get("name"):
                if "fallback" in open_tags and not fallback_counts[0]:
                    return
                found.append(
                    SiteProperty(
                        fields["name"].strip(),
                        fields.get("value", "").strip(),
                        file,
                        line_of_property[0],
                        fields.get("final", "").lower() == "true",
                    )
                )

        def no_entity(*_: object) -> None:
            raise _bad(file, parser.CurrentLineNumber, "it declares entities, which are not read")

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = text.append
        if not self._entities:
            parser.EntityDeclHandler = no_entity
        try:
            parser.Parse(raw, True)
        except expat.ExpatError as error:
            reason = f"it is not XML: {expat.ErrorString(error.code)}"
            raise _bad(file, error.lineno, reason) from None
        return found

    def _include(
        self, file: Path, href: str, line: int, above: tuple[Path, ...]
    ) -> list[SiteProperty] | None:
        """The properties of an included file; None if it is not read, with the reason noted."""
        problem = None
        if "://" in href:
            problem = f"the included {href} is not read: it is not a file"
        else:
            target = (file.parent / href).resolve()
            if self._root not in target.parents:
                problem = f"the included {href} is not read: it is outside the folder"
            else:
                self._included += 1
                if target in above or target == file.resolve() or self._included > _MAX_INCLUDES:
                    raise _bad(file, line, f"the file {href} is included in a circle or too often")
                try:
                    return self.properties_of(target, (*above, file.resolve()))
                except FileNotFoundError:
                    problem = f"the included {href} does not exist"
                except OSError as error:
                    problem = f"the included {href} cannot be read: {error.strerror}"
        self.made.unread.append((f"{file.name}:{line}", problem))
        return None


def _bad(file: Path, line: int, problem: str) -> DescriptionError:
    return DescriptionError(
        problem,
        file=file,
        line=line,
        remedy="correct the file, or export the client configuration again.",
    )
