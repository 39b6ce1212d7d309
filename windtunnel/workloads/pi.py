"""Pi by a quasi-Monte Carlo sum (Hadoop's example ``QuasiMonteCarlo``): processors, nothing else.

Each map counts how many points of the two-dimensional Halton sequence lie within a circle, one
reducer adds up. The bytes that move are a few hundred.

The estimate is checked against pi. Halton points lie more evenly than random ones, so their
error is below that of as many random points: three standard errors of plain random sampling,
``3 * sqrt(pi * (4 - pi) / N)``, is a bound with a wide margin (Niederreiter, Random Number
Generation and Quasi-Monte Carlo Methods, SIAM 1992, chapters 1 and 3; the tests compare both up
to a million points). Because a wrong number of points could still give a good estimate, the
job's counters must show every map, and the estimate must be a whole number of points.
"""

from __future__ import annotations

import math
import re
from typing import ClassVar

from pydantic import Field, PositiveInt

from windtunnel.cluster import Cluster
from windtunnel.engines.deployment import Deployment, JobRun
from windtunnel.results.record import Check, Verdict
from windtunnel.workloads.base import About, Demand, Execution, Parameters
from windtunnel.workloads.figures import with_rate
from windtunnel.workloads.verdicts import check, verdict

_MAIN = "org.apache.hadoop.examples.QuasiMonteCarlo"
_TASK = "org.apache.hadoop.mapreduce.TaskCounter"
_ESTIMATE = re.compile(r"Estimated value of Pi is ([0-9]+(?:\.[0-9]+)?)")
STANDARD_ERRORS = 3.0


class PiParameters(Parameters):
    """Parameters of ``pi``."""

    amounts: ClassVar[tuple[str, ...]] = ("samples_per_map",)

    maps: PositiveInt = Field(description="Map tasks.")
    samples_per_map: PositiveInt = Field(description="Points that each map takes.")


class Pi:
    """See the module's docstring."""

    name: ClassVar[str] = "pi"
    summary: ClassVar[str] = "estimate pi from points in a square (CPU alone)"
    about: ClassVar[About] = About(
        stresses="processors, and the start-up of tasks",
        metrics={"point_rate": "points of all maps per second of the job"},
        example="screening-pi",
    )
    parameters_type: ClassVar[type[Parameters]] = PiParameters

    def __init__(self, parameters: Parameters) -> None:
        assert isinstance(parameters, PiParameters)
        self.parameters = parameters

    def phases(self) -> tuple[str, ...]:
        """One job."""
        return ("pi",)

    def check(self, cluster: Cluster) -> list[str]:
        """YARN must be there."""
        if not cluster.role_counts().get("nodemanager"):
            return ["workloads.pi needs YARN, and the cluster has no nodemanagers"]
        return []

    def data_bytes(self) -> int:
        """No data set: maps get two numbers each."""
        return 0

    def demands(self, phase: str, workers: int) -> Demand:
        """Nothing worth counting is read, written or sent."""
        return Demand()

    def prepare(self, deployment: Deployment, execution: Execution) -> None:
        """Nothing."""

    def run_phase(self, phase: str, deployment: Deployment, execution: Execution) -> JobRun:
        """Run the job; raises TrialInvalidError if it fails."""
        # The program keeps its files below the user's home folder: that is the trial's here.
        settings = {"dfs.user.home.dir.prefix": execution.folder}
        argv = [_MAIN, str(self.parameters.maps), str(self.parameters.samples_per_map)]
        run = deployment.run_job(phase, argv, settings, deadline_s=execution.deadline_s)
        return with_rate(run, "point_rate", self.points, "1/s")

    def verify(self, deployment: Deployment, execution: Execution) -> Verdict:
        """Valid if the estimate is near enough to pi and every map took part."""
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
        """Points of all maps."""
        return self.parameters.maps * self.parameters.samples_per_map

    def _check_estimate(self, found: list[str]) -> Check:
        bound = error_bound(self.points)
        got = found[0] if len(found) == 1 else "no estimate"
        near = len(found) == 1 and abs(float(found[0]) - math.pi) <= bound
        expected = f"{math.pi:.6f} within {bound:.2g}"
        return Check(name="estimate of pi", passed=near, expected=expected, got=got)

    def _check_points(self, found: list[str]) -> Check:
        """The estimate is four times the points within the circle, over all points."""
        name, expected = "points within the circle", "a whole number"
        if len(found) != 1:
            return Check(name=name, passed=False, expected=expected, got="no estimate")
        inside = float(found[0]) * self.points / 4
        # a double holds 15 digits
        whole = abs(inside - round(inside)) <= max(1e-6, inside * 1e-14)
        return Check(name=name, passed=whole, expected=expected, got=f"{inside:.6f}")


def error_bound(points: int) -> float:
    """Largest error of the estimate that is accepted: see the module's docstring."""
    return STANDARD_ERRORS * math.sqrt(math.pi * (4 - math.pi) / points)
