"""Tables of an audit, its print on the terminal, and its page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from windtunnel.analysis.formatting import plural
from windtunnel.audit.audit import Audit
from windtunnel.audit.earlier import Differences
from windtunnel.audit.result import AREAS, Result, Score, Status
from windtunnel.report.atomic import write_bytes
from windtunnel.report.columns import print_table, text_block
from windtunnel.report.page import Part, Remark, page
from windtunnel.report.sections.base import Column, Table

SHOWN = 12
FIRST = 5
GROUP_SHOWN = 6
REMEDIES_SHOWN = 3
STYLE = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan"}


def answer(audit: Audit) -> str:
    """The audit in one sentence."""
    worst = audit.worst
    counts = {name: sum(one.severity == name for one in worst) for name in STYLE}
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    judged = sum(one.status in (Status.PASS, Status.FAIL) for one in audit.results)
    unknown = sum(one.status is Status.UNKNOWN for one in audit.results)
    end = f"; {unknown} could not be read" if unknown else ""
    if not judged:
        return f"Nothing could be judged{end}"
    if not worst:
        return f"None of {judged} results fails{end}"
    fail = "fails" if len(worst) == 1 else "fail"
    return f"{len(worst)} of {judged} results {fail} ({said}){end}"


def score_table(audit: Audit) -> Table:
    """Area, score and counts, the lowest score first."""
    names = ("area", "score", "pass", "fail", "unknown", "not applicable", "excepted")
    columns = [Column(name, place > 0) for place, name in enumerate(names)]
    rows = [_score_row(one) for one in audit.scores]
    hint = "Score: weight of the PASS results divided by that of the PASS and FAIL results. "
    hint += "Weights: critical 10, high 5, medium 3, low 1."
    return Table("Score by area, the lowest first", columns, rows, hint=hint)


def _score_row(one: Score) -> list[str]:
    percent = "-" if one.percent is None else f"{one.percent:.0f} %"
    counts = (one.passed, one.failed, one.unknown, one.not_applicable, one.excepted)
    return [AREAS[one.area], percent, *map(str, counts)]


def grouped(results: Iterable[Result]) -> list[list[Result]]:
    """Results of one check, severity and remedy together, in the order of their first."""
    found: dict[tuple[str, str, str], list[Result]] = {}
    for one in results:
        found.setdefault((one.check, one.severity, one.remedy), []).append(one)
    return list(found.values())


def by_check(results: Iterable[Result]) -> list[list[list[Result]]]:
    """The groups of :func:`grouped`, those of one check and severity together."""
    found: dict[tuple[str, str], list[list[Result]]] = {}
    for group in grouped(results):
        found.setdefault((group[0].check, group[0].severity), []).append(group)
    return list(found.values())


def observed(group: Sequence[Result], most: int = GROUP_SHOWN) -> str:
    """What was observed on each subject of a group."""
    texts: dict[str, list[str]] = {}
    for one in group:
        place = f" [{one.place}]" if one.place and one.place not in one.observed else ""
        texts.setdefault(f"{one.observed}{place}", []).append(_short(one.subject))
    several = len({one.subject for one in group}) > 1
    said = [
        f"{text} ({_listed(names)})" if several else text for text, names in list(texts.items())
    ]
    more = len(said) - most
    return "; ".join(said[:most]) + (f"; {more} more" if more > 0 else "")


def _listed(names: Sequence[str], most: int = 3) -> str:
    """Some names and the number of the others."""
    unique = list(dict.fromkeys(names))
    more = len(unique) - most
    return ", ".join(unique[:most]) + (f" and {more} more" if more > 0 else "")


def _short(subject: str) -> str:
    return Path(subject).name if subject.startswith("/") else subject


def surface_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The attack surface: host, protocol, port, purpose, process, user, interface."""
    names = ("host", "protocol", "port", "purpose", "process", "user", "interface")
    columns = [Column(name, name == "port", 1 + (name in ("port", "purpose"))) for name in names]
    shown = [
        [str(row.get(name) if row.get(name) is not None else "not known") for name in names]
        for row in rows
    ]
    return Table("Listening ports", columns, [[*row[:-1], row[-1] or "-"] for row in shown])


def benchmark_table(host: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """The section scores of OpenSCAP."""
    names = (
        "section",
        "description",
        "pass",
        "fail",
        "error",
        "unknown",
        "score",
        "max",
        "percent",
    )
    # without room, the counts that are mostly 0 are omitted first
    weights = {"section": 4, "percent": 4, "description": 3, "fail": 3, "pass": 3, "error": 0}
    columns = [Column(name, at > 1, weights.get(name, 1)) for at, name in enumerate(names)]
    shown = [
        [
            str(row["section"]),
            str(row["description"]),
            *(str(row[name]) for name in ("pass", "fail", "error", "unknown")),
            f"{row['score']:.1f}",
            f"{row['max']:.1f}",
            "-" if row["percent"] is None else f"{row['percent']:.0f} %",
        ]
        for row in rows
    ]
    strong = frozenset(i for i, row in enumerate(rows) if row["level"] == 0)
    return Table(f"OpenSCAP on {host}: score by section", columns, shown, strong=strong)


def difference_table(found: Differences) -> Table:
    """Scores before and now."""
    columns = [Column("area"), Column("before", True), Column("now", True)]
    rows = [
        [AREAS.get(area, area), *("-" if p is None else f"{p:.0f} %" for p in (before, now))]
        for area, before, now in found.scores
    ]
    return Table("Score by area against the earlier audit", columns, rows)


def print_audit(audit: Audit, console: Console, compared: Differences | None, full: bool) -> None:
    """Print the answer, the scores and what to do first; ``full``: also the UNKNOWN results."""
    console.print(text_block(f"{answer(audit)}.", console.width, "bold"))
    _dim(f"Audited: {_listed(audit.subjects, 6)}", console)
    if compared is not None:
        said = f"{len(compared.fixed)} fixed, {len(compared.new)} new, {compared.remaining} remain"
        console.print(text_block(f"Against the earlier audit: {said}.", console.width))
        print_table(difference_table(compared), console)
    if audit.scores:
        print_table(score_table(audit), console)
    checks = by_check(audit.worst)
    shown = checks if full else checks[:SHOWN]
    for groups in shown:
        _print_check(groups, console, full)
    if left := len(checks) - len(shown):
        _dim(f"{plural(left, 'more check')} with a FAIL: see --full, --html or --json", console)
    for one in audit.results:
        if one.status is Status.UNKNOWN and full:
            _dim(f"unknown {one.check}: {one.observed}", console)
    if full and audit.surface:
        print_table(surface_table(audit.surface), console, rows_shown=200)
    for host, rows in audit.benchmarks.items():
        print_table(benchmark_table(host, rows), console, rows_shown=200)
    for note in audit.notes:
        console.print(text_block(f"note: {note}", console.width, "yellow"))


def _print_check(groups: Sequence[Sequence[Result]], console: Console, full: bool) -> None:
    """The check once; below it what was observed and the remedy, for each remedy."""
    one = groups[0][0]
    subjects = _listed([_short(result.subject) for group in groups for result in group])
    console.print(Text(f"{one.severity}  {one.check} ({subjects})", STYLE[one.severity]))
    most = len(groups) if full else REMEDIES_SHOWN
    for group in groups[:most]:
        _indented(observed(group), console)
        _indented(f"what to do: {group[0].remedy}", console)
    if (left := len(groups) - most) > 0:
        _indented(f"{left} more of this check: see --full", console, "dim")
    if full:
        _indented(f"why: {one.reason} ({one.source})", console, "dim")
    console.print()


def _indented(text: str, console: Console, style: str = "") -> None:
    console.print(Padding(text_block(text, console.width - 2, style), (0, 0, 0, 2)))


def _dim(text: str, console: Console) -> None:
    console.print(text_block(text, console.width, "dim"))


def write_page(audit: Audit, path: Path, compared: Differences | None = None) -> None:
    """Write the page; errors as :func:`windtunnel.report.atomic.write_bytes`."""
    write_bytes(path, render(audit, compared).encode())


def render(audit: Audit, compared: Differences | None = None) -> str:
    """The page as HTML text: scores, what to do first, each area, UNKNOWN results."""
    parts = [_first(audit)]
    if compared is not None:
        parts.append(_compared(compared))
    parts += [_area(audit, one) for one in audit.scores]
    if audit.surface:
        lead = f"{plural(len(audit.surface), 'listening socket')} with purpose and process."
        tables = [surface_table(audit.surface)]
        parts.append(Part("Attack surface", lead=lead, tables=tables))
    for host, rows in audit.benchmarks.items():
        parts.append(Part(f"Benchmark of {host}", tables=[benchmark_table(host, rows)]))
    if audit.notes:
        parts.append(Part("Notes", listed=audit.notes, listed_title="Exceptions and OpenSCAP"))
    return page(
        eyebrow="Windtunnel audit",
        title=_listed(list(map(_short, audit.subjects))) or "Audit",
        question="",
        answer=f"{answer(audit)}.",
        parts=parts,
    )


def _first(audit: Audit) -> Part:
    first: dict[str, list[Result]] = {}
    for group in grouped(audit.worst):
        first.setdefault(group[0].check, group)
    tables = [score_table(audit)] if audit.scores else []
    return Part("What to do first", remarks=_remarks(list(first.values())[:FIRST]), tables=tables)


def _remarks(groups: Iterable[Sequence[Result]]) -> list[Remark]:
    """Each group with what was observed, why it matters, and the remedy."""
    return [
        Remark(
            "serious" if group[0].severity in ("critical", "high") else "caution",
            group[0].severity,
            f"{observed(group)}. {group[0].reason}",
            f"{group[0].remedy}{_gain(group[0])}",
        )
        for group in groups
    ]


def _gain(one: Result) -> str:
    return f" (concerns {', '.join(one.gains)})" if one.gains else ""


def _compared(found: Differences) -> Part:
    lead = f"{len(found.fixed)} fixed, {len(found.new)} new, {found.remaining} remain."
    listed = [f"fixed: {row['check']} ({row['about'] or row['subject']})" for row in found.fixed]
    listed += [f"new: {one.check} ({one.about or one.subject})" for one in found.new]
    listed += [
        f"section {section} of {host}: {_percent(before)} before, {_percent(now)} now"
        for host, section, before, now in found.sections
    ]
    return Part(
        "Against the earlier audit",
        lead=lead,
        tables=[difference_table(found)],
        listed=listed,
        listed_title="Differences",
    )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} %"


def _area(audit: Audit, one: Score) -> Part:
    own = [result for result in audit.results if result.area == one.area]
    failing = [result for result in audit.worst if result.area == one.area]
    tables = []
    excepted = [result for result in own if result.exception]
    if excepted:
        columns = [Column("check"), Column("observed"), Column("reason")]
        rows = [[result.check, result.observed, result.exception] for result in excepted]
        tables.append(Table("Declared exceptions", columns, rows))
    for status, caption in (
        (Status.UNKNOWN, "UNKNOWN: could not be read"),
        (Status.PASS, "PASS"),
        (Status.NOT_APPLICABLE, "NOT APPLICABLE"),
    ):
        some = [result for result in own if result.status is status]
        if some:
            columns = [Column("check"), Column("subject"), Column("question"), Column("observed")]
            rows = [[r.check, _short(r.subject), r.question, r.observed] for r in some]
            tables.append(Table(caption, columns, rows, folded=status is not Status.UNKNOWN))
    percent = "no result could be judged" if one.percent is None else f"score {one.percent:.0f} %"
    lead = f"{percent[0].upper()}{percent[1:]}."
    return Part(AREAS[one.area], lead=lead, remarks=_remarks(grouped(failing)), tables=tables)
