"""Moves blocks of a stopped DataNode from removed disks to the remaining ones.

Hadoop recommends this method for removing a disk of a DataNode: stop the DataNode, then move block
and checksum files to the same subfolder of another disk (Hadoop wiki, FAQ, "How do I ... balance
disks"). The pools of all disks of a DataNode have the same name.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Sequence
from pathlib import Path

_FINISHED = "current/finalized"


def move_blocks(leaving: Sequence[Path], staying: Sequence[Path]) -> int:
    """Move all finished blocks; returns the number of files. Raises OSError, as for a full disk.

    Parameters
    ----------
    leaving, staying:
        The folders of the disks, each with Hadoop's folder ``hdfs``.
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
    """The finished blocks on a disk, without their checksum files."""
    pools = (disk / "hdfs/current").glob("BP-*")
    found = (file for pool in pools for file in (pool / _FINISHED).rglob("blk_*"))
    return [file for file in found if file.suffix != ".meta"]
