"""When a loss of copies was noticed, and when every block was whole again."""

from __future__ import annotations

from windtunnel.engines.faulty import Copies


class Wholeness:
    """Judges looks at the file system's master, in the order of time.

    ``noticed_s`` and ``whole_s`` are seconds since the fault, None until seen.

    Parameters
    ----------
    before:
        What the master said just before the fault.
    sure_s:
        For how long nothing must be missing before that is believed.
    """

    def __init__(self, before: Copies, sure_s: float) -> None:
        self.noticed_s: float | None = None
        self.whole_s: float | None = None
        self._before = before
        self._sure_s = sure_s
        self._good_since: float | None = None

    def look(self, at_s: float, copies: Copies | None, *, undone: bool) -> None:
        """Take in one look; ``undone``: whether what was broken runs again.

        As long as the master has not noticed a loss it misses nothing, and that is no proof.
        Once the fault is undone, all holders must be back. A loss that is noticed later than
        that takes back what was believed.
        """
        all_back = copies is not None and copies.holders >= self._before.holders
        if not all_back and self.noticed_s is None:
            self.noticed_s = at_s
            self.whole_s = None  # what seemed whole before was a loss not noticed yet
        known = all_back if undone else self.noticed_s is not None
        if copies is None or not known or copies.wanting or not copies.serving:
            self._good_since = None
            return
        if self._good_since is None:
            self._good_since = at_s
        if self.whole_s is None and at_s - self._good_since >= self._sure_s:
            self.whole_s = self._good_since
