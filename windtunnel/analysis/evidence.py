"""What the warning rules look at, and what they answer with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from windtunnel.analysis.cells import Cell
from windtunnel.analysis.limits import Usage
from windtunnel.analysis.observations import ELAPSED, counts
from windtunnel.results.folder import Results
from windtunnel.results.record import Trial

if TYPE_CHECKING:
    from windtunnel.analysis.unreadable import Unreadable

Severity = Literal["serious", "caution", "note"]
SEVERITIES: tuple[Severity, ...] = ("serious", "caution", "note")


@dataclass(frozen=True, slots=True)
class ReportWarning:
    """A condition that was met and the advice that fits it.

    ``rule`` is the number of the rule of trust in DESIGN.md, None for ours beyond them.
    """

    id: str
    severity: Severity
    text: str
    advice: str
    rule: int | None = None


@dataclass(frozen=True)
class Evidence:
    """A study's results with the statistics made from them."""

    results: Results
    cells: list[Cell]
    usages: list[Usage]
    unreadable: Sequence[Unreadable] = ()

    @cached_property
    def counted(self) -> list[Trial]:
        """Trials that may be averaged, in the order in which they ran."""
        return [trial for trial in self.results.trials if counts(trial)]

    @cached_property
    def measured(self) -> bool:
        """Whether the study ran on something real, so that rules on conduct apply."""
        return self.results.study.kind == "measured"

    def elapsed_cells(self) -> Iterator[Cell]:
        """The cells of elapsed time."""
        return (cell for cell in self.cells if cell.metric == ELAPSED)


def cell_name(cell: Cell) -> str:
    """``stock / terasort / total``: a cell of a known metric in words."""
    return f"{cell.treatment} / {cell.workload} / {cell.phase}"


def slot(trial: Trial) -> tuple[str, str]:
    """(workload, treatment): what is repeated by rounds."""
    return trial.workload, trial.treatment.id
