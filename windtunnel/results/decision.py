"""The decision on the number of rounds: ``decision.json`` of a results folder.

It is made once, after the pilot, from the spread alone, and written before the next trial:
a study that goes on later reads it and never decides anew.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ConfigDict, Field, ValidationError

from windtunnel.errors import ResultsError
from windtunnel.results.record import Record, StudyRecord

DECISION_SCHEMA = "windtunnel.decision/1"
DECISION_FILE = "decision.json"


class DecisionRecord(Record):
    """How many rounds the study runs, and the numbers behind it.

    ``sd_log`` is the standard deviation of log elapsed time (of the total of a trial) within
    treatments, pooled, with its ``degrees_of_freedom``, for the ``workload`` that varies most.
    ``needed`` trials per treatment show the difference ``detect`` with the chance ``power`` in
    a two-sided t test at ``alpha``; None: more than can be computed. ``rounds`` is what is run.
    ``detectable`` is the ratio that ``rounds`` can show; None where the pilot had no spread.
    """

    schema_: str = Field(default=DECISION_SCHEMA, alias="schema")
    study_id: str
    decided_at: float
    detect: float
    power: float
    alpha: float
    workload: str
    trials: int
    sd_log: float
    degrees_of_freedom: int
    needed: int | None
    pilot_rounds: int
    max_rounds: int
    rounds: int
    detectable: float | None
    text: str

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    @property
    def capped(self) -> bool:
        """Whether more rounds would be needed than the protocol allows."""
        return self.needed is None or self.needed > self.max_rounds


def rounds_of(path: Path, study: StudyRecord) -> int:
    """Rounds that the study was to run: those decided, else those of the protocol."""
    decision = read_decision(path)
    return decision.rounds if decision is not None else study.protocol.rounds


def read_decision(path: Path) -> DecisionRecord | None:
    """The decision of a results folder; None if none was made yet.

    Raises
    ------
    ResultsError
        If the file is damaged or of another schema.
    """
    file = path / DECISION_FILE
    try:
        found = DecisionRecord.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise ResultsError(
            f"{file} cannot be read: {str(error).splitlines()[0]}",
            remedy="restore the file from a copy: without it the study would decide anew.",
        ) from error
    if found.schema_ != DECISION_SCHEMA:
        raise ResultsError(
            f"{file} has schema {found.schema_!r}; this version reads {DECISION_SCHEMA!r}",
            remedy="read it with the version of Windtunnel that wrote it.",
        )
    return found
