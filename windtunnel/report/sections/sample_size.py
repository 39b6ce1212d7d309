"""How many trials were run, where a pilot decided that: with its noise and what can be seen."""

from __future__ import annotations

from windtunnel.analysis import Analysis
from windtunnel.report.sections.base import Section
from windtunnel.results.decision import read_decision


def section(analysis: Analysis) -> Section | None:
    """The decision of the pilot, None where none was made."""
    decision = read_decision(analysis.results.path)
    if decision is None:
        return None
    return Section(
        id="sample_size",
        title="Number of trials",
        lead=f"Decided once after {decision.pilot_rounds} rounds, from the spread alone: "
        f"{decision.rounds} rounds",
        said=(decision.text,),
        hint="The pilot's trials count. The noise is the standard deviation of log elapsed time "
        f"within treatments, here of {decision.degrees_of_freedom} degrees of freedom.",
        data=decision.model_dump(mode="json", by_alias=True),
    )
