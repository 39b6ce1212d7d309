"""Pi by quasi-Monte Carlo integration (Hadoop's example ``QuasiMonteCarlo``): only processors.

Each map counts the points of the two-dimensional Halton sequence that are within a circle; one
reducer adds the counts. The job moves a few hundred bytes.

The estimate is compared with pi. Halton points are more evenly distributed than random points, so
the error is smaller than that of the same number of random points. Three standard errors of random
sampling, ``3 * sqrt(pi * (4 - pi) / N)``, are a bound with a wide margin (Niederreiter, Random
Number Generation and Quasi-Monte Carlo Methods, SIAM 1992, chapters 1 and 3; the tests compare
both up to a million points). A wrong number of points could still give a good estimate, so the
counters of the job must include every map, and the estimate must be a whole number of points.
"""

from __future__ import annotations

import math
import re
from typing import ClassVar

from pydantic import Field, PositiveInt

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.results.metrics import MetricInfo
from windtunnel.results.record import Check, Verdict
from windtunnel.workloads.base import About, Demand, Execution, Parameters, Workload
from windtunnel.workloads.own_metrics import with_rate
from windtunnel.workloads.verdicts import check, verdict

_MAIN = "org.apache.hadoop.examples.QuasiMonteCarlo"
_TASK = "org.apache.hadoop.mapreduce.TaskCounter"
_ESTIMATE = re.compile(r"Estimated value of Pi is ([0-9]+(?:\.[0-9]+)?)")
STANDARD_ERRORS = 3.0

POINT_RATE = MetricInfo(
    "point_rate",
    "1/s",
    "points of all maps per second of the job",
    "number of points, elapsed time of the job",
    better="more",
)


class PiParameters(Parameters):
    """Parameters of ``pi``."""

    amounts: ClassVar[tuple[str, ...]] = ("samples_per_map",)

    maps: PositiveInt = Field(description="Map tasks.")
    samples_per_map: PositiveInt = Field(description="Points of each map.")


class Pi(Workload[PiParameters]):
    """See the module's docstring."""

    name: ClassVar[str] = "pi"
    summary: ClassVar[str] = "estimate pi from points in a square (only CPU)"
    about: ClassVar[About] = About(
        stresses="processors, and the start-up of tasks",
        metrics=(POINT_RATE,),
        example="screening-pi",
    )

    def phases(self) -> tuple[str, ...]:
        """One job."""
        return ("pi",)

    def check(self, cluster: Cluster) -> list[str]:
        """The cluster must have YARN."""
        if not cluster.role_counts().get("nodemanager"):
            return ["workloads.pi needs YARN, and the cluster has no nodemanagers"]
        return []

    def data_bytes(self) -> int:
        """No data set: each map receives two numbers."""
        return 0

    def demands(self, phase: str, workers: int) -> Demand:
        """Almost nothing is read, written or sent."""
        return Demand()

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Nothing."""

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run the job; raises TrialInvalidError if it fails."""
        # The program writes below the user's home folder, which is the folder of the trial here.
        settings = {"dfs.user.home.dir.prefix": execution.folder}
        argv = [_MAIN, str(self.parameters.maps), str(self.parameters.samples_per_map)]
        run = deployment.run_job(phase, argv, settings, deadline_s=execution.deadline_s)
        return with_rate(run, POINT_RATE, self.points)

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if the estimate is close enough to pi and every map is counted."""
        run = execution.runs["pi"]
        found = _ESTIMATE.findall(run.output)
        checks = [self._check_estimate(found), self._check_points(found)]
        wanted = {"MAP_INPUT_RECORDS": 1, "REDUCE_INPUT_RECORDS": 2}  # per map: inside, outside
        for counter, each in wanted.items():
            name = f"maps by {counter}"
            expected = str(self.parameters.maps * each)
            got = str(run.counters.get(f"{_TASK}:{counter}", "unknown"))
            checks.append(check(name, expected, got))
        return verdict(checks)

    def clean(self, deployment: Deployment, execution: Execution) -> None:
        """Remove the trial's folder."""
        deployment.files.delete(execution.folder)

    @property
    def points(self) -> int:
        """The number of points of all maps."""
        return self.parameters.maps * self.parameters.samples_per_map

    def _check_estimate(self, found: list[str]) -> Check:
        bound = error_bound(self.points)
        got = found[0] if len(found) == 1 else "no estimate"
        near = len(found) == 1 and abs(float(found[0]) - math.pi) <= bound
        expected = f"{math.pi:.6f} within {bound:.2g}"
        return Check(name="estimate of pi", passed=near, expected=expected, got=got)

    def _check_points(self, found: list[str]) -> Check:
        """The estimate is four times the points within the circle, divided by all points."""
        name, expected = "points within the circle", "a whole number"
        if len(found) != 1:
            return Check(name=name, passed=False, expected=expected, got="no estimate")
        inside = float(found[0]) * self.points / 4
        # a double holds 15 digits
        whole = abs(inside - round(inside)) <= max(1e-6, inside * 1e-14)
        return Check(name=name, passed=whole, expected=expected, got=f"{inside:.6f}")


def error_bound(points: int) -> float:
    """The largest accepted error of the estimate: see the module's docstring."""
    return STANDARD_ERRORS * math.sqrt(math.pi * (4 - math.pi) / points)
