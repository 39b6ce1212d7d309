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
from windtunnel.published.store import write_results
from windtunnel.published.table import Table, parse_table, read_table


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
    """A user's spreadsheet as results. Files that the map names are in the folder ``beside``."""
    digest = hashlib.sha256(csv.read_bytes()).hexdigest() if csv.is_file() else ""
    table = read_table(csv)
    named = mapped.model_copy(
        update={"sources": (*mapped.sources, f"{csv.name}, SHA-256 {digest}"), "runs": csv.name}
    )
    cluster = _cluster_of(mapped.cluster, beside)
    built = build(named, table, cluster, origin, text)
    if mapped.power is None:
        return built
    samples = read_table(beside / mapped.power.file)
    return replace(built, power=read_power_series(mapped.power, samples, mapped.utc_offset_h))


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
