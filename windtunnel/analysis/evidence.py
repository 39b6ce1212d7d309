"""The input of the warning rules, and the warnings that they return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from windtunnel.analysis.bottleneck.usage import Usage
from windtunnel.analysis.effects.cells import Cell
from windtunnel.analysis.names import names_of
from windtunnel.analysis.observations import ELAPSED, counts
from windtunnel.results.folder import Results
from windtunnel.results.record import Trial

if TYPE_CHECKING:
    from windtunnel.analysis.unreadable import Unreadable

Severity = Literal["serious", "caution", "note"]
SEVERITIES: tuple[Severity, ...] = ("serious", "caution", "note")


@dataclass(frozen=True, slots=True)
class ReportWarning:
    """A condition that holds, and advice for it.

    ``rule`` is the number of the rule of trust in DESIGN.md, None for other rules.
    """

    id: str
    severity: Severity
    text: str
    advice: str
    rule: int | None = None


@dataclass(frozen=True)
class Evidence:
    """The results of a study and the statistics computed from them."""

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
        """Whether the study contains measured trials, so that the rules on conduct apply."""
        return self.results.study.kind == "measured"

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The name of each treatment, by its id."""
        return names_of(self.results)

    def place(self, treatment: str, *where: str) -> str:
        """``1 Gb/s / terasort / total``: the name of a treatment, and a place in it."""
        return " / ".join((self.names.get(treatment, treatment), *where))

    def elapsed_cells(self) -> Iterator[Cell]:
        """The cells of elapsed time."""
        return (cell for cell in self.cells if cell.metric == ELAPSED)


def slot(trial: Trial) -> tuple[str, str]:
    """(workload, treatment): the unit that each round repeats."""
    return trial.workload, trial.treatment.id
