"""Very many what-ifs of one kind of phase: columns in, times out, in bounded memory."""

from __future__ import annotations

import numpy as np

from windtunnel.model.constants import Vector
from windtunnel.model.phases import Columns, Times, times


def many(c: Columns, log: Vector, rows: int) -> Times:
    """:func:`times` in chunks of ``rows``, for very many treatments."""
    size = len(c.hosts)
    parts = []
    for start in range(0, size, rows):
        own = {name: values[start : start + rows] for name, values in c.values.items()}
        parts.append(times(Columns(c.kind, own), log))
    return Times(
        np.concatenate([part.elapsed_s for part in parts]),
        np.concatenate([part.cpu_s for part in parts]),
        np.concatenate([part.resources_s for part in parts], axis=1),
        np.concatenate([part.task_start_s for part in parts]),
    )
