"""Task attempts of the trials that count, out of the tasks files (see ``results/folder.py``)."""

from __future__ import annotations

from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple

from windtunnel.analysis.observations import counts
from windtunnel.analysis.recorded import Reading, read_files

if TYPE_CHECKING:
    from windtunnel.analysis import Analysis

SUCCEEDED = "SUCCEEDED"


class Attempt(NamedTuple):
    """One task attempt that ran. Instants are epoch seconds, times seconds.

    None where the history does not tell; attempts that never got a container are left out.
    A large study has tens of thousands: a named tuple is made in a fraction of the time.
    """

    trial: str
    phase: str
    task: str
    type: str
    status: str
    host: str
    started_at: float
    finished_at: float
    map_finished_at: float | None = None
    locality: str | None = None
    speculative: bool | None = None
    input_bytes: float | None = None
    output_records: float | None = None
    spilled_records: float | None = None
    gc_time: float | None = None

    @property
    def seconds(self) -> float:
        """How long it ran."""
        return self.finished_at - self.started_at

    @property
    def merging(self) -> float | None:
        """Seconds of a map after its map function: sorting the rest and merging spills."""
        done = self.map_finished_at
        return None if done is None else self.finished_at - done

    @property
    def succeeded(self) -> bool:
        """Whether its work counts."""
        return self.status == SUCCEEDED


# Older folders lack some of the columns: those that are there are taken.
_QUERY = (
    f"SELECT COLUMNS('^({'|'.join(Attempt._fields)})$') FROM read_parquet(?, union_by_name = true) "
    "WHERE started_at IS NOT NULL AND finished_at IS NOT NULL"
)


def tasks_read(analysis: Analysis) -> Reading:
    """The rows of the tasks files of the trials that count."""
    results = analysis.results
    return read_files(map(results.tasks_path, filter(counts, results.trials)), _QUERY)


def attempts(analysis: Analysis) -> dict[tuple[str, str], list[Attempt]]:
    """Attempts by (trial, phase) of the trials that count, in the order of their start.

    A trial whose file cannot be read has none, which is unknown, not zero.
    """
    reading = analysis.once(tasks_read)
    places = {name: place for place, name in enumerate(reading.names)}
    ordered = itemgetter(*(places.get(name, -1) for name in Attempt._fields))
    found: dict[tuple[str, str], list[Attempt]] = {}
    for row in reading.rows:
        attempt = Attempt._make(ordered((*row, None)))  # None: a column that is not there
        found.setdefault((attempt.trial, attempt.phase), []).append(attempt)
    for group in found.values():
        group.sort(key=attrgetter("started_at", "finished_at"))
    return found
