"""The report on the terminal: the answer first, then effects, cells, trials and warnings."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from windtunnel.analysis import Analysis, Cell, Effect
from windtunnel.analysis.bottleneck import with_cause
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.analysis.words import digits, percent, percent_interval, plural, quantity
from windtunnel.report.sections import headline, sections
from windtunnel.report.sections.base import Section
from windtunnel.report.sections.base import Table as Rows

ROWS_SHOWN = 40
STYLE = {"serious": "bold red", "caution": "yellow", "note": "cyan"}


def print_report(analysis: Analysis, console: Console) -> None:
    """Print the report. Rich leaves styles out where there is no terminal or NO_COLOR is set."""
    study = analysis.study
    counted = sum(trial.verdict == "valid" for trial in analysis.trials)
    console.print()
    console.print(Text(headline(analysis), style="bold"))
    console.print()
    console.print(
        Text(
            f"{study.name}: {plural(len(analysis.trials), 'trial')}, {counted} valid and counted, "
            f"testbed {study.testbed}, {study.kind}",
            style="dim",
        )
    )
    for finding in analysis.findings:
        console.print(Text(f"- {with_cause(analysis, finding)}"))
    _effects(analysis, console)
    _cells(analysis, console)
    for section in sections(analysis):
        _section(section, console)
    _invalid(analysis, console)
    _warnings(analysis, console)


def _effects(analysis: Analysis, console: Console) -> None:
    groups: dict[tuple[str, str, str], list[Effect]] = {}
    for e in analysis.effects:
        if e.metric == ELAPSED and not analysis.is_whole(e.workload, e.phase):
            groups.setdefault((e.factor, e.level, e.workload), []).append(e)
    rows = [e for group in groups.values() for e in sorted(group, key=lambda e: e.phase != TOTAL)]
    if not rows:
        return
    table = _table("Effects on elapsed time, against the baseline (95 % intervals)")
    for name in ("level : baseline", "phase"):
        table.add_column(name, overflow="fold")
    for name in ("change", "interval", "absolute", "detectable"):
        table.add_column(name, justify="right")
    several = len(analysis.phases) > 1
    for e in rows[:ROWS_SHOWN]:
        style = "bold" if e.phase == TOTAL else ""
        table.add_row(
            Text(f"{e.factor} {e.level} : {e.baseline}"),
            f"{e.workload} {e.phase}" if several else e.phase,
            percent(e.relative),
            percent_interval(e.ci_low, e.ci_high, e.relative),
            _absolute(e),
            percent(e.detectable, signed=False),
            style=style,
        )
    console.print()
    console.print(table)
    _more(len(rows), console)


def _absolute(e: Effect) -> str:
    text = quantity(e.absolute, e.unit, signed=True)
    if e.absolute_ci_low is None or e.absolute_ci_high is None:
        return text
    return f"{text} [{digits(e.absolute_ci_low)}, {digits(e.absolute_ci_high)}]"


def _cells(analysis: Analysis, console: Console) -> None:
    elapsed = (c for c in analysis.cells if c.metric == ELAPSED)
    rows = [c for c in elapsed if not analysis.is_whole(c.workload, c.phase)]
    if not rows:
        return
    table = _table("Elapsed time by phase and treatment")
    table.add_column("workload phase", overflow="fold")
    table.add_column("treatment", overflow="fold")
    for name in ("n", "mean", "95 % interval", "CV"):
        table.add_column(name, justify="right")
    order = {name: i for i, name in enumerate(analysis.treatments())}
    ranks = analysis.ranks
    rows.sort(key=lambda c: (c.workload, ranks[(c.workload, c.phase)], order[c.treatment]))
    limit = analysis.study.protocol.variation_limit
    last = None
    for c in rows[:ROWS_SHOWN]:
        where = f"{c.workload} {c.phase}"
        table.add_row(
            where if where != last else "",
            Text(c.treatment),
            f"{c.n}{' *' if c.indicative else ''}",
            quantity(c.mean, c.unit),
            _span(c),
            Text(percent(c.cv, signed=False), style="yellow" if (c.cv or 0) > limit else ""),
        )
        last = where
    console.print()
    console.print(table)
    if any(c.indicative for c in rows):
        console.print(Text("* fewer than 5 trials: indicative", style="dim"))
    _more(len(rows), console)


def _span(c: Cell) -> str:
    if c.ci_low is None or c.ci_high is None:
        return "unknown"
    return f"{digits(c.ci_low)} to {digits(c.ci_high)}"


def _section(section: Section, console: Console) -> None:
    console.print()
    console.print(Text(section.title, style="bold"))
    if section.lead:
        console.print(Text(section.lead, style="dim"))
    for sentence in section.said:
        console.print(Text(f"- {sentence}"))
    for table in section.tables:
        print_table(table, console)
    if section.hint:
        console.print(Text(section.hint, style="dim"))


def print_table(rows: Rows, console: Console) -> None:
    """Print a table of finished words, its first rows if it is long."""
    table = _table(rows.caption)
    for column in rows.columns:
        table.add_column(
            column.name, justify="right" if column.numeric else "left", overflow="fold"
        )
    for place, row in enumerate(rows.rows[:ROWS_SHOWN]):
        table.add_row(*map(Text, row), style="bold" if place in rows.strong else "")
    console.print()
    console.print(table)
    if rows.hint:
        console.print(Text(rows.hint, style="dim"))
    _more(len(rows.rows), console)


def _invalid(analysis: Analysis, console: Console) -> None:
    rows = [t for t in analysis.trials if t.verdict == "invalid"]
    if not rows:
        return
    table = _table("Invalid trials: kept, shown, never averaged")
    table.add_column("trial", overflow="fold")
    table.add_column("round", justify="right")
    table.add_column("treatment", overflow="fold")
    table.add_column("reason", overflow="fold")
    for t in rows[:ROWS_SHOWN]:
        table.add_row(Text(t.id), str(t.round), Text(t.treatment), Text(t.reason or "not recorded"))
    console.print()
    console.print(table)
    _more(len(rows), console)


def _warnings(analysis: Analysis, console: Console) -> None:
    console.print()
    if not analysis.warnings:
        console.print("No warnings: every rule of trust was kept.")
        return
    console.print(Text("Warnings", style="bold"))
    for warning in analysis.warnings:
        line = Text(f"{warning.severity}: ", style=STYLE[warning.severity])
        line.append(warning.text, style="default")
        console.print(line)
        console.print(
            Padding(Text(f"what to do: {warning.advice}", style="dim"), (0, 0, 0, 2), expand=False)
        )


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)


def _more(count: int, console: Console) -> None:
    if count > ROWS_SHOWN:
        console.print(Text(f"{count - ROWS_SHOWN} more rows: see --json or --html", style="dim"))
