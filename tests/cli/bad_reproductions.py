"""Bad inputs of ``reproduce``, ``bundle`` and ``verify``."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.cli.bad_case import Bad
from tests.cli.prepared import foreign_files


def slipping_zip(folder: Path) -> None:
    """A zip whose file leaves the folder into which it is extracted."""
    with zipfile.ZipFile(folder / "b.zip", "w") as archive:
        archive.writestr("../../etc/cron.d/mine", "x")


def half_zip(folder: Path) -> None:
    """A download that was interrupted."""
    with zipfile.ZipFile(folder / "b.zip", "w") as archive:
        archive.writestr("manifest.json", "{}" * 1000)
    raw = (folder / "b.zip").read_bytes()
    (folder / "b.zip").write_bytes(raw[: len(raw) // 2])


REPRODUCTIONS = [
    Bad("reproduction of an unknown study", "reproduce cisco", 2, ("cisco-2014",)),
    Bad("unknown claim", "reproduce intel-2012 --claim putt", 2, ("no claim 'putt'", "put")),
    Bad("no study to reproduce", "reproduce", 2, ("one published study or --all",)),
    Bad("bundle without results", "bundle none --out b.zip", 6, ("none does not exist",)),
    Bad(
        "bundle of a folder without a study",
        "bundle out --out b.zip",
        6,
        ("not a results folder",),
        prepare=foreign_files,
    ),
    Bad("bundle that does not exist", "verify b.zip", 15, ("does not exist",)),
    Bad(
        "bundle that leaves its folder",
        "verify b.zip",
        15,
        ("is outside the folder", "do not extract"),
        prepare=slipping_zip,
    ),
    Bad("truncated bundle", "verify b.zip", 15, ("damaged or truncated",), prepare=half_zip),
]
