"""Analysis: cells, effects, warnings and findings of a results folder."""

from windtunnel.analysis.analyse import Analysis, TrialRow, analyse
from windtunnel.analysis.cells import Cell
from windtunnel.analysis.effects import Effect
from windtunnel.analysis.evidence import ReportWarning
from windtunnel.analysis.findings import Finding

__all__ = ["Analysis", "Cell", "Effect", "Finding", "ReportWarning", "TrialRow", "analyse"]
