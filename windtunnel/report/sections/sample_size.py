"""Section "Number of trials": the decision of the pilot, with the noise that it measured."""

from __future__ import annotations

from windtunnel.analysis.analyse import Analysis
from windtunnel.report.sections.base import Section
from windtunnel.results.decision import read_decision


def section(analysis: Analysis) -> Section | None:
    """The decision of the pilot; None without a pilot."""
    decision = read_decision(analysis.results.path)
    if decision is None:
        return None
    return Section(
        id="sample_size",
        title="Number of trials",
        lead=f"The pilot of {decision.pilot_rounds} rounds determined the number of rounds once, "
        f"from the spread: {decision.rounds} rounds",
        said=(decision.text,),
        hint="The trials of the pilot are part of the results. The noise is the standard deviation "
        "of the logarithm of elapsed time within treatments, with "
        f"{decision.degrees_of_freedom} degrees of freedom.",
        group="trust",
        data=decision.model_dump(mode="json", by_alias=True),
    )
