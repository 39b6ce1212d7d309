"""A results folder with the products that are computed from it, each of them only once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar, cast

from windtunnel.results.folder import Results

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The part of an analysis that file readers use; ``analyse.Analysis`` is a subclass."""

    results: Results
    _made: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, make: Callable[[Self], _T]) -> _T:
        """``make(self)``, computed at the first call and cached.

        Sections, charts and the export use the same products (a ranking, a fit, tails); some
        of them take seconds.
        """
        if make not in self._made:
            self._made[make] = make(self)
        return cast(_T, self._made[make])
