"""The names of the published studies in the catalogue."""

from __future__ import annotations

from importlib import resources

PREFIX = "published:"
STUDY = "study.yaml"


def published_names() -> list[str]:
    """The published studies of the catalogue, sorted."""
    folder = resources.files("windtunnel.catalogue").joinpath("published")
    return sorted(entry.name for entry in folder.iterdir() if entry.joinpath(STUDY).is_file())
