"""Rule on the journal: no trial is lost or counted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from windtunnel.analysis.evidence import Evidence, ReportWarning, slot
from windtunnel.analysis.formatting import listed, plural


def counted_twice(evidence: Evidence) -> Iterator[ReportWarning]:
    """Rule 13: a slot of a round counts once, even if folders were copied or merged."""
    seen = Counter((*slot(t), t.round, t.attempt, t.position) for t in evidence.counted)
    twice = [
        f"{evidence.place(treatment, workload)} in round {number}"
        for (workload, treatment, number, _, _), count in seen.items()
        if count > 1
    ]
    if twice and evidence.measured:
        yield ReportWarning(
            id="counted-twice",
            rule=13,
            severity="serious",
            text=f"{plural(len(twice), 'slot')} of the plan counted more than once: "
            f"{listed(twice)}",
            advice="the folder contains the files of two runs; use a separate folder per run.",
        )
