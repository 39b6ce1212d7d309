"""Published power samples, as the record that is stored with imported trials."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from windtunnel.cluster.quantity import QuantityError
from windtunnel.errors import DescriptionError
from windtunnel.published.cells import is_missing
from windtunnel.published.mapping import PowerSeries
from windtunnel.published.table import Row, Table
from windtunnel.published.units import metric, moment, zone
from windtunnel.results.power import PowerRecord


def read_power_series(described: PowerSeries, table: Table, utc_offset_h: float) -> PowerRecord:
    """The samples of a file, by metered group, in order of time.

    Raises
    ------
    DescriptionError
        A missing column, an invalid time or number, a duplicate instant (file, line, column), or
        no sample at all.
    """
    for column in (described.time, described.watts.column, described.group):
        table.require(column)
    groups: dict[str, list[tuple[float, float, Row]]] = {}
    for row in table.rows:
        if not is_missing(row[described.watts.column]):
            sample = (*_sample(described, row, utc_offset_h), row)
            groups.setdefault(row[described.group], []).append(sample)
    if not groups:
        raise DescriptionError(
            f"there is no row with a number in the column '{described.watts.column}'",
            file=table.name,
            remedy="export the samples again, or remove 'power' from the map.",
        )
    for samples in groups.values():
        samples.sort(key=lambda sample: sample[0])
        for before, after in pairwise(samples):
            if before[0] == after[0]:
                raise after[2].error("this instant is a duplicate", described.time, "keep one row.")
    return PowerRecord(
        kind="metered",
        source=described.source,
        stamp=described.stamp,
        period_s=described.interval,
        hosts=described.hosts,
        groups={
            name: (np.array([t for t, _, _ in rows]), np.array([w for _, w, _ in rows]))
            for name, rows in groups.items()
        },
    )


def _sample(described: PowerSeries, row: Row, utc_offset_h: float) -> tuple[float, float]:
    column = described.time
    try:
        t = moment(row[column], zone(utc_offset_h))
        column = described.watts.column
        read = metric(row[column], described.watts.unit_of(row))
    except QuantityError as error:
        raise row.error(str(error), column, "correct the cell.") from None
    if read.unit != "W":
        raise row.error(f"'{row[column]}' is not a power", column, "set the unit W for the column.")
    return t, read.value
