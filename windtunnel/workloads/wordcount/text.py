"""The text of ``wordcount``: generated or the user's own, counted, and copied to HDFS.

A text is counted once for all trials of this process, and copied once to the HDFS of each
deployment.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from windtunnel.cluster import ByteSize
from windtunnel.engines.deployment import Deployment
from windtunnel.errors import TrialInvalidError
from windtunnel.workloads.base import Execution, Parameters
from windtunnel.workloads.client import count_words

# not imported, because it loads NumPy
_MAKER = Path(count_words.__file__).with_name("make_text.py")
_STREAMS = 4


class TextParameters(Parameters):
    """The source of a text."""

    amounts: ClassVar[tuple[str, ...]] = ("size",)

    size: ByteSize | None = Field(None, description="Size of a generated text, all files together.")
    files: PositiveInt = Field(1, description="Number of generated files, of equal size.")
    seed: NonNegativeInt = Field(1, description="Seed of a generated text.")
    text: str | None = Field(
        None,
        description="A text file on the client's disk, or a folder of text files; instead of size.",
    )
    replication: PositiveInt = Field(description="Replicas of each block of text and result.")

    @model_validator(mode="after")
    def _one_source(self) -> TextParameters:
        if (self.size is None) == (self.text is None):
            raise ValueError("give either size or text, and only one of them")
        if self.text is not None and {"files", "seed"} & self.model_fields_set:
            raise ValueError("files and seed apply to a generated text: remove them or text")
        if self.size is not None and self.size < self.files:
            raise ValueError("size must be at least one byte per file")
        return self

    @property
    def path(self) -> Path | None:
        """The user's own text; None: the text is generated."""
        return None if self.text is None else Path(self.text).expanduser().absolute()

    @property
    def file_bytes(self) -> int:
        """Bytes of each generated file."""
        return int(self.size or 0) // self.files


@dataclass(frozen=True)
class Counted:
    """The result of an independent count: see ``count_words.py``."""

    files: int
    bytes: int
    words: int
    distinct: int
    counts: str


class Text:
    """The text of one trial. ``known`` are its counts, ``digest`` is its SHA-256."""

    def __init__(self, parameters: TextParameters) -> None:
        self.parameters = parameters
        self.digest = ""
        self._known: Counted | None = None

    @property
    def known(self) -> Counted:
        """What was counted in it; only after :meth:`provide`."""
        assert self._known is not None
        return self._known

    def folder(self, execution: Execution) -> str:
        """The folder of the text in HDFS."""
        return f"{execution.shared}/{self.name}"

    @property
    def name(self) -> str:
        """The name of its folder in HDFS."""
        wanted = self.parameters
        if wanted.path is None:
            name = f"{wanted.file_bytes}-{wanted.files}-{wanted.seed}"
        else:
            name = hashlib.sha256(str(wanted.path).encode()).hexdigest()[:12]
        return f"text-{name}-{wanted.replication}"

    def provide(self, deployment: Deployment, execution: Execution) -> None:
        """Generate the text if required, count it and copy it to HDFS, each only once.

        Raises TrialInvalidError if the text cannot be read or is not plain text.
        """
        source, wanted = self._source(deployment), self.parameters
        if wanted.path is None and not source.is_dir():
            numbers = [str(wanted.files), str(wanted.file_bytes), str(wanted.seed)]
            _run(deployment, str(_MAKER), ["make", str(source), *numbers], execution)
        found = self._look(deployment, execution)
        self.digest = found["digest"]
        first = execution.study.setdefault(("digest of a text", wanted.path), self.digest)
        if wanted.path and first != self.digest:
            raise TrialInvalidError(f"{wanted.path} is another text than in an earlier trial")

        def counted() -> Counted:
            reported = _run(deployment, count_words.__file__, ["count", str(source)], execution)
            return Counted(**reported)

        self._known = deployment.once(("words of a text", self.digest), counted)
        folder = self.folder(execution)
        placed = ("digest of the text in", folder)
        if deployment.cache.get(placed) != self.digest:
            deployment.files.delete(folder)
            paths = [Path(path) for path in found["files"]]
            deployment.put(
                paths,
                folder,
                streams=min(_STREAMS, len(paths)),
                replication=wanted.replication,
                deadline_s=execution.deadline_s,
            )
            deployment.cache[placed] = self.digest

    def digest_now(self, deployment: Deployment, execution: Execution) -> str:
        """Its SHA-256 as it is now: the user's own may have changed."""
        return str(self._look(deployment, execution)["digest"])

    def _look(self, client: Deployment, execution: Execution) -> dict[str, Any]:
        words = ["digest", str(self._source(client))]
        return _run(client, count_words.__file__, words, execution)

    def _source(self, client: Deployment) -> Path:
        wanted = self.parameters
        made = f"text-{wanted.file_bytes}-{wanted.files}-{wanted.seed}"
        return wanted.path or client.client_folder / made


def _run(
    client: Deployment, program: str, words: list[str], execution: Execution
) -> dict[str, Any]:
    """Run one of our programs on the client; its output, which may be empty."""
    argv = [sys.executable, "-P", program, *words]
    output = client.run_on_client(
        f"text-{words[0]}", argv, deadline_s=execution.deadline_s, reads=[Path(words[1])]
    )
    rows = [row for row in output.splitlines() if row.startswith("{")]
    found: dict[str, Any] = json.loads(rows[-1]) if rows else {}
    return found
