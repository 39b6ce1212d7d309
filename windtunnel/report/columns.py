"""Tables on a terminal of any width; words are never broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from windtunnel.analysis.formatting import plural
from windtunnel.report.sections.base import Table
from windtunnel.report.typography import words, wrapped

ROWS_SHOWN = 40
_LEAST_COLUMNS = 2
_AROUND, _EDGE = 3, 1  # spaces that the layout adds to each column, and at the end of the line


def print_table(table: Table, console: Console, rows_shown: int = ROWS_SHOWN) -> None:
    """Print a table; of a long table, print the first rows.

    If it is wider than the terminal, the columns of the lowest weight are omitted, and a note
    names them. If even two columns are too wide, each row is printed as lines of text.
    """
    rows = [[text.strip() for text in row] for row in table.rows[:rows_shown]]
    kept = fitting(table, rows, console.width)
    if kept:
        _print_columns(table, rows, kept, console)
    else:
        _print_lines(table, rows, console)
    omitted = [c.name for i, c in enumerate(table.columns) if kept and i not in kept]
    notes = [table.hint] if table.hint else []
    if omitted:
        notes.append(f"omitted at this width: {', '.join(omitted)}")
    if len(table.rows) > rows_shown:
        notes.append(f"{plural(len(table.rows) - rows_shown, 'more row')}: see --json or --html")
    for note in notes:
        console.print(text_block(note, console.width, "dim"))


def fitting(table: Table, rows: Sequence[Sequence[str]], width: int) -> dict[int, int]:
    """Indices of the columns that fit into a width, with their widths; none if fewer than two fit.

    A text column fits if its longest word fits, a numeric column if its longest number with its
    unit fits.
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
    for _ in range(spare):  # each spare space goes to the column whose texts are cut most
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
    """Width of the longest part that no line may break: a word, or a number with its unit."""
    return max((cell_len(word) for word in words(text)), default=0)


def text_block(text: str, width: int, style: str = "") -> Text:
    """A text in lines of at most ``width`` characters, in which a number stays with its unit."""
    return Text("\n".join(wrapped(text, width)), style=style, no_wrap=True)


def _print_columns(
    table: Table, rows: Sequence[Sequence[str]], widths: Mapping[int, int], console: Console
) -> None:
    made = RichTable(
        title=text_block(table.caption, console.width),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
    )
    for place, width in widths.items():
        column = table.columns[place]
        justify: JustifyMethod = "right" if column.numeric else "left"
        made.add_column(text_block(column.name, width), justify=justify, width=width)
    before: Sequence[str] = ()
    for number, row in enumerate(rows):
        style = "bold" if number in table.strong else ""
        texts = {place: row[place] for place in widths}
        for place in texts:
            if before and table.columns[place].group and before[place] == row[place]:
                texts[place] = ""  # only the first row of a group shows it
        alert = {place for place in widths if (number, place) in table.alert}
        made.add_row(
            *(
                text_block(text, widths[place], "red" if place in alert else "")
                for place, text in texts.items()
            ),
            style=style,
        )
        before = row
    console.print(made)


def _print_lines(table: Table, rows: Sequence[Sequence[str]], console: Console) -> None:
    console.print(text_block(table.caption, console.width, "bold"))
    for number, row in enumerate(rows):
        first, *others = zip(table.columns, row, strict=True)
        style = "bold" if number in table.strong else ""
        console.print(text_block(first[1], console.width, style))
        details = "; ".join(f"{column.name} {value}" for column, value in others if value)
        console.print(Padding(text_block(details, console.width - 2), (0, 0, 0, 2), expand=False))
