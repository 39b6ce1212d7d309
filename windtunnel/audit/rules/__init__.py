"""The rules that checks of the catalogue name: functions that return outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from windtunnel.audit.evidence import Evidence
from windtunnel.audit.result import Outcome
from windtunnel.audit.rules import (
    containers,
    host,
    jobs,
    kernel,
    live,
    names,
    paths,
    secure,
    storage,
    surface,
    values,
)

Rule = Callable[[Evidence], Iterable[Outcome]]

RULES: Mapping[str, Rule] = {
    **kernel.RULES,
    **host.RULES,
    **names.RULES,
    **values.RULES,
    **containers.RULES,
    **jobs.RULES,
    **storage.RULES,
    **secure.RULES,
    **surface.RULES,
    **paths.RULES,
    **live.RULES,
}
