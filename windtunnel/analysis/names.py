"""Names of treatments, made from their levels instead of their ids; the source of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from windtunnel.results.folder import Results
from windtunnel.results.record import StudyRecord, Treatment

ALL_LEVELS_UP_TO = 2
"""Number of factors up to which a name contains every level; with more factors it contains the
levels that differ from the baseline."""
BASELINE_LEVELS = 40
"""Number of characters up to which the name of the baseline contains its levels."""
_BARE = frozenset(
    {"on", "off", "yes", "no", "true", "false", "none", "default", "low", "high", "medium"}
)


def origin(study: StudyRecord) -> str:
    """``testbed local, measured``; ``published results`` if the results have no testbed."""
    if study.testbed == study.kind:
        return f"{study.kind} results"
    return f"testbed {study.testbed}, {study.kind}"


def names_of(results: Results) -> dict[str, str]:
    """The name of every treatment by its id, including treatments that only trials contain."""
    planned = {treatment.id: treatment for treatment in results.study.treatments}
    seen = {trial.treatment.id: trial.treatment for trial in results.trials}
    return treatment_names(list({**seen, **planned}.values()), results.study.baseline)


def treatment_names(treatments: Sequence[Treatment], baseline: Mapping[str, str]) -> dict[str, str]:
    """Names by id; each treatment has a different name.

    With one or two factors that vary, a name is its levels (``1 Gb/s``, ``1 Gb/s, 24 disks``).
    With more factors, it is the levels that differ from the baseline; a treatment without any
    is ``baseline``, followed by its levels if they are short.
    """
    levels = [treatment.levels for treatment in treatments]
    factors = list(dict.fromkeys(factor for each in levels for factor in each))
    varied = [f for f in factors if len({each.get(f) for each in levels}) > 1] or factors
    shared = _shared_levels(levels)
    short = short_names(factors)
    made = {t.id: _name(t, varied, baseline, shared, short) or t.id for t in treatments}
    return _distinct(made, {t.id: t for t in treatments})


def short_names(factors: Iterable[str]) -> dict[str, str]:
    """The end of each factor's path that no other factor has: ``map.memory.mb``, ``disks``."""
    ends = {factor: _ends(factor) for factor in factors}
    count = Counter(end for each in ends.values() for end in each)
    return {f: next((end for end in each if count[end] == 1), f) for f, each in ends.items()}


def _ends(path: str) -> list[str]:
    """``c``, ``b.c`` and ``a.b.c`` of the path ``a.b.c``."""
    parts = path.split(".")
    return [".".join(parts[-length:]) for length in range(1, len(parts) + 1)]


def level_words(
    factor: str, level: str, shared: frozenset[str] = frozenset(), short: str = ""
) -> str:
    """A level as a complete name: ``1 Gb/s``, but ``24 disks`` and ``hyper_threading off``.

    ``shared`` holds levels that several factors have; they are named with their factor.
    ``short`` is the factor's short name, by default the last part of its path.
    """
    short = short or factor.rsplit(".", 1)[-1]
    if level.isdecimal() and short.endswith("s") and not short.endswith("ss"):
        return f"{level} {short[:-1] if level == '1' else short}"
    says_little = not any(c.isalpha() for c in level) or level.lower() in _BARE
    return f"{short} {level}" if says_little or level in shared else level


def _shared_levels(levels: Sequence[Mapping[str, str]]) -> frozenset[str]:
    """Levels that more than one factor has."""
    pairs = {(factor, level) for each in levels for factor, level in each.items()}
    found = Counter(level for _, level in pairs)
    return frozenset(level for level, count in found.items() if count > 1)


def _name(
    treatment: Treatment,
    varied: Sequence[str],
    baseline: Mapping[str, str],
    shared: frozenset[str],
    short: Mapping[str, str],
) -> str:
    levels = treatment.levels
    words = {f: level_words(f, levels[f], shared, short[f]) for f in varied if f in levels}
    if len(varied) <= ALL_LEVELS_UP_TO or not any(f in baseline for f in words):
        return ", ".join(words.values())
    differing = [text for f, text in words.items() if levels[f] != baseline.get(f)]
    if differing:
        return ", ".join(differing)
    own = ", ".join(words.values())
    return f"baseline ({own})" if len(own) <= BASELINE_LEVELS else "baseline"


def _distinct(made: Mapping[str, str], treatments: Mapping[str, Treatment]) -> dict[str, str]:
    """The names; a name of several treatments is followed by what distinguishes them."""
    done = dict(made)
    for name, count in Counter(made.values()).items():
        if count > 1:
            same = [key for key in made if made[key] == name]
            done |= {key: f"{name} ({_own(treatments[key], same, treatments)})" for key in same}
    # The added text may be equal too, or be the name of another treatment; an id is unique.
    again = Counter(done.values())
    return {key: name if again[name] == 1 else f"{name} ({key})" for key, name in done.items()}


def _own(treatment: Treatment, same: Sequence[str], treatments: Mapping[str, Treatment]) -> str:
    """The overrides in which treatments with the same levels differ; the id without any."""
    paths = list(dict.fromkeys(path for key in same for path in treatments[key].overrides))
    differing = [
        path for path in paths if len({str(treatments[k].overrides.get(path)) for k in same}) > 1
    ]
    words = [
        f"{path.rsplit('.', 1)[-1]} {treatment.overrides[path]}"
        for path in differing
        if path in treatment.overrides
    ]
    return ", ".join(words) or treatment.id
