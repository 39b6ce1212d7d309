"""A cluster on which words are counted in memory: by the example, by ours, by Pig."""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.bare import ClientDeployment
from tests.support.mock import job_run
from windtunnel.engines.deployment import FileStatus, JobRun
from windtunnel.workloads.client import count_words, make_text

TASK = "org.apache.hadoop.mapreduce.TaskCounter"
_SPLIT = re.compile(rb"[ \t\n\r\f]+")


class CountingCluster(ClientDeployment):
    """HDFS is a dictionary, programs run here. ``jobs`` tells what counted, and its settings."""

    id = "wt-counting"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "client")
        self.held: dict[str, bytes] = {}
        self.copies = 0
        self.puts = 0
        self.jobs: list[tuple[str, Mapping[str, str]]] = []

    # -- the client ----------------------------------------------------------------------

    def run_on_client(self, name: str, argv: Sequence[str], **_: Any) -> str:
        """Our programs run in this process: starting each would take most of the time."""
        program, words = argv[2], list(argv[3:])
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            assert not {p.__file__: p for p in (make_text, count_words)}[program].main(words)
        return told.getvalue()

    def put(self, sources: Sequence[Path], folder: str, *, replication: int, **_: Any) -> JobRun:
        self.puts += 1
        self.copies = replication
        for source in sources:
            self.held[f"{folder}/{source.name}"] = source.read_bytes()
        return job_run("put", 1.0)

    def get(self, *_: Any, **__: Any) -> JobRun:
        raise NotImplementedError

    # -- HDFS ----------------------------------------------------------------------------

    def list_files(self, path: str) -> list[FileStatus]:
        return [
            FileStatus(name, len(data), self.copies)
            for name, data in self.held.items()
            if name.rpartition("/")[0] == path
        ]

    def read(self, path: str, limit_bytes: int = 1 << 20) -> bytes:
        return self.held[path][:limit_bytes]

    def delete(self, path: str) -> None:
        for name in [name for name in self.held if name.startswith(f"{path}/")]:
            del self.held[name]

    # -- what counts ---------------------------------------------------------------------

    def run_job(
        self, phase: str, argv: Sequence[str], settings: Mapping[str, str], **_: Any
    ) -> JobRun:
        return self.count(argv[0], argv[1], argv[2], settings)

    def engine(self, kind: Any) -> Any:
        return self

    def run(self, phase: str, script: str, folder: str, deadline_s: float) -> JobRun:
        """A script of Pig."""
        source, target = re.findall(r"(?:LOAD|INTO) '([^']+)'", script)
        settings = dict(re.findall(r"^SET (\S+) (\S+);", script, re.MULTILINE))
        return self.count("pig", source, target, settings)

    def count(self, who: str, source: str, target: str, settings: Mapping[str, str]) -> JobRun:
        self.jobs.append((who, settings))
        texts = [data for name, data in self.held.items() if name.startswith(f"{source}/")]
        words = Counter(word for data in texts for word in _SPLIT.split(data) if word)
        reduces = int(settings.get("mapreduce.job.reduces", settings.get("default_parallel", 0)))
        parts: list[list[bytes]] = [[] for _ in range(reduces)]
        for word in sorted(words):
            parts[len(word) % reduces].append(b"%s\t%d\n" % (word, words[word]))
        for number, lines in enumerate(parts):
            self.held[f"{target}/part-r-{number:05d}"] = b"".join(lines)
        self.held[f"{target}/_SUCCESS"] = b""
        combined = "Without" not in who and settings.get("pig.exec.nocombiner") != "true"
        counters = {
            f"{TASK}:MAP_OUTPUT_RECORDS": words.total(),
            f"{TASK}:COMBINE_INPUT_RECORDS": words.total() if combined else 0,
        }
        return job_run("wordcount", 10.0, counters)
