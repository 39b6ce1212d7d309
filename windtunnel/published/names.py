"""The names of the published studies in the catalogue."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from windtunnel.cluster import catalogue_clusters

PREFIX = "published:"
STUDY = "study.yaml"


def published_names() -> list[str]:
    """The published studies of the catalogue, sorted."""
    folder = resources.files("windtunnel.catalogue").joinpath("published")
    return sorted(entry.name for entry in folder.iterdir() if entry.joinpath(STUDY).is_file())


def cluster_parts(source: str) -> tuple[str, str]:
    """Study and treatment of ``STUDY/TREATMENT`` or ``STUDY-TREATMENT``; empty for other names."""
    if source in catalogue_clusters() or Path(source).is_file():
        return "", ""
    for study in published_names():
        name = source.removeprefix(study)
        if name != source and name[:1] in ("/", "-"):
            return study, name[1:]
    return "", ""
