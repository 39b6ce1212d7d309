"""Text of the output files of jobs, which a setting of the cluster can compress."""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final, Protocol

from windtunnel.errors import TrialInvalidError

_COMPRESS: Final = "mapreduce.output.fileoutputformat.compress"
UNCOMPRESSED: Final = {_COMPRESS: "false"}
"""Settings of a job whose output is small and only for Windtunnel."""


class _Decompressor(Protocol):
    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


# by the default extensions of Hadoop's codecs (DefaultCodec, GzipCodec, BZip2Codec)
_READERS: Final[dict[str, Callable[[], _Decompressor]]] = {
    ".deflate": zlib.decompressobj,
    ".gz": lambda: zlib.decompressobj(wbits=31),
    ".bz2": bz2.BZ2Decompressor,
}


def plain_text(path: str, content: bytes) -> bytes:
    """The text of an output file; of a part of a compressed file, the text of this part.

    Raises
    ------
    TrialInvalidError
        If the file has an extension of a codec that is not known here, or cannot be decompressed.
    """
    suffix = PurePosixPath(path).suffix
    if not suffix:
        return content
    if suffix not in _READERS:
        raise TrialInvalidError(
            f"the output {path} cannot be checked: only {', '.join(_READERS)} can be decompressed",
            remedy=f"set settings.{_COMPRESS} to false, or choose another codec.",
        )
    found = b""
    try:
        while content:
            reader = _READERS[suffix]()
            found += reader.decompress(content)
            content = reader.unused_data
    except (OSError, zlib.error) as error:
        raise TrialInvalidError(f"the output {path} cannot be decompressed: {error}") from error
    return found
