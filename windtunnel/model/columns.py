"""Hardware, jobs and constants as columns of numbers: one row per treatment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from windtunnel.model.constants import INDEX, Vector
from windtunnel.model.hardware import Hardware
from windtunnel.model.jobs import Job


@dataclass(frozen=True)
class Columns:
    """Jobs of one kind as columns; each is an array of shape (treatments,) or one number."""

    kind: str
    values: dict[str, Any]

    def __getattr__(self, name: str) -> Vector:
        try:
            found: Vector = self.values[name]
        except KeyError:
            raise AttributeError(name) from None
        return found


_HARDWARE = tuple(one.name for one in fields(Hardware) if one.name != "assumed")
_JOB = tuple(one.name for one in fields(Job) if one.name not in ("kind", "software"))


def columns(kind: str, rows: Sequence[tuple[Hardware, Job]]) -> Columns:
    """Rows of one kind as columns."""
    values: dict[str, Any] = {
        name: np.array([getattr(hosts, name) for hosts, _ in rows], dtype=float)
        for name in _HARDWARE
    }
    values |= {
        name: np.array([getattr(work, name) for _, work in rows], dtype=float) for name in _JOB
    }
    return Columns(kind, values)


@dataclass(frozen=True)
class Theta:
    """The constants by name, from logarithms of shape (constants,) or (variants, constants).

    A constant is a number, or an array of shape (variants, 1).
    """

    log: Vector

    def __getattr__(self, name: str) -> Any:
        try:
            values = np.exp(self.log[..., INDEX[name]])
        except KeyError:
            raise AttributeError(name) from None
        return values[:, None] if values.ndim else values
