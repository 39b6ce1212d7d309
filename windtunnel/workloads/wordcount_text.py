"""The text of ``wordcount``: made on the client's disk or the user's own; counted; put into HDFS.

What was counted once is known for all later trials of this program with the same text, and a
text that is on a deployment's HDFS is used again there.
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
from windtunnel.engines.deployment import Deployment, Transfers
from windtunnel.errors import TrialInvalidError
from windtunnel.workloads import counted_text
from windtunnel.workloads.base import Execution, Parameters

# not imported: it loads NumPy
_MAKER = Path(__file__).with_name("made_text.py")
_STREAMS = 4


class TextParameters(Parameters):
    """Where a text comes from."""

    amounts: ClassVar[tuple[str, ...]] = ("size",)

    size: ByteSize | None = Field(None, description="Text that is made: all files together.")
    files: PositiveInt = Field(1, description="Files of equal size that it is made as.")
    seed: NonNegativeInt = Field(1, description="Another seed makes another text.")
    text: str | None = Field(
        None, description="A text file of the client's disk, or a folder of them; instead of size."
    )
    replication: PositiveInt = Field(description="Replicas of each block, of text and result.")

    @model_validator(mode="after")
    def _one_source(self) -> TextParameters:
        if (self.size is None) == (self.text is None):
            raise ValueError("give either size or text, and only one of them")
        if self.text is not None and {"files", "seed"} & self.model_fields_set:
            raise ValueError("files and seed are for a text that is made: leave them out with text")
        if self.size is not None and self.size < self.files:
            raise ValueError("size must be at least one byte a file")
        return self

    @property
    def path(self) -> Path | None:
        """The user's own text; None: it is made."""
        return None if self.text is None else Path(self.text).expanduser().absolute()

    @property
    def file_bytes(self) -> int:
        """Bytes of each file that is made."""
        return int(self.size or 0) // self.files


@dataclass(frozen=True)
class Counted:
    """What an independent count found: see ``counted_text.py``."""

    files: int
    bytes: int
    words: int
    distinct: int
    counts: str


class Text:
    """The text of one trial. ``known`` is what was counted in it, ``digest`` its SHA-256."""

    _counted: ClassVar[dict[str, Counted]] = {}
    _placed: ClassVar[dict[str, str]] = {}
    _own: ClassVar[dict[Path, str]] = {}

    def __init__(self, parameters: TextParameters) -> None:
        self.parameters = parameters
        self.digest = ""

    @property
    def known(self) -> Counted:
        """What was counted in it; only after :meth:`provide`."""
        return self._counted[self.digest]

    def folder(self, execution: Execution) -> str:
        """Where it lies in HDFS."""
        wanted = self.parameters
        if wanted.path is None:
            name = f"{wanted.file_bytes}-{wanted.files}-{wanted.seed}"
        else:
            name = hashlib.sha256(str(wanted.path).encode()).hexdigest()[:12]
        return f"{execution.shared}/text-{name}-{wanted.replication}"

    def provide(self, deployment: Deployment, execution: Execution) -> None:
        """Make it if it is to be made, count it, put it into HDFS, each if that was not done.

        Raises TrialInvalidError if it cannot be read or is no plain text.
        """
        client = _client(deployment)
        source, wanted = self._source(client), self.parameters
        if wanted.path is None and not source.is_dir():
            numbers = [str(wanted.files), str(wanted.file_bytes), str(wanted.seed)]
            _run(client, str(_MAKER), ["make", str(source), *numbers], execution)
        found = self._look(client, execution)
        self.digest = found["digest"]
        if wanted.path and self._own.setdefault(wanted.path, self.digest) != self.digest:
            raise TrialInvalidError(f"{wanted.path} is another text than in an earlier trial")
        if self.digest not in self._counted:
            told = _run(client, counted_text.__file__, ["count", str(source)], execution)
            self._counted[self.digest] = Counted(**told)
        folder = self.folder(execution)
        place = f"{deployment.id} {folder}"
        if self._placed.get(place) != self.digest:
            deployment.files.delete(folder)
            paths = [Path(path) for path in found["files"]]
            client.put(
                paths,
                folder,
                streams=min(_STREAMS, len(paths)),
                replication=wanted.replication,
                deadline_s=execution.deadline_s,
            )
            self._placed[place] = self.digest

    def digest_now(self, deployment: Deployment, execution: Execution) -> str:
        """Its SHA-256 as it is now: the user's own may have changed."""
        return str(self._look(_client(deployment), execution)["digest"])

    def _look(self, client: Transfers, execution: Execution) -> dict[str, Any]:
        words = ["digest", str(self._source(client))]
        return _run(client, counted_text.__file__, words, execution)

    def _source(self, client: Transfers) -> Path:
        wanted = self.parameters
        made = f"text-{wanted.file_bytes}-{wanted.files}-{wanted.seed}"
        return wanted.path or client.client_folder / made


def _client(deployment: Deployment) -> Transfers:
    if not isinstance(deployment, Transfers):
        raise TrialInvalidError("this testbed has no client that could put a text")
    return deployment


def _run(client: Transfers, program: str, words: list[str], execution: Execution) -> dict[str, Any]:
    """Run one of our programs on the client; what it told, which may be nothing."""
    argv = [sys.executable, "-P", program, *words]
    told = client.run_on_client(
        f"text-{words[0]}", argv, deadline_s=execution.deadline_s, reads=[Path(words[1])]
    )
    rows = [row for row in told.splitlines() if row.startswith("{")]
    found: dict[str, Any] = json.loads(rows[-1]) if rows else {}
    return found
