"""WordCount: how often each word of a text occurs. CPU, and the shuffle without a combiner.

As MapReduce it is Hadoop's example of that name; as Pig a script of four statements that splits
words exactly as the example does (Java's ``StringTokenizer`` with its default separators). The
example always combines; without a combiner its mapper and reducer are run by a program of ours,
since no setting takes away what a program sets in code.

Every word's count must equal the one of a count that has nothing of Hadoop: see
``counted_text.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, PositiveInt

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.engines.engine import HadoopCluster, WithEngines
from windtunnel.engines.hadoop.program import run_own_job
from windtunnel.engines.pig.engine import Pig
from windtunnel.errors import TrialInvalidError
from windtunnel.results.record import Check, Metric, Verdict
from windtunnel.workloads.base import About, Demand, Execution, Parameters
from windtunnel.workloads.counted_text import text_files
from windtunnel.workloads.figures import with_metrics, with_rate
from windtunnel.workloads.rows import TASK, misfits
from windtunnel.workloads.verdicts import check, verdict
from windtunnel.workloads.wordcount_result import WordCounts, read_counts
from windtunnel.workloads.wordcount_text import Text, TextParameters

_PHASE = "wordcount"
_EXAMPLE = "org.apache.hadoop.examples.WordCount"
_OURS = "io.windtunnel.mapreduce.WordCountWithoutCombiner"
# What maps write per byte of made text: without a combiner by REDUCE_SHUFFLE_BYTES at 1 MB, with
# one by FILE_BYTES_WRITTEN at 100 MB, settings of the job left out.
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

    reduces: PositiveInt = Field(1, description="Reduce tasks.")
    combiner: bool = Field(True, description="Add up on the map's side before the shuffle.")
    engine: Literal["mapreduce", "pig"] = Field("mapreduce", description="What counts.")

    def engines(self) -> tuple[str, ...]:
        """Pig, if it counts."""
        return (self.engine,) if self.engine == Pig.name else ()


class WordCount:
    """See the module's docstring."""

    name: ClassVar[str] = "wordcount"
    summary: ClassVar[str] = "count the words of a text, by MapReduce or Pig (CPU, shuffle)"
    about: ClassVar[About] = About(
        stresses="processors; without a combiner also the maps' disks, the shuffle and sorting",
        metrics={
            "data_rate": "bytes of text per second of the job's elapsed time",
            "bytes_per_cpu_second": "bytes of text per second of CPU time, summed over all tasks "
            "of all jobs",
            "words": "words of the text",
            "distinct_words": "words that differ",
            "maps": "map tasks; Pig takes several small files for one",
        },
        example="wordcount-engines",
    )
    parameters_type: ClassVar[type[Parameters]] = WordCountParameters

    def __init__(self, parameters: Parameters) -> None:
        assert isinstance(parameters, WordCountParameters)
        self.parameters = parameters
        self._text = Text(parameters)

    def phases(self) -> tuple[str, ...]:
        """Counting."""
        return (_PHASE,)

    def check(self, cluster: Cluster) -> list[str]:
        """YARN must be there, DataNodes for all replicas, and the user's own text."""
        found = misfits(self.name, cluster, {"replication": self.parameters.replication})
        try:
            self._own_files()
        except ValueError as problem:
            found.append(f"workloads.{self.name}.text: {problem}")
        return found

    def data_bytes(self) -> int:
        """Bytes of the text; 0 where it is the user's own and cannot be read: see check."""
        wanted = self.parameters
        if wanted.path is None:
            return wanted.file_bytes * wanted.files
        try:
            return sum(path.stat().st_size for path in self._own_files())
        except (OSError, ValueError):
            return 0

    def demands(self, phase: str, workers: int) -> Demand:
        """The text is read where it lies; what maps put out is written, read and shuffled."""
        size = float(self.data_bytes())
        put_out = size * (_COMBINED if self.parameters.combiner else _PUT_OUT)
        return Demand(size + put_out, put_out, put_out * (workers - 1) / workers)

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Make or look at the text, count it, put it into HDFS; start the engine."""
        self._text.provide(deployment, execution)
        if self.parameters.engine == Pig.name:
            _pig(deployment)

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Count; raises TrialInvalidError if a job fails."""
        wanted, deadline_s = self.parameters, execution.deadline_s
        source, target = self._text.folder(execution), _output(execution)
        settings = {
            "dfs.replication": str(wanted.replication),
            "mapreduce.job.reduces": str(wanted.reduces),
        }
        if wanted.engine == Pig.name:
            script = self._script(source, target)
            between = f"{execution.folder}/pig"
            run = _pig(deployment).run(phase, script, between, deadline_s)
        elif wanted.combiner:
            argv = [_EXAMPLE, source, target]
            run = deployment.run_job(phase, argv, settings, deadline_s=deadline_s)
        else:
            argv = [_OURS, source, target]
            run = run_own_job(_hadoop(deployment), phase, argv, settings, deadline_s)
        return self._with_figures(run)

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if every word was counted as often as it occurs, in the way that was asked for."""
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
        """Remove the trial's folder; the text stays for later trials."""
        deployment.files.delete(execution.folder)

    def _own_files(self) -> list[Path]:
        """The user's own files, none for a text that is made; ValueError if they cannot be used."""
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
        metrics = {
            "words": Metric(value=known.words, unit="count"),
            "distinct_words": Metric(value=known.distinct, unit="count"),
        }
        cpu = run.phase.metrics.get("cpu_time")
        if cpu is not None and cpu.value > 0:
            rate = known.bytes / cpu.value
            metrics["bytes_per_cpu_second"] = Metric(value=rate, unit="bytes/s")
        return with_rate(with_metrics(run, metrics), "data_rate", known.bytes, "bytes/s")

    def _check_input(self, deployment: Deployment, execution: Execution) -> Check:
        held = deployment.files.list_files(self._text.folder(execution))
        total = sum(file.length_bytes for file in held)
        copies = "/".join(sorted({str(file.replication) for file in held})) or "none"
        known, wanted = self._text.known, self.parameters.replication
        return check(
            "text on HDFS",
            f"{known.bytes} bytes in {known.files} files with replication {wanted}",
            f"{total} bytes in {len(held)} files with replication {copies}",
        )

    def _check_combiner(self, run: JobRun) -> Check:
        """A combiner that ran has read records."""
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
    if not isinstance(deployment, WithEngines):
        raise TrialInvalidError("this testbed cannot run Pig")
    return deployment.engine(Pig)


def _hadoop(deployment: Deployment) -> HadoopCluster:
    if not isinstance(deployment, HadoopCluster):
        raise TrialInvalidError("this testbed cannot run a program of Windtunnel's own")
    return deployment
