"""Write the generated parts of the user guide from the types and the messages themselves.

    python tools/generate_docs.py           writes them
    python tools/generate_docs.py --check   says which files are not what it would write

A generated part stands in a document between ``<!-- generated: NAME -->`` and
``<!-- end of NAME -->``; the rest of the document is written by hand and left alone.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pydantic import BaseModel, TypeAdapter  # noqa: E402

import windtunnel.cli as command_line  # noqa: E402
from tools.doc_messages import messages  # noqa: E402
from tools.doc_notes import COLUMNS, NOTES  # noqa: E402
from windtunnel import errors  # noqa: E402
from windtunnel.cluster import (  # noqa: E402
    ByteSize,
    Duration,
    Fraction,
    Frequency,
    LinkRate,
    Power,
    Price,
    Rate,
    Role,
    cluster_schema,
)
from windtunnel.engines.hadoop.client import COMMANDS  # noqa: E402
from windtunnel.probes import sampler  # noqa: E402
from windtunnel.results import decision, record  # noqa: E402
from windtunnel.study import journal  # noqa: E402
from windtunnel.study.file import StudyFile  # noqa: E402
from windtunnel.workloads import WORKLOADS  # noqa: E402

Schema = Mapping[str, Any]
ROLES = list(get_args(Role))

QUANTITIES: dict[str, Any] = {
    "size": ByteSize,
    "rate": Rate,
    "line rate": LinkRate,
    "frequency": Frequency,
    "duration": Duration,
    "power": Power,
    "price": Price,
    "share": Fraction,
}


# --- tables ---------------------------------------------------------------------------------


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [list(head)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def plain(text: str) -> str:
    """A docstring's text in Markdown: one paragraph per paragraph, single backquotes."""
    return "\n\n".join(
        " ".join(part.split()) for part in inspect.cleandoc(text).replace("``", "`").split("\n\n")
    )


def text_schema(annotation: Any) -> Schema:
    """The JSON Schema of a quantity written as text."""
    schema = TypeAdapter(annotation).json_schema()
    found: Schema = next(s for s in schema.get("anyOf", [schema]) if "pattern" in s)
    return found


def quantity(schema: Schema) -> str | None:
    """The kind of quantity that a JSON Schema stands for, or None.

    A rate and a line rate have the same units; their examples tell them apart.
    """
    for noun, annotation in QUANTITIES.items():
        own = text_schema(annotation)
        if all(own[key] == schema.get(key) for key in ("pattern", "examples")):
            return noun
    return None


def type_words(schema: Schema) -> str:
    """A JSON Schema's type in a few words, with links to quantities and to other tables."""
    if "$ref" in schema:
        return model_link(str(schema["$ref"]).rsplit("/", 1)[-1])
    if (noun := quantity(schema)) is not None:
        return f"[{noun}](study-file.md#quantities-and-units)"
    if schema.get("enum") == ROLES:
        return "[role](#roles)"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema:
        kinds = [type_words(s) for s in schema["anyOf"] if s.get("type") != "null"]
        if any("quantities" in kind for kind in kinds):
            kinds = [kind for kind in kinds if not kind.startswith("number")]
        return " or ".join(dict.fromkeys(kinds))
    if schema.get("type") == "array":
        return f"list of {type_words(schema.get('items', {}))}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties", schema.get("patternProperties"))
        if isinstance(inner, Mapping):
            first = inner if "additionalProperties" in schema else next(iter(inner.values()))
            return f"mapping of names to {type_words(first)}"
        return "mapping"
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "yes/no"}
    words = names.get(str(schema.get("type")), "any value")
    return words + bounds(schema)


def bounds(schema: Schema) -> str:
    """Bounds of a number, for the reader: ``, at least 1``."""
    if schema.get("exclusiveMinimum") == 0:
        return ", at least 1" if schema["type"] == "integer" else ", above 0"
    return f", at least {schema['minimum']}" if schema.get("minimum") is not None else ""


def model_link(name: str) -> str:
    """A link to the table of another type of the same page."""
    return f"[{name}](#{name.lower()})"


def default_words(name: str, field: Schema, required: Iterable[str]) -> str:
    """``required``, the default, or nothing where a left-out value means unknown."""
    if name in required:
        return "required"
    default = field.get("default")
    if default in (None, "", {}, []) or isinstance(default, dict):
        return ""
    return f"`{json.dumps(default, ensure_ascii=False)}`"


def fields(schema: Schema, notes: Mapping[str, str] | None = None) -> str:
    """The table of a type's fields; without the columns that would be empty."""
    notes = notes or {}
    rows = []
    for name, field in schema["properties"].items():
        words = notes.get(name) or str(field.get("description", ""))
        if quantity(field) and words.startswith(("a ", "an ")):
            words = ""
        default = default_words(name, field, schema.get("required", ()))
        rows.append([f"`{name}`", type_words(field), default, plain(words).replace("`[", "[")])
    head = ["key", "type", "default", "meaning"]
    if not any(row[3] for row in rows):
        head, rows = head[:3], [row[:3] for row in rows]
    return table(head, rows)


def section(name: str, schema: Schema, notes: Mapping[str, str] | None = None) -> str:
    """Heading, docstring and fields of one type."""
    about = plain(str(schema.get("description", "")))
    return f"### {name}\n\n{about}\n\n{fields(schema, notes)}".replace("\n\n\n\n", "\n\n")


# --- the parts ------------------------------------------------------------------------------


def quantities() -> str:
    """Every kind of quantity with its units."""
    rows = []
    for noun, annotation in QUANTITIES.items():
        own = text_schema(annotation)
        units = re.search(r"\(([^()]*)\)\\s\*\$$", own["pattern"])
        names = units.group(1).split("|") if units else ["%"]
        examples = ", ".join(f"`{text}`" for text in own["examples"])
        extra = " or a number from 0 to 1, such as `0.2`" if noun == "share" else ""
        rows.append([noun, examples + extra, " ".join(f"`{name}`" for name in names)])
    return table(["quantity", "written", "units"], rows)


def study_file() -> str:
    """The study file and its protocol."""
    schema = StudyFile.model_json_schema()
    parts = [section("StudyFile", schema)]
    parts += [section(name, found) for name, found in schema["$defs"].items()]
    return "\n\n".join(parts)


def workload_list() -> str:
    """Every workload with what it stresses and a link to its page."""
    rows = [
        [f"[{name}](workloads/{page_of(name)})", kind.summary, kind.about.stresses]
        for name, kind in WORKLOADS.items()
    ]
    return table(["workload", "what is run", "what it stresses"], rows)


def page_of(name: str) -> str:
    """The page that has a workload's generated part: several may share one."""
    pages = sorted((ROOT / "docs/workloads").glob("*.md"))
    mark = f"<!-- generated: {_WORKLOAD}{name} -->"
    return next((p.name for p in pages if mark in p.read_text(encoding="utf-8")), f"{name}.md")


def workload_part(name: str) -> str:
    """One workload: parameters with those of its parts, metrics of its own."""
    kind = WORKLOADS[name]
    schema = kind.parameters_type.model_json_schema()
    parts = [f"**Stresses**: {kind.about.stresses}.", fields(schema)]
    parts += [section(title, found) for title, found in schema.get("$defs", {}).items()]
    rows = [[f"`{metric}`", meaning] for metric, meaning in kind.about.metrics.items()]
    parts.append(table(["metric", "meaning"], rows))
    parts.append(f"Example: `windtunnel run {kind.about.example}`.")
    return "\n\n".join(parts)


def cluster_description() -> str:
    """The cluster and all its parts, in the order in which a reader meets them."""
    schema = cluster_schema()
    parts = schema["$defs"]
    order = ["HostClass", "Cpu", "Disk", "Nic", "Guest", "HostPower", "Degraded"]
    order += ["Network", "Rack", "Switch", "Storage", "Software"]
    names = [*order, *sorted(set(parts) - set(order))]
    text = [section("Cluster", schema), *(section(name, parts[name]) for name in names)]
    text.append("### Roles\n\n" + ", ".join(f"`{role}`" for role in ROLES) + ".")
    return "\n\n".join(text)


def records(*models: type[BaseModel]) -> str:
    """Tables of stored records."""
    parts = []
    for model in models:
        schema = model.model_json_schema(by_alias=True)
        parts.append(section(model.__name__, schema, NOTES.get(model.__name__)))
    return "\n\n".join(parts)


def study_json() -> str:
    """Types in ``study.json``."""
    return records(
        record.StudyRecord,
        record.DesignRecord,
        record.ProtocolRecord,
        record.ScaleRecord,
        record.SimilarityGroup,
    )


def decision_json() -> str:
    """The type in ``decision.json``."""
    return records(decision.DecisionRecord)


def trial_json() -> str:
    """Types in ``trials/ID.json``."""
    return records(
        record.Trial,
        record.Treatment,
        record.FaultRecord,
        record.Verdict,
        record.Check,
        record.Phase,
        record.Metric,
        record.Before,
    )


def parquet() -> str:
    """Columns of the Parquet files."""
    parts = []
    for title, schema in (("samples", sampler.SCHEMA), ("tasks", journal.TASKS_SCHEMA)):
        rows = [[f"`{field.name}`", str(field.type), COLUMNS[field.name]] for field in schema]
        parts.append(f"### {title}/ID.parquet\n\n" + table(["column", "type", "meaning"], rows))
    return "\n\n".join(parts)


def error_classes() -> Iterator[type[errors.WindtunnelError]]:
    """All classes of ``windtunnel/errors.py`` but the base, by exit code."""
    found = [
        member
        for _, member in inspect.getmembers(errors, inspect.isclass)
        if issubclass(member, errors.WindtunnelError) and member is not errors.WindtunnelError
    ]
    yield from sorted(found, key=lambda member: (member.exit_code, member.__name__))


def exit_codes() -> str:
    """Exit codes with the class, the words that lead the message, and the meaning."""
    rows = [["0", "", "", "Done."]]
    for member in error_classes():
        if member is errors.TrialInvalidError:
            continue  # never ends a command
        about = plain(inspect.getdoc(member) or "").split("\n\n")[0]
        rows.append([str(member.exit_code), f"`{member.title}:`", f"`{member.__name__}`", about])
    bug = "A fault of Windtunnel's. The traceback is in a file that the message names."
    rows.append([str(command_line.UNEXPECTED), "`unexpected error:`", "", bug])
    rows.sort(key=lambda row: int(row[0]))
    return table(["exit code", "the message begins with", "class", "meaning"], rows)


def invalid_trial() -> str:
    """The one error that ends no command."""
    return plain(inspect.getdoc(errors.TrialInvalidError) or "")


def hadoop_commands() -> str:
    """What ``windtunnel exec`` knows."""
    families: dict[str, list[str]] = {}
    for first, second in COMMANDS:
        families.setdefault(first, []).append(f"`{second}`")
    return table(
        ["command", "followed by"],
        [[f"`{first}`", ", ".join(seconds)] for first, seconds in families.items()],
    )


# --- documents ------------------------------------------------------------------------------

PARTS: dict[str, Callable[[], str]] = {
    "quantities": quantities,
    "study file": study_file,
    "workloads": workload_list,
    "cluster description": cluster_description,
    "study.json": study_json,
    "decision.json": decision_json,
    "trial json": trial_json,
    "parquet columns": parquet,
    "exit codes": exit_codes,
    "invalid trial": invalid_trial,
    "messages": messages,
    "hadoop commands": hadoop_commands,
}
_PART = re.compile(r"(<!-- generated: (?P<name>[^>]+) -->\n).*?(<!-- end of (?P=name) -->)", re.S)


_WORKLOAD = "workload "


def part(name: str) -> str:
    """A generated part by its name."""
    if name.startswith(_WORKLOAD):
        # these pages lie a folder deeper
        made = workload_part(name.removeprefix(_WORKLOAD))
        return made.replace("](study-file.md", "](../study-file.md")
    return PARTS[name]()


def fresh(text: str) -> str:
    """A document with its generated parts made anew."""
    return _PART.sub(lambda m: f"{m[1]}\n{part(m['name'])}\n\n{m[3]}", text)


def documents() -> list[Path]:
    """Documents with generated parts."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [path for path in found if _PART.search(path.read_text(encoding="utf-8"))]


def main() -> int:
    """Write the documents, or only compare them."""
    stale = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        made = fresh(text)
        if made != text:
            stale.append(str(path.relative_to(ROOT)))
            if "--check" not in sys.argv:
                path.write_text(made, encoding="utf-8")
    for name in stale:
        print(f"{name}: {'not fresh' if '--check' in sys.argv else 'written'}")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
