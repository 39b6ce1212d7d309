"""Counts the words of text files without Hadoop. Runs as a program on the client's host.

It uses only the standard library, because it is started by its path. FILE is a file or a folder::

    python count_words.py count FILE       (prints JSON: files, bytes, words, distinct, counts)
    python count_words.py digest FILE      (prints JSON: digest, files)

``digest`` is a SHA-256 over the names and contents of the files.

Words are separated by spaces, tabs, line ends (LF or CR) and form feeds. Letters and punctuation
are not changed. ``counts`` is the SHA-256 of the lines ``WORD tab NUMBER`` of all words, in the
order of their bytes.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

_CHUNK_BYTES = 8 << 20
_TO_SPACES = bytes.maketrans(b"\t\n\r\f", b"    ")
_HIDDEN = (".", "_")
_PACKED = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate", ".xz", ".zip")


def text_files(source: Path) -> list[Path]:
    """The files that Hadoop reads of a file or folder: names that begin with ``.`` or ``_`` do not.

    Raises
    ------
    ValueError
        If there is no such file, or a file that Hadoop would decompress.
    """
    found = [source] if source.is_file() else sorted(p for p in source.glob("*") if p.is_file())
    shown = [path for path in found if not path.name.startswith(_HIDDEN)]
    if not shown:
        raise ValueError(f"there is no text file at {source}")
    packed = [path.name for path in shown if path.suffix in _PACKED]
    if packed:
        raise ValueError(f"{packed[0]} is compressed: decompress it, only plain text is counted")
    return shown


def count(paths: Iterable[Path]) -> Counter[bytes]:
    """The number of occurrences of each word; raises ValueError if a file is not UTF-8."""
    counts: Counter[bytes] = Counter()
    for path in paths:
        with path.open("rb") as file:
            try:
                for words in _words(file):
                    counts.update(words)
            except UnicodeDecodeError as problem:
                raise ValueError(f"{path.name} is not UTF-8 text: {problem.reason}") from None
    del counts[b""]
    return counts


def _words(file: BinaryIO) -> Iterator[list[bytes]]:
    """The words of a file in pieces; they may include empty words."""
    text = codecs.getincrementaldecoder("utf-8")()
    rest = b""
    if file.read(3) != codecs.BOM_UTF8:  # Hadoop does not treat a byte order mark as text
        file.seek(0)
    while piece := file.read(_CHUNK_BYTES):
        text.decode(piece)
        whole, _, rest = (rest + piece).translate(_TO_SPACES).rpartition(b" ")
        yield whole.split(b" ")
    text.decode(b"", final=True)
    yield [rest]


def digest_of(counts: Mapping[bytes, int]) -> str:
    """SHA-256 of all words with their counts; see the module's docstring."""
    found = hashlib.sha256()
    for word in sorted(counts):
        found.update(b"%s\t%d\n" % (word, counts[word]))
    return found.hexdigest()


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 over the names and contents of files."""
    found = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            own = hashlib.file_digest(file, "sha256").hexdigest()
        found.update(f"{path.name} {own}\n".encode())
    return found.hexdigest()


def output(what: str, paths: list[Path]) -> dict[str, object]:
    """The output of a command; see the module's docstring."""
    if what == "digest":
        return {"digest": digest(paths), "files": [str(path) for path in paths]}
    counts = count(paths)
    return {
        "files": len(paths),
        "bytes": sum(path.stat().st_size for path in paths),
        "words": counts.total(),
        "distinct": len(counts),
        "counts": digest_of(counts),
    }


def main(argv: list[str]) -> int:
    """Run the command line; see the module's docstring."""
    what, source = argv
    try:
        sys.stdout.write(json.dumps(output(what, text_files(Path(source)))) + "\n")
    except (OSError, ValueError) as problem:
        sys.stderr.write(f"Error: {problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
