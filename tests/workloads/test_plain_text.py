"""Output files of jobs: plain, compressed, and compressed with other codecs."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.errors import TrialInvalidError
from windtunnel.workloads.plain_text import plain_text

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".deflate": zlib.compress,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    "": bytes,
}


@pytest.mark.parametrize("suffix", PACKERS)
@given(parts=st.lists(st.binary(max_size=200), max_size=3))
def test_the_text_is_that_which_was_written(suffix: str, parts: list[bytes]) -> None:
    """Some writers append several streams."""
    content = b"".join(map(PACKERS[suffix], parts))
    assert plain_text(f"/out/part-r-00000{suffix}", content) == b"".join(parts)


@pytest.mark.parametrize("suffix", [".deflate", ".gz"])
def test_the_beginning_of_a_file_is_the_beginning_of_its_text(suffix: str) -> None:
    text = bytes(range(256)) * 400
    found = plain_text(f"/out/part{suffix}", PACKERS[suffix](text)[:300])
    assert found and text.startswith(found)


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(TrialInvalidError, match=r"/out/part-r-00000\.snappy") as caught:
        plain_text("/out/part-r-00000.snappy", b"x")
    assert "mapreduce.output.fileoutputformat.compress" in caught.value.remedy
    with pytest.raises(TrialInvalidError, match="cannot be decompressed"):
        plain_text("/out/part-r-00000.gz", b"no gzip")
