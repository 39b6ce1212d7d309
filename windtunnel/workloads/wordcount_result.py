"""What WordCount wrote: lines ``WORD tab NUMBER`` in files of their own for each reduce task."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from windtunnel.engines.deployment import Deployment

_LARGEST_BYTES = 1 << 30


@dataclass(frozen=True)
class WordCounts:
    """Words in all, words that differ, and the SHA-256 of all words with their counts."""

    words: int
    distinct: int
    digest: str


def read_counts(deployment: Deployment, folder: str) -> WordCounts:
    """What a job wrote into a folder. A line that is none, or that stands twice, shows itself.

    The digest is that of the lines in the order of the words' bytes; files of a GiB and more are
    not read to their end, which shows as well.
    """
    pairs, words = [], 0
    for file in deployment.files.list_files(folder):
        if not file.length_bytes:
            continue
        for line in deployment.files.read(file.path, _LARGEST_BYTES).splitlines():
            word, _, number = line.partition(b"\t")
            pairs.append((word, number))
            words += int(number) if number.isdigit() else 0
    digest = hashlib.sha256()
    for word, number in sorted(pairs):
        digest.update(b"%s\t%s\n" % (word, number))
    return WordCounts(words, len(pairs), digest.hexdigest())
