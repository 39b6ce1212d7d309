"""Downloading locked jars from a Maven repository, with jgo.

jgo writes straight into its repository folder, so a killed process leaves half a
jar there. Each jar is therefore fetched into a staging repository, checked against
its SHA-256, flushed to disk, and only then moved to where it is looked for.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

import requests
from jgo.maven import MavenContext, PythonResolver

from windtunnel.engines.locks import LockedJar
from windtunnel.engines.progress import Progress
from windtunnel.engines.storage import flush_to_disk, sha256_of
from windtunnel.errors import SetupError

THREADS = 6
TIMEOUT_S = 30
"""Longest silence of the repository before a try counts as failed."""
PAUSES_S = (1.0, 3.0, 8.0)
"""Waits before the second, third and fourth try of a jar."""

REPOSITORY_VARIABLE = "WINDTUNNEL_MAVEN_REPO"


class _StoppedError(Exception):
    """Another jar failed or the user pressed Ctrl-C: this thread gives up too."""


def download(jars: Sequence[LockedJar], part: Path, progress: Progress) -> None:
    """Fetch ``jars`` into ``part/FOLDER/NAME``; every file there is whole and verified.

    Raises
    ------
    SetupError
        If the repository cannot be reached, does not have a jar, or sends one whose
        SHA-256 is not the lock's.
    OSError
        If the disk is full or cannot be written.
    """
    fetcher = _Fetcher(part, progress)
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="jar")
    try:
        largest_first = sorted(jars, key=lambda jar: -jar.size)
        for future in as_completed([pool.submit(fetcher.fetch, jar) for jar in largest_first]):
            future.result()
    finally:
        fetcher.stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


class _Fetcher:
    """Fetches single jars; one for all threads of a download."""

    def __init__(self, part: Path, progress: Progress) -> None:
        self.part = part
        self.progress = progress
        self.stop = threading.Event()
        mirror = os.environ.get(REPOSITORY_VARIABLE, "").strip().rstrip("/")
        self.context = MavenContext(
            resolver=PythonResolver(progress_callback=self._count),
            repo_cache=part / "staging",
            remote_repos={"mirror": mirror} if mirror else None,
            timeout=TIMEOUT_S,
        )

    def fetch(self, jar: LockedJar) -> None:
        """Fetch one jar with retries, verify it, and move it into its folder."""
        staged = self._fetch_with_retries(jar)
        got = sha256_of(staged)
        if got != jar.sha256:
            staged.unlink()
            raise SetupError(
                f"refused {jar.filename}: its SHA-256 is not the one in the lock file "
                f"(expected {jar.sha256}, got {got})",
                remedy="try again; if it stays so, a proxy or mirror alters downloads: "
                f"set {REPOSITORY_VARIABLE} to a Maven repository you trust",
            )
        target = self.part / jar.relative
        target.parent.mkdir(parents=True, exist_ok=True)
        flush_to_disk(staged)
        staged.replace(target)
        self.progress.jar(jar.filename)

    def _fetch_with_retries(self, jar: LockedJar) -> Path:
        component = self.context.project(jar.group, jar.artifact).at_version(jar.version)
        artifact = component.artifact(jar.classifier, "jar")
        staged = self.part / "staging" / component.path_prefix / jar.filename
        problem: Exception | None = None
        for pause in (0.0, *PAUSES_S):
            if self.stop.wait(pause):
                raise _StoppedError
            staged.unlink(missing_ok=True)
            try:
                return Path(artifact.resolve())
            except (requests.RequestException, RuntimeError) as failure:
                problem = failure
        raise SetupError(
            f"{jar.filename} cannot be fetched: {_reason(problem)}",
            remedy="check the network and the proxy (HTTPS_PROXY), or set "
            f"{REPOSITORY_VARIABLE} to the URL of a Maven repository you can reach; "
            "what was fetched so far is kept and the next run goes on from there",
        ) from problem

    @contextmanager
    def _count(self, filename: str, size: int) -> Iterator[Callable[[int], None]]:
        """Tell the progress about the bytes of one transfer; take them back if it breaks."""
        received = 0

        def update(count: int) -> None:
            nonlocal received
            if self.stop.is_set():
                raise _StoppedError
            received += count
            self.progress.advance(count)

        try:
            yield update
        except BaseException:
            self.progress.advance(-received)
            raise


def _reason(problem: Exception | None) -> str:
    """Why a jar could not be fetched, in a few words."""
    if isinstance(problem, requests.Timeout):
        return f"the Maven repository did not answer within {TIMEOUT_S} s"
    if isinstance(problem, requests.ConnectionError):
        return "the Maven repository cannot be reached or cut the connection"
    if isinstance(problem, RuntimeError):
        return "the Maven repository does not have it or refuses to give it"
    return f"{type(problem).__name__}: {problem}"
