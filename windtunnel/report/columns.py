"""Tables on a terminal of any width: a word is never broken to make a table fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table as RichTable
from rich.text import Text

from windtunnel.report.sections.base import Table

ROWS_SHOWN = 40
_LEAST_COLUMNS = 2
_AROUND, _EDGE = 3, 1  # blanks that the layout puts around a column, and more at the end


def print_table(table: Table, console: Console, rows_shown: int = ROWS_SHOWN) -> None:
    """Print a table, its first rows if it is long.

    Where it is wider than the terminal, the columns of the least weight are left out, and named;
    where two columns are too wide, each row becomes lines of text.
    """
    rows = table.rows[:rows_shown]
    kept = fitting(table, rows, console.width)
    if kept:
        _print_columns(table, rows, kept, console)
    else:
        _print_lines(table, rows, console)
    left_out = [c.name for i, c in enumerate(table.columns) if kept and i not in kept]
    notes = [table.hint] if table.hint else []
    if left_out:
        notes.append(f"left out at this width: {', '.join(left_out)}")
    if len(table.rows) > rows_shown:
        notes.append(f"{len(table.rows) - rows_shown} more rows: see --json or --html")
    for note in notes:
        console.print(Text(note, style="dim"))


def fitting(table: Table, rows: Sequence[Sequence[str]], width: int) -> dict[int, int]:
    """Places of the columns that fit into a width, with their widths; none if not even two do.

    A column fits if its longest word does, or of numbers the longest number with its unit.
    """
    least = [
        max(_longest_word(text) for text in (column.name, *(row[place] for row in rows)))
        if not column.numeric
        else max(_longest_word(column.name), *(cell_len(row[place]) for row in rows), 0)
        for place, column in enumerate(table.columns)
    ]
    kept = list(range(len(table.columns)))
    while sum(least[place] + _AROUND for place in kept) + _EDGE > width:
        if len(kept) <= _LEAST_COLUMNS:
            return {}
        kept.remove(min(kept, key=lambda place: (table.columns[place].weight, -place)))
    widths = {place: least[place] for place in kept}
    spare = width - _EDGE - sum(least[place] + _AROUND for place in kept)
    for _ in range(spare):  # to the column whose texts are cut most
        cut = {
            place: max(cell_len(row[place]) for row in rows) - widths[place]
            for place in kept
            if rows
        }
        if not cut or max(cut.values()) <= 0:
            break
        widths[max(cut, key=lambda place: cut[place])] += 1
    return widths


def _longest_word(text: str) -> int:
    return max((cell_len(word) for word in text.split()), default=0)


def _print_columns(
    table: Table, rows: Sequence[Sequence[str]], widths: Mapping[int, int], console: Console
) -> None:
    made = RichTable(
        title=table.caption, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD
    )
    for place, width in widths.items():
        column = table.columns[place]
        justify: JustifyMethod = "right" if column.numeric else "left"
        made.add_column(column.name, justify=justify, width=width, no_wrap=column.numeric)
    for number, row in enumerate(rows):
        style = "bold" if number in table.strong else ""
        made.add_row(*(Text(row[place]) for place in widths), style=style)
    console.print(made)


def _print_lines(table: Table, rows: Sequence[Sequence[str]], console: Console) -> None:
    console.print(Text(table.caption, style="bold"))
    for number, row in enumerate(rows):
        first, *others = zip(table.columns, row, strict=True)
        text = Text(first[1], style="bold" if number in table.strong else "")
        console.print(text)
        details = "; ".join(f"{column.name} {value}" for column, value in others if value)
        console.print(Text(f"  {details}"))
