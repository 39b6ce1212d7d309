"""Data for transfers: made, digested, removed. Runs as a program on the client's host.

Only the standard library, since it runs by its path::

    python made_data.py make FOLDER FILES BYTES_EACH
    python made_data.py digest FOLDER       (prints NAME SHA-256, a line for each file)
    python made_data.py remove FOLDER
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import sys
from pathlib import Path

_CHUNK_BYTES = 1 << 20


def make(folder: Path, files: int, bytes_each: int) -> None:
    """Write files of pseudo-random bytes, the same at every call; durable when it returns.

    The folder appears whole: it is made beside its place and renamed.
    """
    new = folder.with_name(f".{folder.name}")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    for number in range(files):
        source = random.Random(number)
        with (new / f"part-{number:05d}").open("wb") as file:
            left = bytes_each
            while left > 0:
                left -= file.write(source.randbytes(min(left, _CHUNK_BYTES)))
            file.flush()
            os.fsync(file.fileno())
    new.rename(folder)


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file of a folder by its name."""
    found = {}
    for path in sorted(folder.glob("part-*")):
        with path.open("rb") as file:
            found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def digest_of(data: bytes) -> str:
    """SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


def main(words: list[str]) -> None:
    """Do what the words say; see the module's docstring."""
    what, folder, *numbers = words
    if what == "make":
        make(Path(folder), *map(int, numbers))
    elif what == "digest":
        for name, digest in digests(Path(folder)).items():
            sys.stdout.write(f"{name} {digest}\n")
    elif what == "remove":
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
