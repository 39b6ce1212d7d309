"""Write the generated parts of the user guide from the types and messages of the program.

    python tools/generate_docs.py           writes them
    python tools/generate_docs.py --check   prints which files are out of date

A generated part of a document is between ``<!-- generated: NAME -->`` and
``<!-- end of NAME -->``; the rest of the document is written by hand and not changed.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pydantic import BaseModel, TypeAdapter  # noqa: E402

import windtunnel.cli as command_line  # noqa: E402
from tools.doc_commands import commands  # noqa: E402
from tools.doc_messages import messages  # noqa: E402
from tools.doc_metrics import metric_table, metrics  # noqa: E402
from tools.doc_notes import COLUMNS, NOTES  # noqa: E402
from tools.doc_tables import table  # noqa: E402
from windtunnel import errors  # noqa: E402
from windtunnel.audit.check import checks  # noqa: E402
from windtunnel.audit.result import AREAS  # noqa: E402
from windtunnel.cluster import (  # noqa: E402
    ROLES,
    ByteSize,
    Duration,
    Fraction,
    Frequency,
    LinkRate,
    Power,
    Price,
    Rate,
    cluster_schema,
)
from windtunnel.cluster.role_table import Return, RoleEntry  # noqa: E402
from windtunnel.cluster.roles import HADOOP  # noqa: E402
from windtunnel.engines.hadoop.client import COMMANDS  # noqa: E402
from windtunnel.model import store  # noqa: E402
from windtunnel.model.constants import CONSTANTS  # noqa: E402
from windtunnel.probes import sampler  # noqa: E402
from windtunnel.results import decision, record  # noqa: E402
from windtunnel.results.tasks import TASKS_SCHEMA  # noqa: E402
from windtunnel.study.file import StudyFile  # noqa: E402
from windtunnel.testbeds import TESTBEDS  # noqa: E402
from windtunnel.workloads import WORKLOADS  # noqa: E402

Schema = Mapping[str, Any]

QUANTITIES: dict[str, Any] = {
    "size": ByteSize,
    "rate": Rate,
    "line rate": LinkRate,
    "frequency": Frequency,
    "duration": Duration,
    "power": Power,
    "price": Price,
    "fraction": Fraction,
}


RETURNS: dict[Return, str] = {
    "restart": "by restart, after `lasts` or when the phases are over",
    "restart in its phase": "by restart after `lasts` while its phase runs; else with the servers "
    "of the next phase",
}


# --- tables ---------------------------------------------------------------------------------


def plain(text: str) -> str:
    """The text of a docstring in Markdown: one line per paragraph, single backquotes."""
    return "\n\n".join(
        " ".join(part.split()) for part in inspect.cleandoc(text).replace("``", "`").split("\n\n")
    )


def text_schema(annotation: Any) -> Schema:
    """The JSON Schema of a quantity as text."""
    schema = TypeAdapter(annotation).json_schema()
    found: Schema = next(s for s in schema.get("anyOf", [schema]) if "pattern" in s)
    return found


def quantity(schema: Schema) -> str | None:
    """The kind of quantity of a JSON Schema, or None.

    A rate and a line rate have the same units; their examples distinguish them.
    """
    for noun, annotation in QUANTITIES.items():
        own = text_schema(annotation)
        if all(own[key] == schema.get(key) for key in ("pattern", "examples")):
            return noun
    return None


def unsaid(schema: Schema) -> bool:
    """Whether a type among several is omitted: null, or a deprecated spelling."""
    return schema.get("type") == "null" or bool(schema.get("deprecated"))


def type_words(schema: Schema) -> str:
    """The type of a JSON Schema in a few words, with links to quantities and to other tables."""
    if "$ref" in schema:
        return model_link(str(schema["$ref"]).rsplit("/", 1)[-1])
    if (noun := quantity(schema)) is not None:
        return f"[{noun}](study-file.md#quantities-and-units)"
    if schema.get("enum") == ROLES.names():
        return "[role](#roles)"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema:
        kinds = [type_words(s) for s in schema["anyOf"] if not unsaid(s)]
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
    """The bounds of a number in words: ``, at least 1``."""
    if schema.get("exclusiveMinimum") == 0:
        return ", at least 1" if schema["type"] == "integer" else ", above 0"
    return f", at least {schema['minimum']}" if schema.get("minimum") is not None else ""


def model_link(name: str) -> str:
    """A link to the table of another type on the same page."""
    return f"[{name}](#{name.lower()})"


def default_words(name: str, field: Schema, required: Iterable[str]) -> str:
    """``required``, the default, or nothing if an absent value means unknown."""
    if name in required:
        return "required"
    default = field.get("default")
    if default in (None, "", {}, []) or isinstance(default, dict):
        return ""
    return f"`{json.dumps(default, ensure_ascii=False)}`"


def fields(schema: Schema, notes: Mapping[str, str] | None = None) -> str:
    """The table of the fields of a type, without empty columns."""
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
    about = re.sub(r"\bNone\b", "`null`", plain(str(schema.get("description", ""))))
    return f"### {name}\n\n{about}\n\n{fields(schema, notes)}".replace("\n\n\n\n", "\n\n")


# --- the parts ------------------------------------------------------------------------------


def quantities() -> str:
    """All kinds of quantities with their units."""
    rows = []
    for noun, annotation in QUANTITIES.items():
        own = text_schema(annotation)
        units = re.search(r"\(([^()]*)\)\\s\*\$$", own["pattern"])
        names = units.group(1).split("|") if units else ["%"]
        examples = ", ".join(f"`{text}`" for text in own["examples"])
        extra = " or a number from 0 to 1, such as `0.2`" if noun == "fraction" else ""
        rows.append([noun, examples + extra, " ".join(f"`{name}`" for name in names)])
    return table(["quantity", "written", "units"], rows)


def study_file() -> str:
    """The study file and its protocol."""
    schema = StudyFile.model_json_schema()
    options = (kind.options_type for kind in TESTBEDS.values())
    found = {o.__name__: o.model_json_schema() for o in options if len(o.model_fields) > 1}
    found = dict(sorted({**found, **schema["$defs"]}.items()))
    options_first = [name for name in found if name.endswith("Options")]
    parts = {name: found[name] for name in ("Protocol", *options_first, *found)}
    contents = "The types: " + ", ".join(map(model_link, parts)) + "."
    rest = [section(name, one) for name, one in parts.items()]
    return "\n\n".join([section("StudyFile", schema), contents, *rest])


def workload_list() -> str:
    """All workloads with the resources that they stress and a link to their page."""
    rows = [
        [f"[{name}](workloads/{page_of(name)})", kind.summary, kind.about.stresses]
        for name, kind in WORKLOADS.items()
    ]
    return table(["workload", "work", "stresses"], rows)


def page_of(name: str) -> str:
    """The page with the generated part of a workload; several workloads can share a page."""
    pages = sorted((ROOT / "docs/workloads").glob("*.md"))
    mark = f"<!-- generated: {_WORKLOAD}{name} -->"
    return next((p.name for p in pages if mark in p.read_text(encoding="utf-8")), f"{name}.md")


def workload_part(name: str) -> str:
    """One workload: its parameters with those of its parts, and its own metrics."""
    kind = WORKLOADS[name]
    schema = kind.parameters_type.model_json_schema()
    parts = [f"**Stresses**: {kind.about.stresses}.", fields(schema)]
    parts += [section(title, found) for title, found in schema.get("$defs", {}).items()]
    parts.append(metric_table(kind.about.metrics))
    parts.append(f"Example: `windtunnel run {kind.about.example}`.")
    return "\n\n".join(parts)


def cluster_description() -> str:
    """The cluster description and all its parts."""
    schema = cluster_schema()
    parts = schema["$defs"]
    order = ["HostClass", "Cpu", "Disk", "Nic", "Guest", "HostPower", "Degraded"]
    order += ["Network", "Rack", "Switch", "Storage", "Software"]
    names = [*order, *sorted(set(parts) - set(order))]
    text = [section("Cluster", schema), *(section(name, parts[name]) for name in names)]
    text.append(f"### Roles\n\n{roles()}")
    return "\n\n".join(text)


def roles() -> str:
    """All roles: their engine, when and where they start, and the roles that they need."""
    rows = [
        [
            f"`{role.name}`",
            role.engine or "",
            started(role),
            ", ".join(f"`{name}`" for name in role.needs),
            ", ".join(f"`{alias}`" for alias in role.aliases),
        ]
        for role in ROLES
    ]
    return table(["role", "of", "started", "needs", "older name"], rows)


def started(role: RoleEntry) -> str:
    """When and where the daemons of a role start."""
    if role.main is None:
        return "" if role.engine is None else "not supported yet"
    if role.engine == HADOOP:
        return "always"
    if role.of_storage:
        return "with the storage of the engine (`storage.kind`), on the hosts with the role"
    where = f"next to each `{role.beside}`" if role.beside else "on the first host"
    return f"with workloads of the engine; if no host has the role: {where}"


def killable() -> str:
    """The daemons that faults can kill: the loss, and how each recovers."""
    rows = [
        [f"`{role.name}`", str(role.engine), role.loss, RETURNS[role.returns]]
        for role in ROLES
        if role.returns is not None
    ]
    return table(["`role`", "of", "while it is down", "recovers"], rows)


def records(*models: type[BaseModel]) -> str:
    """The tables of stored records."""
    parts = []
    for model in models:
        schema = model.model_json_schema(by_alias=True)
        parts.append(section(model.__name__, schema, NOTES.get(model.__name__)))
    return "\n\n".join(parts)


def study_json() -> str:
    """The types in ``study.json``."""
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
    """The types in ``trials/ID.json``."""
    return records(
        record.Trial,
        record.Treatment,
        record.FaultRecord,
        record.Verdict,
        record.Check,
        record.Phase,
        record.PredictedPhase,
        record.Metric,
        record.Before,
    )


def parquet() -> str:
    """The columns of the Parquet files."""
    parts = []
    for title, schema in (("samples", sampler.SCHEMA), ("tasks", TASKS_SCHEMA)):
        rows = [[f"`{field.name}`", str(field.type), COLUMNS[field.name]] for field in schema]
        parts.append(f"### {title}/ID.parquet\n\n" + table(["column", "type", "meaning"], rows))
    return "\n\n".join(parts)


def error_classes() -> Iterator[type[errors.WindtunnelError]]:
    """All classes of ``windtunnel/errors.py`` except the base, by exit code."""
    found = [
        member
        for _, member in inspect.getmembers(errors, inspect.isclass)
        if issubclass(member, errors.WindtunnelError) and member is not errors.WindtunnelError
    ]
    yield from sorted(found, key=lambda member: (member.exit_code, member.__name__))


def audit_checks() -> str:
    """Every check of the audit with its area, severity and what it gains."""
    rows = [
        [
            f"`{one.id}`",
            AREAS[one.area],
            one.severity,
            one.versions,
            one.question,
            ", ".join(one.gains),
        ]
        for one in checks()
    ]
    names = ["check", "area", "severity", "Hadoop", "question", "workloads that become faster"]
    return table(names, rows)


def exit_codes() -> str:
    """Exit codes with the start of the message, the class and the meaning."""
    rows = [["0", "", "", "Success."]]
    for member in error_classes():
        if member is errors.TrialInvalidError:
            continue  # never ends a command
        about = plain(inspect.getdoc(member) or "").split("\n\n")[0]
        rows.append([str(member.exit_code), f"`{member.title}:`", f"`{member.__name__}`", about])
    bug = "A bug in Windtunnel. The message contains the path of a file with the traceback."
    rows.append([str(command_line.UNEXPECTED), "`unexpected error:`", "", bug])
    rows.sort(key=lambda row: int(row[0]))
    return table(["exit code", "the message begins with", "class", "meaning"], rows)


def invalid_trial() -> str:
    """The only error that does not end a command."""
    return plain(inspect.getdoc(errors.TrialInvalidError) or "")


def hadoop_commands() -> str:
    """The commands that ``windtunnel exec`` accepts."""
    families: dict[str, list[str]] = {}
    for first, second in COMMANDS:
        families.setdefault(first, []).append(f"`{second}`")
    return table(
        ["command", "followed by"],
        [[f"`{first}`", ", ".join(seconds)] for first, seconds in families.items()],
    )


# --- documents ------------------------------------------------------------------------------


def physics_constants() -> str:
    """The fitted constants with their shipped values and the bounds of 90 %."""
    shipped = store.record(store.shipped_fit()).constants
    rows = []
    for one in CONSTANTS:
        made = shipped[one.name]
        value = f"{made.value:.3g} [{made.low:.3g}, {made.high:.3g}]"
        limits = f"{one.low:g} to {one.high:g}"
        rows.append([f"`{one.name}`", value, one.unit, one.meaning, limits, one.origin])
    return table(["constant", "value, 90 %", "unit", "meaning", "range", "origin"], rows)


PARTS: dict[str, Callable[[], str]] = {
    "quantities": quantities,
    "study file": study_file,
    "workloads": workload_list,
    "cluster description": cluster_description,
    "study.json": study_json,
    "decision.json": decision_json,
    "trial json": trial_json,
    "parquet columns": parquet,
    "metrics": metrics,
    "commands": commands,
    "exit codes": exit_codes,
    "audit checks": audit_checks,
    "invalid trial": invalid_trial,
    "messages": messages,
    "hadoop commands": hadoop_commands,
    "what can be killed": killable,
    "physics constants": physics_constants,
}
_PART = re.compile(r"(<!-- generated: (?P<name>[^>]+) -->\n).*?(<!-- end of (?P=name) -->)", re.S)


_WORKLOAD = "workload "


def part(name: str) -> str:
    """The generated part with a name."""
    if name.startswith(_WORKLOAD):
        # the pages of workloads are in a subfolder
        made = workload_part(name.removeprefix(_WORKLOAD))
        return made.replace("](study-file.md", "](../study-file.md")
    return PARTS[name]()


def fresh(text: str) -> str:
    """A document with its generated parts generated again."""
    return _PART.sub(lambda m: f"{m[1]}\n{part(m['name'])}\n\n{m[3]}", text)


def documents() -> list[Path]:
    """Documents with generated parts."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [path for path in found if _PART.search(path.read_text(encoding="utf-8"))]


def main() -> int:
    """Write the documents, or only check them."""
    stale = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        made = fresh(text)
        if made != text:
            stale.append(str(path.relative_to(ROOT)))
            if "--check" not in sys.argv:
                path.write_text(made, encoding="utf-8")
    for name in stale:
        print(f"{name}: {'not up to date' if '--check' in sys.argv else 'written'}")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
