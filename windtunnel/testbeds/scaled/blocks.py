"""Blocks of a stopped DataNode move from disks that leave to disks that stay.

Hadoop's own advice for taking a disk out of a DataNode: with the DataNode stopped, move block
and checksum files to the same sub-folder of another disk (Hadoop wiki, FAQ, "How do I ...
balance disks"). The pools of all disks of a DataNode have the same name.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Sequence
from pathlib import Path

_FINISHED = "current/finalized"


def move_blocks(leaving: Sequence[Path], staying: Sequence[Path]) -> int:
    """Move all finished blocks; returns how many files. Raises OSError (a full disk, say).

    Parameters
    ----------
    leaving, staying:
        The disks' folders, with Hadoop's folder ``hdfs`` in each.
    """
    targets = itertools.cycle(staying)
    moved = 0
    for disk in leaving:
        for block in sorted(blocks_of(disk)):
            target = next(targets)
            for file in (block, *block.parent.glob(f"{block.name}_*.meta")):
                place = target / file.relative_to(disk)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(file, place)
                moved += 1
    return moved


def blocks_of(disk: Path) -> list[Path]:
    """The finished blocks on a disk, without the files of their checksums."""
    pools = (disk / "hdfs/current").glob("BP-*")
    found = (file for pool in pools for file in (pool / _FINISHED).rglob("blk_*"))
    return [file for file in found if file.suffix != ".meta"]
