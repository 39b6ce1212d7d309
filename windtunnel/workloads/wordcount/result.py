"""The output of WordCount: lines ``WORD tab NUMBER`` in one file per reduce task."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from windtunnel.engines.deployment import Deployment
from windtunnel.workloads.plain_text import plain_text

_LARGEST_BYTES = 1 << 30


@dataclass(frozen=True)
class WordCounts:
    """Number of words, number of distinct words, and the SHA-256 of all words with counts."""

    words: int
    distinct: int
    digest: str


def read_counts(deployment: Deployment, folder: str) -> WordCounts:
    """The counts that a job wrote into a folder. Malformed or repeated lines change the digest.

    The digest is that of the lines in the order of the words' bytes. Files of more than one GiB
    are not read to the end, which changes the digest as well. Raises the errors of
    :func:`plain_text`.
    """
    pairs, words = [], 0
    for file in deployment.files.list_files(folder):
        if not file.is_data:
            continue
        text = plain_text(file.path, deployment.files.read(file.path, _LARGEST_BYTES))
        for line in text.splitlines():
            word, _, number = line.partition(b"\t")
            pairs.append((word, number))
            words += int(number) if number.isdigit() else 0
    digest = hashlib.sha256()
    for word, number in sorted(pairs):
        digest.update(b"%s\t%s\n" % (word, number))
    return WordCounts(words, len(pairs), digest.hexdigest())
