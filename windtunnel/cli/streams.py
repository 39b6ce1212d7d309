"""Standard output and error that outlive their reader: ``| tee log``, ``| head``, a terminal.

A study must not stop, and a trial must not be lost, because nobody reads its progress any more.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, TextIO


class LastingStream:
    """A text stream that discards its text once its reader has ended.

    Other errors, such as a full disk, are raised: the text of a command can be its result.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()  # a closed one is none, and its error is EIO

    def write(self, text: str) -> int:
        """Write a text, or discard it."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._discard(error)
        return len(text)

    def flush(self) -> None:
        """Flush what is written."""
        try:
            self._stream.flush()
        except OSError as error:
            self._discard(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _discard(self, error: OSError) -> None:
        """Discard all that is written from now on, or raise the error again.

        Python and child processes would otherwise fail at their next write to the same file.
        """
        if not isinstance(error, BrokenPipeError) and not self._terminal:
            raise error
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


def outlive_readers() -> None:
    """Let standard output and error of this process outlive their readers."""
    for name in ("stdout", "stderr"):
        if (stream := getattr(sys, name)) is not None:  # None: the process started without it
            setattr(sys, name, LastingStream(stream))
