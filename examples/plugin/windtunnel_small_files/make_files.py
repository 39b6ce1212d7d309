"""Makes the small files on the client host. A program of its own: it needs Python, no package.

python make_files.py FOLDER FILES BYTES
python make_files.py --remove FOLDER
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path


def name_of(number: int) -> str:
    """The name of a file."""
    return f"file-{number:06d}"


def content_of(number: int, size: int) -> bytes:
    """The bytes of a file: the same every time, and not the same in any two files."""
    return hashlib.shake_256(str(number).encode()).digest(size)


def main(words: list[str]) -> None:
    """Make the folder with its files, whole or not at all; or remove it."""
    if words[0] == "--remove":
        shutil.rmtree(words[1], ignore_errors=True)
        return
    folder, files, size = Path(words[0]), int(words[1]), int(words[2])
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for number in range(files):
        (partial / name_of(number)).write_bytes(content_of(number, size))
    partial.rename(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
