"""``review.yaml``: the published numbers that depend on each other, and their relations.

The file contains relations and no results: the review evaluates them with the facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from windtunnel.analysis.evidence import Severity
from windtunnel.cluster import Located, validate
from windtunnel.published.filled import filled, names_to_fill
from windtunnel.published.mapping import Closed
from windtunnel.published.numbers import Digits, NumberError, Take, names_in
from windtunnel.published.table import Table


def _many(value: object) -> object:
    """One value or a list of values; numbers as written."""
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(str(one) for one in values)


Values = Annotated[tuple[str, ...], BeforeValidator(_many)]


class Pairs(Closed):
    """Ratios of matched rows: those with ``level`` / those with ``to`` in ``column``.

    Rows match if they are equal in all the columns ``by``.
    """

    column: str
    level: Values
    to: str
    by: tuple[str, ...]


class Pick(Closed):
    """A number from a table: rows that match ``where``, an expression of columns, and a statistic.

    ``{NAME}`` in ``where`` is replaced by a column of the current row or a word of its case, if
    the pick is that of an equation with ``each``. In ``value``, it is the name of a column, or an
    expression; other texts have no number. ``units`` names a column and the factor of each of its
    words. With ``pairs``, the numbers are ratios of rows.
    """

    table: str
    where: dict[str, Values] = Field(default_factory=dict)
    value: str
    units: tuple[str, dict[str, float]] | None = None
    take: Take = "one"
    pairs: Pairs | None = None
    digits: Digits = "printed"
    decimals: int = 0


class Equation(Closed):
    """A stated number and its relation to other numbers.

    ``each`` names a table; the equation applies to each of its rows (``where`` selects some), and
    the expressions may use its columns. ``found`` is one expression, or several
    interpretations of which one must hold. ``kind`` is the comparison; ``within`` is a tolerance
    beyond the printed digits, for approximate relations.
    """

    name: str
    each: str | None = None
    where: dict[str, Values] = Field(default_factory=dict)
    cases: tuple[str, dict[str, dict[str, str]]] | None = None
    label: str = ""
    stated: str
    found: Values
    picks: dict[str, Pick] = Field(default_factory=dict)
    kind: Literal["equal", "at most", "at least"] = "equal"
    within: Annotated[float, Field(ge=0, lt=1)] = 0.0
    digits: Digits = "printed"
    decimals: dict[str, int] = Field(default_factory=dict)
    unit: str = ""
    rule: int | None = None
    severity: Severity = "serious"
    means: str


class Versions(Closed):
    """The same fact in several places: rows with the same ``key`` and different ``place``.

    The ``columns`` must be equal in the places ``among`` (default: all).
    """

    name: str
    table: str
    key: tuple[str, ...]
    place: str
    among: tuple[str, ...] = ()
    columns: tuple[str, ...]
    severity: Severity = "serious"
    means: str


class Spelling(Closed):
    """Names in ``column`` that should be equal in every ``place``: similar names are typos."""

    name: str
    table: str
    column: str
    place: str
    means: str


class Once(Closed):
    """A name in ``column`` that should have only one value in ``value``."""

    name: str
    table: str
    where: dict[str, Values] = Field(default_factory=dict)
    column: str
    value: str
    means: str


class MeanOfRatios(Closed):
    """A stated average of ratios, for which arithmetic and geometric mean are compared."""

    name: str
    stated: Pick
    ratios: Pick
    means: str


class StatedEnergy(Closed):
    """Stated energies by treatment: rows of ``table`` with their columns."""

    table: str
    treatment: str
    kwh: str
    watts: str
    hours: str
    delta_pct: str
    reference: str
    references: dict[str, str] = Field(default_factory=dict)
    label: str


class Counters(Closed):
    """Rates from octet counters: their largest value and the time between readings."""

    table: str
    series: tuple[str, ...]
    largest: str
    interval: str
    source: str = "source"


class AppliedApart(Closed):
    """Settings with the treatments to which they apply, in ``place`` (``for_all``: to all).

    Rows with the same ``key`` that apply to different treatments should have the same value.
    """

    table: str
    key: str
    value: str = "value"
    place: str
    for_all: str = "all"


class Relations(Closed):
    """The file ``review.yaml`` of a study."""

    equations: tuple[Equation, ...] = ()
    versions: tuple[Versions, ...] = ()
    spelling: tuple[Spelling, ...] = ()
    once: tuple[Once, ...] = ()
    means_of_ratios: tuple[MeanOfRatios, ...] = ()
    energy: StatedEnergy | None = None
    counters: Counters | None = None
    applied_apart: AppliedApart | None = None


RELATIONS = "review.yaml"


def relations_from(located: Located, tables: Mapping[str, Table]) -> Relations:
    """The validated relations of a study with these tables.

    Raises
    ------
    DescriptionError
        With file, line and key: an unknown key, a table, a column or a ``{NAME}`` that does not
        exist, an expression that cannot be parsed.
    """
    relations = validate(Relations, located)
    for kind in ("equations", "versions", "spelling", "once"):
        for number, rule in enumerate(getattr(relations, kind)):
            _check_rule(rule, located, tables, (kind, number))
    for number, average in enumerate(relations.means_of_ratios):
        for name in ("stated", "ratios"):
            key = ("means_of_ratios", number, name)
            _check_pick(getattr(average, name), located, tables, key, set())
    for name in ("energy", "counters", "applied_apart"):
        rule = getattr(relations, name)
        if rule is not None:
            _check_rule(rule, located, tables, (name,))
    return relations


Key = tuple[str | int, ...]
_COLUMNS = (
    *("place", "column", "value", "treatment", "kwh", "watts", "hours", "delta_pct", "reference"),
    *("label", "largest", "interval", "key"),
)


def _check_rule(rule: BaseModel, located: Located, tables: Mapping[str, Table], key: Key) -> None:
    if isinstance(rule, Equation):
        own = _table(rule.each, located, tables, (*key, "each")) if rule.each else None
        if own is not None:
            for column in [rule.cases[0]] if rule.cases else []:
                _column(column, own, located, (*key, "cases"))
            _check_where(rule.where, own, located, (*key, "where"), set())
        words = _words(rule, own)
        _fields([rule.label], words, located, (*key, "label"))
        for name, pick in rule.picks.items():
            _check_pick(pick, located, tables, (*key, "picks", name), words)
        _values(rule, own, located, key)
        for text in (rule.stated, *rule.found):
            names = _expression(text, located, key)
            for column in sorted(names - rule.picks.keys()):
                if own is None:
                    raise located.error(
                        f"there is no pick '{column}'", *key, remedy="add it to 'picks'."
                    )
                _column(column, own, located, key)
        return
    table = _table(getattr(rule, "table"), located, tables, (*key, "table"))  # noqa: B009
    if isinstance(rule, Once):
        _check_where(rule.where, table, located, (*key, "where"), set())
    for field in type(rule).model_fields:
        named = getattr(rule, field)
        if field in _COLUMNS or field in ("columns", "series"):
            for column in (named,) if isinstance(named, str) else named:
                _column(column, table, located, (*key, field))


def _check_where(
    where: Mapping[str, Values], table: Table, located: Located, key: Key, words: AbstractSet[str]
) -> None:
    """Check the columns of a selection, and each ``{NAME}`` in its texts."""
    for column, texts in where.items():
        _column(column, table, located, (*key, column))
        _fields(texts, words, located, (*key, column))


def _check_pick(
    pick: Pick, located: Located, tables: Mapping[str, Table], key: Key, words: AbstractSet[str]
) -> None:
    table = _table(pick.table, located, tables, (*key, "table"))
    _check_where(pick.where, table, located, (*key, "where"), words)
    _fields([pick.value], words, located, (*key, "value"))
    columns = [pick.units[0]] if pick.units else []
    if pick.pairs is not None:
        columns += [pick.pairs.column, *pick.pairs.by]
    for column in columns:
        _column(column, table, located, key)
    if not names_to_fill(pick.value):
        for column in sorted(_expression(pick.value, located, (*key, "value"))):
            _column(column, table, located, (*key, "value"))


def _table(name: str, located: Located, tables: Mapping[str, Table], key: Key) -> Table:
    if name not in tables:
        raise located.error(
            f"there is no table '{name}'",
            *key,
            remedy=f"the tables are: {', '.join(sorted(tables))}; list others in 'tables' of the "
            "map.",
        )
    return tables[name]


def _column(name: str, table: Table, located: Located, key: Key) -> None:
    if name not in table.columns:
        signs = next((c for c in table.columns if not c.isidentifier() and name in c), None)
        quotes = (
            f" In an expression, write a name with spaces or signs in backticks, as in '`{signs}`'."
            if signs
            else ""
        )
        raise located.error(
            f"the table has no column '{name}'",
            *key,
            remedy=f"its columns are: {', '.join(table.columns)}.{quotes}",
        )


def _expression(text: str, located: Located, key: Key) -> set[str]:
    """The names in an expression, without that of the function ``abs``."""
    try:
        return names_in(text) - {"abs"}
    except NumberError as error:
        raise located.error(
            str(error),
            *key,
            remedy="use + - * /, numbers and columns; write a column with spaces or signs in "
            "backticks, as in '`time (s)`'.",
        ) from None


def _words(rule: Equation, own: Table | None) -> set[str]:
    """The names that each row of an equation has: its columns, and the words of all its cases."""
    if own is None:
        return set()
    cases = [set(words) for words in rule.cases[1].values()] if rule.cases else []
    return set(own.columns).union(set.intersection(*cases) if cases else ())


def _fields(texts: Iterable[str], words: AbstractSet[str], located: Located, key: Key) -> None:
    """Check that each ``{NAME}`` of the texts is one of the words."""
    for text in texts:
        for name in names_to_fill(text):
            if name in words:
                continue
            known = ", ".join(sorted(words)) or "none: only an equation with 'each' has some"
            raise located.error(
                f"there is no column and no word of every case '{{{name}}}'",
                *key,
                remedy=f"the names are: {known}.",
            )


def _values(rule: Equation, own: Table | None, located: Located, key: Key) -> None:
    """Check that each ``value`` of a pick is an expression also with the cells of its rows."""
    picks = {name: pick.value for name, pick in rule.picks.items() if names_to_fill(pick.value)}
    for row in own.rows if own is not None and picks else ():
        words = dict(row.cells)
        if any(row[column] not in texts for column, texts in rule.where.items()):
            continue
        if rule.cases is not None:
            column, cases = rule.cases
            if row[column] not in cases:
                continue
            words |= cases[row[column]]
        for name, value in picks.items():
            text = filled(value, words)
            try:
                names_in(text or "0")
            except NumberError as error:
                raise located.error(
                    f"with the cells of {row.file.rsplit('/', 1)[-1]}:{row.line}, '{value}': "
                    f"{error}",
                    *(*key, "picks", name, "value"),
                    remedy="the text must be the name of a column or an expression of columns; "
                    "select such rows with 'where'.",
                ) from None
