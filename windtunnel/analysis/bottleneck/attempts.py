"""Task attempts of the counted trials, from the tasks files (see ``results/folder.py``)."""

from __future__ import annotations

from operator import attrgetter, itemgetter
from typing import NamedTuple

from windtunnel.analysis.observations import counts
from windtunnel.analysis.parquet_files import Reading, read_files
from windtunnel.analysis.recorded import Recorded

SUCCEEDED = "SUCCEEDED"


class Attempt(NamedTuple):
    """One task attempt that ran. Instants are epoch seconds, times seconds.

    Values that the job history lacks are None; attempts without a container are excluded. A
    named tuple is fast to create: a large study has tens of thousands of attempts.
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
        """Duration of the attempt."""
        return self.finished_at - self.started_at

    @property
    def merging(self) -> float | None:
        """Seconds of a map after its map function: the last sort and the merge of spills."""
        done = self.map_finished_at
        return None if done is None else self.finished_at - done

    @property
    def succeeded(self) -> bool:
        """Whether the attempt succeeded."""
        return self.status == SUCCEEDED


# Older folders lack some of the columns: the query selects those that exist.
_QUERY = (
    f"SELECT COLUMNS('^({'|'.join(Attempt._fields)})$') FROM read_parquet(?, union_by_name = true) "
    "WHERE started_at IS NOT NULL AND finished_at IS NOT NULL"
)


def tasks_read(analysis: Recorded) -> Reading:
    """The rows of the tasks files of the counted trials."""
    results = analysis.results
    return read_files(map(results.tasks_path, filter(counts, results.trials)), _QUERY)


def attempts(analysis: Recorded) -> dict[tuple[str, str], list[Attempt]]:
    """Attempts by (trial, phase) of the counted trials, in the order of their start.

    A trial whose file cannot be read has no entry: its attempts are unknown, not zero.
    """
    reading = analysis.once(tasks_read)
    places = {name: place for place, name in enumerate(reading.names)}
    ordered = itemgetter(*(places.get(name, -1) for name in Attempt._fields))
    found: dict[tuple[str, str], list[Attempt]] = {}
    for row in reading.rows:
        attempt = Attempt._make(ordered((*row, None)))  # None: a missing column
        found.setdefault((attempt.trial, attempt.phase), []).append(attempt)
    for group in found.values():
        group.sort(key=attrgetter("started_at", "finished_at"))
    return found
