"""The state of a similarity group, from its values at full size and in the model."""

from __future__ import annotations

from windtunnel.results.record import SimilarityState

LIMITS: dict[SimilarityState, float] = {"match": 0.10, "near": 0.30}
"""The largest relative difference of a state; a larger one is ``broken``."""
_ROUNDING = 1e-9  # of the quotient


def state_of(full: float | None, model: float | None) -> SimilarityState:
    """``match`` within 10 % of the full size, ``near`` within 30 %, else ``broken``.

    ``unknown`` if a value is missing.
    """
    if full is None or model is None:
        return "unknown"
    off = abs(model / full - 1) if full else float(model != 0)
    states = (state for state, limit in LIMITS.items() if off <= limit + _ROUNDING)
    return next(states, "broken")
