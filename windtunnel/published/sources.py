"""``published:NAME`` as results: built once from the catalogue's facts into the user's cache."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path

from windtunnel.cluster import Cluster, load_cluster, load_text, load_yaml
from windtunnel.cluster.schema_paths import suggest
from windtunnel.engines.artifacts import cache_root
from windtunnel.errors import ResultsError, UsageError
from windtunnel.published.build import Built, build
from windtunnel.published.mapping import Map, map_from
from windtunnel.published.names import PREFIX, STUDY, published_names
from windtunnel.published.power import read_power_series
from windtunnel.published.relations import RELATIONS, Relations, relations_from
from windtunnel.published.store import FACTS, write_results
from windtunnel.published.table import Table, parse_table, read_table

MAP = "map.yaml"
"""The map of an import in its results folder; JSON, which is YAML."""


@cache
def facts(name: str) -> dict[str, str]:
    """File name -> text, for all files of a study in the catalogue."""
    folder = resources.files("windtunnel.catalogue").joinpath("published", name)
    files = sorted((e for e in folder.iterdir() if e.is_file()), key=lambda entry: entry.name)
    return {entry.name: entry.read_text(encoding="utf-8") for entry in files}


def fact_table(name: str, file: str) -> Table:
    """A CSV file of a study."""
    return parse_table(facts(name)[file], f"{PREFIX}{name}/{file}")


def study_map(name: str) -> Map:
    """The map of a study."""
    return map_from(load_text(facts(name)[STUDY], f"{PREFIX}{name}/{STUDY}"))


def build_published(name: str) -> Built:
    """The results of a study from its facts; nothing is written."""
    mapped = study_map(name)
    table = None if mapped.runs is None else fact_table(name, mapped.runs)
    built = build(mapped, table, _cluster_of(mapped.cluster), name, facts(name)[STUDY])
    if mapped.power is None:
        return built
    samples = fact_table(name, mapped.power.file)
    power = read_power_series(mapped.power, samples, mapped.utc_offset_h)
    return replace(built, power=power)


def published_folder(source: str) -> Path:
    """The results folder of ``published:NAME``, created if it is not in the cache yet.

    Raises
    ------
    UsageError
        No published study of that name.
    ResultsError
        The cache cannot be written.
    """
    name = published_name(source)
    folder = cache_root() / "published" / f"{name}-{_digest(name)}"
    if not (folder / "study.json").is_file():
        try:
            write_results(build_published(name), folder)
        except ResultsError:
            if not (folder / "study.json").is_file():  # else another process was faster
                raise
    return folder


def published_name(source: str) -> str:
    """NAME of ``published:NAME``; UsageError if the catalogue does not contain it."""
    name = source.removeprefix(PREFIX)
    names = published_names()
    if name not in names:
        raise UsageError(
            f"the catalogue has no published study '{name}'",
            remedy=f"{suggest(name, names, 'study')}.",
        )
    return name


def import_csv(csv: Path, mapped: Map, origin: str, text: str, beside: Path) -> Built:
    """A user's spreadsheet as results. Files that the map names are in the folder ``beside``.

    The map, the tables and ``review.yaml`` (next to ``csv``, optional) are part of the results, so
    that a review can compute with them.

    Raises
    ------
    DescriptionError
        With file, line and column or key of the first mistake.
    """
    digest = hashlib.sha256(csv.read_bytes()).hexdigest() if csv.is_file() else ""
    table = read_table(csv)
    named = mapped.model_copy(
        update={"sources": (*mapped.sources, f"{csv.name}, SHA-256 {digest}"), "runs": csv.name}
    )
    cluster = _cluster_of(mapped.cluster, beside)
    built = build(named, table, cluster, origin, text)
    if mapped.power is not None:
        samples = read_table(beside / mapped.power.file)
        power = read_power_series(mapped.power, samples, mapped.utc_offset_h)
        built = replace(built, power=power)
    return replace(built, facts=_facts_of(csv, named, beside))


def _facts_of(csv: Path, mapped: Map, beside: Path) -> dict[str, str]:
    """The files of an import that a review reads, checked."""
    others = [*mapped.tables, *([mapped.power.file] if mapped.power else [])]
    paths = {csv.name: csv, **{Path(name).name: beside / name for name in others}}
    if len(paths) < 1 + len(set(others) - {csv.name}):
        raise UsageError(
            "two tables of the map have the same file name",
            remedy="rename one: a results folder keeps all tables in one folder.",
        )
    tables = {name: read_table(path) for name, path in paths.items()}
    found = {name: path.read_bytes().decode("utf-8-sig") for name, path in paths.items()}
    found[MAP] = mapped.model_dump_json(indent=1, exclude_unset=True) + "\n"
    relations = csv.parent / RELATIONS
    if relations.is_file():
        located = load_yaml(relations)
        relations_from(located, tables)
        found[RELATIONS] = located.text
    return found


def stored_facts(folder: Path) -> tuple[Map, dict[str, Table], Relations] | None:
    """Map, tables and relations of an imported study; None if the folder has none.

    Raises
    ------
    DescriptionError
        A file was changed and is no longer valid.
    """
    facts_ = folder / FACTS
    if not (facts_ / MAP).is_file():
        return None
    mapped = map_from(load_yaml(facts_ / MAP))
    tables = {
        path.name: read_table(path)
        for path in sorted(facts_.glob("*"))
        if path.name not in (MAP, RELATIONS)
    }
    path = facts_ / RELATIONS
    relations = relations_from(load_yaml(path), tables) if path.is_file() else Relations()
    return mapped, tables, relations


def read_map(path: Path) -> tuple[Map, str]:
    """A map file and its text."""
    located = load_yaml(path)
    return map_from(located), located.text


def _cluster_of(named: str | None, beside: Path | None = None) -> Cluster | None:
    """The cluster that a map names: one of the catalogue, or a file in the map's folder."""
    if named is None:
        return None
    if beside is not None and named.endswith((".yaml", ".yml")):
        return load_cluster(beside / named)
    return load_cluster(named)


def _digest(name: str) -> str:
    """Hash of all inputs of the folder: the code that builds it, the facts, the cluster."""
    folders = [resources.files(f"windtunnel.{package}") for package in ("cluster", "published")]
    modules = [entry for code in folders for entry in code.iterdir() if entry.name.endswith(".py")]
    modules.sort(key=str)
    parts = [module.read_text(encoding="utf-8") for module in modules]
    parts += [f"{file}\0{text}" for file, text in facts(name).items()]
    cluster = _cluster_of(study_map(name).cluster)
    parts += [cluster.fingerprint()] if cluster else []
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
