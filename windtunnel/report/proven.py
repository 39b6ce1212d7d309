"""Advice after its measurement: only the settings that win are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from windtunnel.analysis.analyse import analyse
from windtunnel.analysis.effects.effects import Effect
from windtunnel.analysis.formatting import with_interval
from windtunnel.analysis.observations import ELAPSED, TOTAL
from windtunnel.cluster.settings import site_of
from windtunnel.errors import ResultsError
from windtunnel.report.advice import site_text
from windtunnel.report.atomic import write_bytes
from windtunnel.results.folder import Results

FOLDER = "proven"
_SETTING = "settings."
_TITLE = "# Measured effects of the advised settings"


@dataclass(frozen=True)
class Proof:
    """One piece of advice: its check, its settings, and its effect on the elapsed time."""

    check: str
    settings: Mapping[str, str]
    effect: Effect | None

    @property
    def wins(self) -> bool:
        """Whether less time was detected, after correction for the number of comparisons."""
        found = self.effect
        return bool(found and found.distinguishable and (found.relative or 0) < 0)

    @property
    def words(self) -> str:
        """``job-spills: elapsed time -10 % [-21, +2]: no difference detected, not kept``."""
        found = self.effect
        if found is None or found.relative is None:
            return f"{self.check}: not measured, not kept"
        said = "less time, kept" if self.wins else "no difference detected, not kept"
        if found.distinguishable is None:
            said = "not decided, not kept"
        elif found.distinguishable and not self.wins:
            said = "more time, not kept"
        change = with_interval(found.relative, found.ci_low, found.ci_high)
        return f"{self.check}: elapsed time {change}: {said}"


def proofs(results: Results, advised: Mapping[str, Mapping[str, object]]) -> list[Proof]:
    """The effect of each piece of advice in the results of its study.

    ``advised`` has the paths and values of the level ``advised`` of each factor.
    """
    found = {
        one.factor: one
        for one in analyse(results).effects
        if one.phase == TOTAL and one.metric == ELAPSED and one.level == "advised"
    }
    return [
        Proof(
            check,
            {
                path.removeprefix(_SETTING): str(value)
                for path, value in paths.items()
                if path.startswith(_SETTING)
            },
            found.get(check),
        )
        for check, paths in advised.items()
    ]


def write_proven(found: list[Proof], advice: Path) -> list[Path]:
    """Write the site files of what wins, and one line for each piece of advice.

    Raises
    ------
    ResultsError
        If a file cannot be written.
    """
    folder = advice / FOLDER
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ResultsError(
            f"{folder} cannot be created: {error.strerror}", remedy="give another folder."
        ) from None
    sites: dict[str, dict[str, tuple[str, str]]] = {}
    for one in found:
        for name, value in one.settings.items() if one.wins else ():
            sites.setdefault(site_of(name), {})[name] = (value, one.words)
    texts = {name: site_text(properties) for name, properties in sites.items()}
    texts["measured.md"] = "\n".join([_TITLE, "", *_lines(found), ""])
    written = []
    for name, text in texts.items():
        write_bytes(folder / name, text.encode())
        written.append(folder / name)
    return written


def _lines(found: list[Proof]) -> list[str]:
    return [f"- {one.words}" for one in found]
