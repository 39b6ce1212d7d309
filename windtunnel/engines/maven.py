"""Downloading locked jars from a Maven repository, with jgo.

jgo writes directly into its repository folder, so a killed process leaves a partial
jar there. Each jar is therefore fetched into a staging repository, checked against
its SHA-256, flushed to disk, and then moved to its final folder.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import requests
from jgo.maven import Artifact, MavenContext, PythonResolver
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from windtunnel import durable
from windtunnel.engines.digest import sha256_of
from windtunnel.engines.locks import LockedJar
from windtunnel.engines.progress import Progress
from windtunnel.errors import SetupError

THREADS = 6
TIMEOUT_S = 30
"""Longest wait for data from the repository before an attempt fails."""
PAUSES_S = (1.0, 3.0, 8.0)
"""Waits before the second, third and fourth attempt to fetch a jar."""

_BUSY = Retry(3, connect=0, read=0, status_forcelist=[429], backoff_factor=1, raise_on_status=False)
"""Three more requests, after the time that the repository names, if it limits their rate."""
_CHUNK_BYTES = 256 << 10

REPOSITORY_VARIABLE = "WINDTUNNEL_MAVEN_REPO"


class _StoppedError(Exception):
    """Another jar failed or the user pressed Ctrl-C: this thread stops too."""


def download(jars: Sequence[LockedJar], part: Path, progress: Progress) -> None:
    """Fetch ``jars`` into ``part/FOLDER/NAME``; every file there is complete and verified.

    Raises
    ------
    SetupError
        If the repository cannot be reached, does not have a jar, or sends a jar whose
        SHA-256 differs from that in the lock file.
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


class _Resolver(PythonResolver):
    """jgo's resolver, with one session per thread: its connections serve all jars.

    jgo opens two connections for each jar, the second one for a checksum that the lock file has in
    a stronger form. The handshakes of TLS took most of the CPU time of a download.
    """

    def __init__(self, count: Callable[[str, int], AbstractContextManager[Callable[[int], None]]]):
        super().__init__()
        self._count = count
        self._threads = threading.local()

    def _session(self) -> requests.Session:
        if not hasattr(self._threads, "session"):
            self._threads.session = requests.Session()
            for scheme in ("http://", "https://"):
                self._threads.session.mount(scheme, HTTPAdapter(max_retries=_BUSY))
        found: requests.Session = self._threads.session
        return found

    def download(self, artifact: Artifact) -> Path:
        (repository,) = artifact.context.remote_repos.values()
        url = f"{repository}/{artifact.component.path_prefix.as_posix()}/{artifact.filename}"
        target = artifact.cached_path
        assert target is not None
        timeout_s = artifact.context.timeout
        with self._session().get(url, stream=True, timeout=timeout_s) as response:
            if response.status_code != requests.codes.ok:
                raise RuntimeError(f"HTTP status {response.status_code}")
            target.parent.mkdir(parents=True, exist_ok=True)
            size = int(response.headers.get("content-length", 0))
            with self._count(artifact.filename, size) as received, target.open("wb") as file:
                for chunk in response.iter_content(_CHUNK_BYTES):
                    file.write(chunk)
                    received(len(chunk))
        return target


class _Fetcher:
    """Fetches single jars; all threads of a download use one instance."""

    def __init__(self, part: Path, progress: Progress) -> None:
        self.part = part
        self.progress = progress
        self.stop = threading.Event()
        mirror = os.environ.get(REPOSITORY_VARIABLE, "").strip().rstrip("/")
        self.context = MavenContext(
            resolver=_Resolver(self._count),
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
                remedy="try again; if the error repeats, a proxy or mirror alters downloads: "
                f"set {REPOSITORY_VARIABLE} to a Maven repository you trust",
            )
        target = self.part / jar.relative
        target.parent.mkdir(parents=True, exist_ok=True)
        durable.move_into_place(staged, target)
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
            except RuntimeError as failure:
                problem = failure
            except OSError as failure:
                if failure.errno is not None:  # a disk error; errors of jgo's requests have none
                    raise
                problem = failure
        raise SetupError(
            f"{jar.filename} cannot be fetched: {_reason(problem)}",
            remedy="check the network and the proxy (HTTPS_PROXY), or set "
            f"{REPOSITORY_VARIABLE} to the URL of a Maven repository you can reach; "
            "the fetched jars are kept and the next run continues from there",
        ) from problem

    @contextmanager
    def _count(self, filename: str, size: int) -> Iterator[Callable[[int], None]]:
        """Report the bytes of one transfer to the progress; subtract them if it fails."""
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
    if isinstance(problem, RuntimeError):
        return "the Maven repository does not have it or refuses to send it"
    if "timed out" in str(problem).lower():  # also if the transfer stalls later
        return f"the Maven repository did not answer within {TIMEOUT_S} s"
    return "the Maven repository cannot be reached or closed the connection"
