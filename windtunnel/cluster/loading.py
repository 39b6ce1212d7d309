"""Cluster descriptions from files and from the catalogue that is shipped with the program."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from windtunnel.cluster.description import Cluster
from windtunnel.cluster.schema_paths import suggest
from windtunnel.cluster.yamlfile import Located, load_text, load_yaml, validate
from windtunnel.errors import DescriptionError


def catalogue_clusters() -> list[str]:
    """The names of the descriptions in the catalogue, sorted."""
    folder = resources.files("windtunnel.catalogue").joinpath("clusters")
    names = (entry.name for entry in folder.iterdir())
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def read_cluster(source: Path | str) -> Located:
    """The YAML of a file or a catalogue entry with line numbers, before validation.

    A text without a slash and without ``.yaml`` is the name of a catalogue entry.

    Raises
    ------
    DescriptionError
        No such file or name, or not YAML.
    """
    text = str(source)
    if isinstance(source, Path) or "/" in text or text.endswith((".yaml", ".yml")):
        return load_yaml(source)
    names = catalogue_clusters()
    if text not in names:
        raise DescriptionError(
            f"there is no cluster named '{text}' in the catalogue",
            remedy=f"{suggest(text, names, 'cluster')}; the name of a file must end with .yaml",
        )
    entry = resources.files("windtunnel.catalogue").joinpath("clusters", f"{text}.yaml")
    return load_text(entry.read_text(encoding="utf-8"), f"catalogue/clusters/{text}.yaml")


def load_cluster(source: Path | str) -> Cluster:
    """The cluster of a file or a catalogue entry.

    Raises
    ------
    DescriptionError
        See :func:`read_cluster`; also if the description is invalid (file, line, key).
    """
    return validate(Cluster, read_cluster(source))
