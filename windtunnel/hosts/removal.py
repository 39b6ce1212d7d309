"""The removal of a deployment at its end, for signals that arrive meanwhile.

The handler of signals is that of the whole process, and so is this state.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Removal:
    """A removal that is running: what is removed, in words, and the longest time in seconds."""

    what: str
    limit_s: float


_running: list[Removal] = []


@contextmanager
def removing(what: str, limit_s: float) -> Iterator[None]:
    """State that a removal runs; a KeyboardInterrupt that ends it gets a note with ``what``.

    Parameters
    ----------
    what:
        What is removed, with the id of the deployment.
    limit_s:
        The longest time that the removal takes, in seconds.
    """
    removal = Removal(what, limit_s)
    _running.append(removal)
    try:
        yield
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(what)
        raise
    finally:
        _running.remove(removal)


def running_removal() -> Removal | None:
    """The removal that is running; None if there is none."""
    return _running[-1] if _running else None
