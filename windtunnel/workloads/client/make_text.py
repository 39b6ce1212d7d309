"""Generates and removes text. Runs as a program on the client's host, started by its path::

    python make_text.py make FOLDER FILES BYTES_EACH SEED
    python make_text.py remove FOLDER

The word of rank r is drawn with a weight of 1 / (r + 2.7), which is the Zipf-Mandelbrot law
(B. Mandelbrot, An informational theory of the statistical structure of language, 1953; 2.7 is
usual for English). From rank 4096 the weight decreases with the square of the rank (R. Ferrer i
Cancho, R. V. Sole, Two regimes in the frequency of words and the origins of complex lexicons,
2001). About the first thousand words are English. The others, up to rank 2^18, are two of these
joined by a hyphen, so that some words occur only once or twice, as in real text.

The same parameters give the same bytes on every machine: weights are whole numbers, and the only
part of NumPy that is used is the bit stream of PCG64, which is guaranteed not to change (NEP 19).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

WORDS = Path(__file__).with_name("words.txt")
VOCABULARY = 1 << 18
_TENTHS_OF_SHIFT = 27
_KERNEL = 1 << 12
_DECK_BITS = 23
_WEIGHT_BITS = 38  # with the bits of the deck, their sum stays below 2^63
_WORDS_AT_ONCE = 1 << 19
_WORDS_PER_LINE = 12
_STRIDE = 7919  # a prime, so that words of neighbouring ranks differ


def make(folder: Path, files: int, bytes_each: int, seed: int) -> None:
    """Write files of text, the same in every call; durable on return.

    The folder appears atomically: it is written under another name and then renamed.
    """
    new = folder.with_name(f".{folder.name}")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    deck, words = _deck(), _words()
    for number in range(files):
        with (new / f"part-{number:05d}").open("wb") as file:
            for piece in _text(deck, words, bytes_each, (seed, number)):
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
    new.rename(folder)


def vocabulary() -> list[str]:
    """All words by rank, the most frequent first."""
    rows = WORDS.read_text(encoding="ascii").splitlines()
    common = " ".join(row for row in rows if not row.startswith("#")).split()
    pairs = len(common) ** 2
    joined = ((number * _STRIDE) % pairs for number in range(VOCABULARY - len(common)))
    return common + [f"{common[p // len(common)]}-{common[p % len(common)]}" for p in joined]


def weights() -> npt.NDArray[np.int64]:
    """The relative frequency of each rank, up to a constant factor."""
    ranks = np.arange(1, VOCABULARY + 1, dtype=np.int64)
    kernel = np.maximum(ranks, _KERNEL)
    return (_KERNEL << _WEIGHT_BITS) // ((10 * ranks + _TENTHS_OF_SHIFT) * kernel)


@cache
def _deck() -> npt.NDArray[np.int32]:
    """2^23 ranks, each repeated in proportion to its weight; drawing one selects a word."""
    ends = np.cumsum(weights())
    places = (ends << _DECK_BITS) // ends[-1]
    ranks = np.arange(VOCABULARY, dtype=np.int32)
    return np.repeat(ranks, np.diff(places, prepend=0))


@cache
def _words() -> npt.NDArray[np.object_]:
    """Each word followed by a space, then each word followed by a line end."""
    plain = [word.encode() for word in vocabulary()]
    return np.array([w + b" " for w in plain] + [w + b"\n" for w in plain], dtype=object)


def _text(
    deck: npt.NDArray[np.int32],
    words: npt.NDArray[np.object_],
    size: int,
    seed: tuple[int, int],
) -> Iterator[bytes]:
    """Pieces of text with ``size`` bytes in total: whole words, then spaces and a line end."""
    stream = np.random.PCG64(np.random.SeedSequence(seed))
    while size > 0:
        drawn = stream.random_raw(min(_WORDS_AT_ONCE, size // 5 + 1))
        chosen = deck[drawn >> np.uint64(64 - _DECK_BITS)]
        line_ends = (drawn & np.uint64((1 << 32) - 1)) < np.uint64((1 << 32) // _WORDS_PER_LINE)
        text = b"".join(words[chosen + line_ends * np.int32(VOCABULARY)].tolist())
        if len(text) >= size:
            cut = max(text.rfind(b" ", 0, size), text.rfind(b"\n", 0, size)) + 1
            text = (text[:cut] + b" " * (size - cut))[: size - 1] + b"\n"
        size -= len(text)
        yield text


def main(argv: list[str]) -> None:
    """Run the command line; see the module's docstring."""
    what, folder, *numbers = argv
    if what == "make":
        files, bytes_each, seed = map(int, numbers)
        make(Path(folder), files, bytes_each, seed)
    elif what == "remove":
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
