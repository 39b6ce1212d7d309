"""Generates, hashes and removes data for transfers. Runs as a program on the client's host.

It uses only the standard library, because it is started by its path::

    python make_data.py make FOLDER FILES BYTES_EACH
    python make_data.py digest FOLDER       (prints a line NAME SHA-256 for each file)
    python make_data.py remove FOLDER
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
    """Write files of pseudo-random bytes, the same in every call; durable on return.

    The folder appears atomically: it is written under another name and then renamed.
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
    """Run the command line; see the module's docstring."""
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
