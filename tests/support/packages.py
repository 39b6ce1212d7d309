"""Installed packages made up for tests: a module, and what an installer notes of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install(
    target: Path, name: str, entries: Mapping[str, Mapping[str, str]], source: str = ""
) -> None:
    """A package ``name`` of version 1.0 in a folder of ``sys.path``.

    ``entries`` are its entry points by group without ``windtunnel.``, ``source`` is its module,
    whose name is that of the package with underscores.
    """
    target.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    (target / f"{module}.py").write_text(source)
    notes = target / f"{module}-1.0.dist-info"
    notes.mkdir()
    (notes / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        f"[windtunnel.{group}]\n" + "\n".join(f"{key} = {value}" for key, value in found.items())
        for group, found in entries.items()
    ]
    (notes / "entry_points.txt").write_text("\n".join(lines) + "\n")
