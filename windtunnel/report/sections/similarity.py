"""Section "Similarity": how closely a scale model matches the full size."""

from __future__ import annotations

from windtunnel.analysis.analyse import Analysis
from windtunnel.analysis.subjects.similarity import (
    MODEL_TIMES,
    consequences,
    counts,
    measured_start_up,
    place,
    value_words,
    with_measured_start_up,
)
from windtunnel.report.sections.base import Column, Section, Table


def section(analysis: Analysis) -> Section | None:
    """The groups at full size and in the model; None for a study at full size."""
    scale = with_measured_start_up(analysis.study, analysis.results.trials)
    if scale is None:
        return None
    rows = [
        [
            place(group, analysis.names),
            group.name,
            value_words(group.full, group.unit),
            value_words(group.model, group.unit),
            group.state,
        ]
        for group in scale.groups
    ]
    broken = [i for i, group in enumerate(scale.groups) if group.state == "broken"]
    columns = [Column("of"), Column("group"), Column("full size", True), Column("model", True)]
    return Section(
        id="similarity",
        title="Similarity",
        lead=f"A scale model with rate {scale.rate:.4g} and data {scale.data:.4g}: {MODEL_TIMES}",
        said=[
            f"At the baseline, {counts(scale)}",
            *consequences(scale),
            *measured_start_up(analysis.study, analysis.results.trials),
        ],
        tables=[
            Table(
                "Dimensionless groups at full size and in the model",
                [*columns, Column("state")],
                rows,
                strong=frozenset(broken),
                hint="Match: within 10 % of the full size; near: within 30 %; broken: more than "
                "that. Other treatments are listed if their state differs from the baseline's. The "
                "start-up in the model is measured, if trials have it; at full size it is an "
                "estimate for a map task.",
            )
        ],
        group="trust",
        data=scale.model_dump(mode="json"),
    )
