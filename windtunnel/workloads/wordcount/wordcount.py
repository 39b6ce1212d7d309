"""WordCount: the number of occurrences of each word of a text. CPU; without a combiner, shuffle.

For MapReduce it is Hadoop's example WordCount. For Pig it is a script of four statements that
splits words in the same way as the example (Java's ``StringTokenizer`` with its default
separators). The example always uses a combiner, which it sets in code, so that no setting can
disable it. Without a combiner, a program of Windtunnel runs the example's mapper and reducer.

Every word's count must equal that of an independent count without Hadoop: see
``client/count_words.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, PositiveInt

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun, found_copies
from windtunnel.engines.engine import own_programs
from windtunnel.engines.hadoop.job_counters import MAPS
from windtunnel.engines.hadoop.program import run_own_job
from windtunnel.engines.job_metrics import CPU_TIME
from windtunnel.engines.pig.engine import Pig
from windtunnel.results.metrics import MetricInfo, numbers
from windtunnel.results.record import Check, Verdict
from windtunnel.workloads.base import About, Demand, Execution, Workload
from windtunnel.workloads.client.count_words import text_files
from windtunnel.workloads.copies import misfits
from windtunnel.workloads.own_metrics import DATA_RATE, with_metrics, with_rate
from windtunnel.workloads.terasort.rows import TASK
from windtunnel.workloads.verdicts import check, verdict
from windtunnel.workloads.wordcount.result import WordCounts, read_counts
from windtunnel.workloads.wordcount.text import Text, TextParameters

_PHASE = "wordcount"
_COUNTED_BY = "a count of the text without Hadoop"
WORDS = MetricInfo("words", "count", "words of the text", _COUNTED_BY)
DISTINCT_WORDS = MetricInfo(
    "distinct_words", "count", "different words of the text", _COUNTED_BY, additive=False
)
BYTES_PER_CPU_SECOND = MetricInfo(
    "bytes_per_cpu_second",
    "bytes/s",
    "bytes of text per second of CPU time, summed over all tasks of all jobs",
    "size of the text, the engine's task counters",
    better="more",
    label="bytes per CPU second",
)
_EXAMPLE = "org.apache.hadoop.examples.WordCount"
_WITHOUT_COMBINER = "io.windtunnel.mapreduce.WordCountWithoutCombiner"
# Bytes that maps write per byte of generated text: without a combiner from REDUCE_SHUFFLE_BYTES at
# 1 MB, with one from FILE_BYTES_WRITTEN at 100 MB, with default settings of the job.
_PUT_OUT = 1.88
_COMBINED = 0.08
_SCRIPT = r"""SET default_parallel {reduces};
SET dfs.replication {replication};
SET pig.exec.nocombiner {nocombiner};
lines = LOAD '{source}' USING TextLoader() AS (line:chararray);
words = FOREACH lines GENERATE FLATTEN(TOKENIZE(line, ' \t\n\r\f')) AS word;
alike = GROUP words BY word;
counts = FOREACH alike GENERATE group, COUNT(words);
STORE counts INTO '{target}';
"""


class WordCountParameters(TextParameters):
    """Parameters of ``wordcount``."""

    task_counts: ClassVar[tuple[str, ...]] = ("reduces",)

    reduces: PositiveInt = Field(1, description="Reduce tasks.")
    combiner: bool = Field(True, description="Combine counts in the maps before the shuffle.")
    engine: Literal["mapreduce", "pig"] = Field(
        "mapreduce", description="Engine that counts the words."
    )

    def engines(self) -> tuple[str, ...]:
        """Pig, if it is the engine."""
        return (self.engine,) if self.engine == Pig.name else ()

    def own_program(self) -> bool:
        """Hadoop's example always combines."""
        return self.engine != Pig.name and not self.combiner


class WordCount(Workload[WordCountParameters]):
    """See the module's docstring."""

    name: ClassVar[str] = "wordcount"
    summary: ClassVar[str] = "count the words of a text with MapReduce or Pig (CPU, shuffle)"
    about: ClassVar[About] = About(
        stresses="processors; without a combiner also the maps' disks, the shuffle and sorting",
        metrics=(DATA_RATE, BYTES_PER_CPU_SECOND, WORDS, DISTINCT_WORDS, MAPS),
        example="wordcount-engines",
    )

    def __init__(self, parameters: WordCountParameters) -> None:
        super().__init__(parameters)
        self._text = Text(parameters)

    def phases(self) -> tuple[str, ...]:
        """The count."""
        return (_PHASE,)

    def check(self, cluster: Cluster) -> list[str]:
        """The cluster must have YARN and enough DataNodes; the user's own text must exist."""
        found = misfits(self.name, cluster, {"replication": self.parameters.replication})
        try:
            self._own_files()
        except ValueError as problem:
            found.append(f"workloads.{self.name}.text: {problem}")
        return found

    def data_bytes(self) -> int:
        """Bytes of the text; 0 if the user's own text cannot be read: see :meth:`check`."""
        wanted = self.parameters
        if wanted.path is None:
            return wanted.file_bytes * wanted.files
        try:
            return sum(path.stat().st_size for path in self._own_files())
        except (OSError, ValueError):
            return 0

    def demands(self, phase: str, workers: int) -> Demand:
        """Bytes of the text, read locally, and of the map output: written, read and shuffled."""
        size = float(self.data_bytes())
        put_out = size * (_COMBINED if self.parameters.combiner else _PUT_OUT)
        return Demand(size + put_out, put_out, put_out * (workers - 1) / workers)

    def shared_bytes(self) -> Mapping[str, float]:
        """The text."""
        return {self._text.name: float(self.data_bytes() * self.parameters.replication)}

    def job_settings(self) -> Iterable[tuple[str, str]]:
        """Those of the counting job."""
        wanted = self.parameters
        return [
            ("dfs.replication", str(wanted.replication)),
            ("mapreduce.job.reduces", str(wanted.reduces)),
        ]

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Provide the text, count it, copy it to HDFS; start the engine."""
        self._text.provide(deployment, execution)
        if self.parameters.engine == Pig.name:
            _pig(deployment)

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Count; raises TrialInvalidError if a job fails."""
        wanted, deadline_s = self.parameters, execution.deadline_s
        source, target = self._text.folder(execution), _output(execution)
        settings = dict(self.job_settings())
        if wanted.engine == Pig.name:
            script = self._script(source, target)
            between = f"{execution.folder}/pig"
            run = _pig(deployment).run(phase, script, between, deadline_s)
        elif wanted.combiner:
            argv = [_EXAMPLE, source, target]
            run = deployment.run_job(phase, argv, settings, deadline_s=deadline_s)
        else:
            argv = [_WITHOUT_COMBINER, source, target]
            run = run_own_job(own_programs(deployment), phase, argv, settings, deadline_s)
        return self._with_figures(run)

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if all counts are right, and the combiner was used as configured."""
        run, known = execution.runs[_PHASE], self._text.known
        digest = self._text.digest_now(deployment, execution)
        found = read_counts(deployment, _output(execution))
        checks = [
            check("text (SHA-256)", self._text.digest, digest),
            self._check_input(deployment, execution),
            *_check_counts(WordCounts(known.words, known.distinct, known.counts), found),
            self._check_combiner(run),
        ]
        if self.parameters.engine == "mapreduce":
            got = run.counters.get(f"{TASK}:MAP_OUTPUT_RECORDS", "unknown")
            checks.append(check("words by MAP_OUTPUT_RECORDS", str(known.words), str(got)))
        return verdict(checks)

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove the trial's folder; keep the text for later trials."""
        deployment.files.delete(execution.folder)

    def _own_files(self) -> list[Path]:
        """The user's own files, none for a generated text; ValueError if they cannot be used."""
        path = self.parameters.path
        return text_files(path) if path else []

    def _script(self, source: str, target: str) -> str:
        wanted = self.parameters
        return _SCRIPT.format(
            reduces=wanted.reduces,
            replication=wanted.replication,
            nocombiner=str(not wanted.combiner).lower(),
            source=source,
            target=target,
        )

    def _with_figures(self, run: JobRun) -> JobRun:
        known = self._text.known
        cpu = run.phase.metrics.get(CPU_TIME.name)
        rate = known.bytes / cpu.value if cpu is not None and cpu.value > 0 else None
        found = {WORDS: known.words, DISTINCT_WORDS: known.distinct, BYTES_PER_CPU_SECOND: rate}
        return with_rate(with_metrics(run, numbers(found)), DATA_RATE, known.bytes)

    def _check_input(self, deployment: Deployment, execution: Execution) -> Check:
        held = deployment.files.list_files(self._text.folder(execution))
        total = sum(file.length_bytes for file in held)
        known, copies = self._text.known, deployment.expected_copies(self.parameters.replication)
        return check(
            "stored text",
            f"{known.bytes} bytes in {known.files} files with {copies}",
            f"{total} bytes in {len(held)} files with {found_copies(held)}",
        )

    def _check_combiner(self, run: JobRun) -> Check:
        """A check of whether the combiner ran: it has read records if it did."""
        words = {True: "used", False: "not used"}
        read = run.counters.get(f"{TASK}:COMBINE_INPUT_RECORDS")
        got = "unknown" if read is None else words[read > 0]
        return check("combiner by COMBINE_INPUT_RECORDS", words[self.parameters.combiner], got)


def _check_counts(wanted: WordCounts, found: WordCounts) -> list[Check]:
    return [
        check("words", str(wanted.words), str(found.words)),
        check("distinct words", str(wanted.distinct), str(found.distinct)),
        check("counts of all words (SHA-256)", wanted.digest, found.digest),
    ]


def _output(execution: Execution) -> str:
    return f"{execution.folder}/counts"


def _pig(deployment: Deployment) -> Pig:
    return deployment.engine(Pig)
