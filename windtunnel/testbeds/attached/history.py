"""The history of finished jobs on an existing cluster.

The history server knows all jobs. The history file of a job is readable for its user until the
history server moves it, so it is searched in the two folders where it can be, and nowhere else.
"""

from __future__ import annotations

import re
import time

from windtunnel.engines.hadoop.history import History
from windtunnel.engines.hadoop.webhdfs import WebHdfs
from windtunnel.engines.web import Through
from windtunnel.errors import DeploymentError
from windtunnel.hosts.base import Host

_JOB = re.compile(r"job_\d+_(\d+)")


class AttachedHistory(History):
    """Client of the history server of an existing cluster.

    Parameters
    ----------
    folders:
        The folder of new history files, and that of the others.
    user:
        The user of the jobs.
    """

    def __init__(
        self,
        through: Through,
        files: WebHdfs,
        host: Host,
        folders: tuple[str, str],
        user: str,
    ) -> None:
        super().__init__(("", 0), files, host, through=through)
        self._new, self._done = folders
        self._user = user

    def _search(self, job_id: str) -> str | None:
        found = _JOB.fullmatch(job_id)
        serial = f"{int(found[1]):09d}"[:6] if found else "000000"
        today = time.strftime("%Y/%m/%d")
        for folder in (f"{self._new}/{self._user}", f"{self._done}/{today}/{serial}"):
            try:
                hit = self._find(job_id, folder, depth=0)
            except DeploymentError:  # no permission: the history server has moved the file
                continue
            if hit:
                return hit
        return None
