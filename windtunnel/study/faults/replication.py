"""The times at which a loss of replicas was noticed and all blocks were fully replicated."""

from __future__ import annotations

from typing import Final

from windtunnel.engines.faults import Copies

_SILENT_S: Final = 10.0
"""If a request takes as long, the master was away meanwhile: others answer within a second."""


class Recovery:
    """Evaluates the states of replication that the storage's master reports, in the order of time.

    ``noticed_s`` is the time at which the loss was noticed, ``whole_s`` that of full replication,
    both in seconds since the fault; None until the event happens.

    Parameters
    ----------
    before:
        The state just before the fault.
    sure_s:
        Seconds for which no replica may be missing until the blocks count as fully replicated.
    """

    def __init__(self, before: Copies, sure_s: float) -> None:
        self.noticed_s: float | None = None
        self.whole_s: float | None = None
        self._before = before
        self._sure_s = sure_s
        self._good_since: float | None = None
        self._silent_since: float | None = None
        self._lost = False

    def look(
        self, at_s: float, copies: Copies | None, *, undone: bool, took_s: float = 0.0
    ) -> None:
        """Add one reported state, requested at ``at_s`` and answered ``took_s`` later.

        ``undone`` states whether the fault was undone before the request. The master reports no
        missing replica until it notices the loss, so that such a report proves nothing. After the
        fault was undone, all hosts must be back. A loss that is noticed after that resets
        ``whole_s``. One request without an answer proves nothing; two in succession, or one that
        takes long with or without an answer, are a master that is away.
        """
        self._notice(at_s, copies, undone=undone, took_s=took_s)
        at_s = round(at_s + took_s, 3)
        all_back = copies is not None and copies.holders >= self._before.holders
        known = all_back if undone else self.noticed_s is not None
        if copies is None or not known or copies.wanting or not copies.serving:
            self._good_since = None
            return
        if self._good_since is None:
            self._good_since = at_s
        if self.whole_s is None and at_s - self._good_since >= self._sure_s:
            self.whole_s = self._good_since

    def _notice(self, at_s: float, copies: Copies | None, *, undone: bool, took_s: float) -> None:
        """Note when the master went away, or first reported fewer hosts or a lost service."""
        if copies is None:
            again = self._silent_since is not None
            self._silent_since = at_s if self._silent_since is None else self._silent_since
            if self.noticed_s is None and (again or took_s >= _SILENT_S):
                self.noticed_s = self._silent_since
            return
        since, self._silent_since = self._silent_since, None
        if self.noticed_s is None and took_s >= _SILENT_S:
            self.noticed_s = at_s if since is None else since
        at_s = round(at_s + took_s, 3)
        # after the end of the fault, a restarted host is waited for although nobody missed it
        stopped = self._before.serving and not copies.serving and not undone
        if stopped and self.noticed_s is None:
            self.noticed_s = at_s
        if copies.holders < self._before.holders and not self._lost:
            self._lost, self.whole_s, self._good_since = True, None, None
            self.noticed_s = at_s if self.noticed_s is None else self.noticed_s
