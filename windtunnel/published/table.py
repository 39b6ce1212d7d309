"""CSV files with the line of every row, so that errors contain FILE:LINE and the column."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from windtunnel.errors import DescriptionError
from windtunnel.published.cells import Commas, commas_of


@dataclass(frozen=True)
class Row:
    """One row: its stripped cells by column, and its file and line."""

    cells: Mapping[str, str]
    line: int
    file: str

    def __getitem__(self, column: str) -> str:
        return self.cells[column]

    def error(self, message: str, column: str | None = None, remedy: str = "") -> DescriptionError:
        """An error with this row and, if given, the column."""
        return DescriptionError(message, remedy=remedy, file=self.file, line=self.line, key=column)


@dataclass(frozen=True)
class Table:
    """A CSV file: the columns of its header, its rows, and the separator of its cells."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Row]
    separator: str = ","

    @cached_property
    def commas(self) -> Commas:
        """What a comma in a number of this table separates."""
        return commas_of((cell for row in self.rows for cell in row.cells.values()), self.separator)

    def require(self, column: str) -> None:
        """Refuse a column that the header lacks.

        Raises
        ------
        DescriptionError
            With the names of the existing columns.
        """
        if column not in self.columns:
            raise DescriptionError(
                f"there is no column '{column}'",
                file=self.name,
                line=1,
                remedy=f"its columns are: {', '.join(self.columns)}.",
            )


def read_table(path: Path) -> Table:
    """The CSV file at ``path``; ``;`` and tabs are separators if the header contains them.

    Raises
    ------
    DescriptionError
        The file is missing, unreadable, not UTF-8 or without header or rows; a duplicate column;
        a row with another length than the header; an unclosed quote.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DescriptionError(
            "this is not UTF-8 text", file=path, line=line, remedy="save it as CSV in UTF-8."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DescriptionError(
            f"cannot be read: {reason}", file=path, remedy="specify a CSV file that exists."
        ) from None
    return parse_table(text, str(path))


def parse_table(text: str, name: str) -> Table:
    """See :func:`read_table`; ``name`` is the name of the file in messages."""
    head = text.split("\n", 1)[0]
    separator = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    columns: list[str] = []
    rows: list[Row] = []
    before = 0
    try:
        for cells in reader:
            line, before = before + 1, reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if not columns:
                columns = _header(cells, name, line)
                continue
            if len(cells) != len(columns):
                raise DescriptionError(
                    f"this row has {len(cells)} cells, the header {len(columns)}",
                    file=name,
                    line=line,
                    remedy="put cells that contain a separator in double quotes.",
                )
            named = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
            rows.append(Row(named, line, name))
    except csv.Error as error:
        raise DescriptionError(
            f"not CSV: {error}", file=name, line=before + 1, remedy="check the quotes in this row."
        ) from None
    if not rows:
        raise DescriptionError(
            "there are no rows", file=name, remedy="add a header line and one line per row."
        )
    return Table(name, columns, rows, separator)


def _header(cells: Sequence[str], name: str, line: int) -> list[str]:
    columns = [cell.strip() for cell in cells]
    twice = next((c for c in columns if columns.count(c) > 1), None)
    if twice is not None:
        what = f"the column '{twice}' is a duplicate" if twice else "several columns have no name"
        raise DescriptionError(what, file=name, line=line, remedy="use a unique name per column.")
    return columns
