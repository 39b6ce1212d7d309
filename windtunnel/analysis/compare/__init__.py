"""Comparison of results folders: differences, refusals and verdicts."""

from windtunnel.analysis.compare.compare import CellComparison, Comparison, Pair, compare
from windtunnel.analysis.compare.differences import Difference
from windtunnel.analysis.compare.refusals import IDS as REFUSAL_IDS
from windtunnel.analysis.compare.refusals import Refusal

__all__ = [
    "REFUSAL_IDS",
    "CellComparison",
    "Comparison",
    "Difference",
    "Pair",
    "Refusal",
    "compare",
]
