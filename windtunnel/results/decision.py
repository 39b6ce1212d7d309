"""The decision on the number of rounds: ``decision.json`` of a results folder.

The decision is made once, after the pilot, from the spread alone, and written before the next
trial: a study that is resumed later reads it and never decides again.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ConfigDict, Field

from windtunnel.results.reading import read_record
from windtunnel.results.record import Record, StudyRecord

DECISION_SCHEMA = "windtunnel.decision/1"
DECISION_FILE = "decision.json"


class DecisionRecord(Record):
    """The number of rounds of the study, and the numbers on which the decision is based.

    ``sd_log`` is the standard deviation of log elapsed time (of the total of a trial) within
    treatments, pooled, with its ``degrees_of_freedom``, for the ``workload`` that varies most.
    ``needed`` is the number of trials per treatment with which a two-sided t test at ``alpha``
    detects the difference ``detect`` with the probability ``power``; None: more than can be
    computed. ``rounds`` is the number of rounds that the study runs. ``detectable`` is the ratio
    that ``rounds`` can detect; None if the pilot had no spread.
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
        """Whether more rounds are required than the protocol allows."""
        return self.needed is None or self.needed > self.max_rounds


def rounds_of(path: Path, study: StudyRecord) -> int:
    """The planned number of rounds: as decided, else that of the protocol."""
    decision = read_decision(path)
    return decision.rounds if decision is not None else study.protocol.rounds


def read_decision(path: Path) -> DecisionRecord | None:
    """The decision of a results folder; None if there is none yet.

    Raises
    ------
    ResultsError
        If the file is damaged or of another schema.
    """
    file = path / DECISION_FILE
    if not file.exists():
        return None
    remedy = "restore the file from a backup: without it the study would decide again."
    return read_record(file, DecisionRecord, DECISION_SCHEMA, remedy)
