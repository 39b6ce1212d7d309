"""Settings of a study that have no effect, because the cluster declares their value final.

Source: API documentation of ``org.apache.hadoop.conf.Configuration``: no later file replaces a
final value. The option ``-D`` changes only the client: the application master and the tasks read
the site files of their node before ``job.xml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from windtunnel.audit.in_force import equal
from windtunnel.cluster.secrets import masked
from windtunnel.cluster.setting_values import whole
from windtunnel.cluster.settings import affects, deprecated, engine_of, text_of
from windtunnel.testbeds.attached.options import QUEUE
from windtunnel.testbeds.attached.site import Site
from windtunnel.testbeds.attached.task_limits import REDUCES, task_limits
from windtunnel.testbeds.base import PlannedTreatment, StudyRequest

# read by the client that submits a job, for which -D applies
_OF_CLIENT = re.compile(
    re.escape(QUEUE) + r"|yarn\.app\.mapreduce\.am\.((admin\.user\.)?env|(admin-)?command-opts)"
    r"|yarn\.app\.mapreduce\.(am\.resource|client|client-am)\..*|mapreduce\.am\.max-attempts"
    r"|mapreduce\.job\.(maps|(am\.)?node-label-expression|priority|tags)"
    r"|mapreduce\.(client|input\.fileinputformat)\..*|yarn\.client\..*"
    r"|mapreduce\.terasort\.output\.replication"
)
_STAGING = "yarn.app.mapreduce.am.staging-dir"
_ASK = "let the administrator of the cluster remove <final>"


def without_effect(request: StudyRequest, site: Site, containers: int) -> list[str]:
    """The settings of a study, of its workloads and of Windtunnel that final values replace.

    Parameters
    ----------
    containers:
        The allowed number of containers.
    """
    found = [
        text
        for treatment in request.treatments
        for text in (
            *_of_treatment(treatment, site),
            *_of_workloads(treatment, site),
            *_of_limits(treatment, site, containers),
        )
    ]
    entry = site.conf.entries.get(_STAGING)
    if entry is not None and entry.final:
        found.append(
            f"conf: {_STAGING} is final in {entry.source}, so that files of jobs would be outside "
            f"the folder of the study; {_ASK}"
        )
    return list(dict.fromkeys(found))


def _of_treatment(treatment: PlannedTreatment, site: Site) -> Iterator[str]:
    for given, value in treatment.cluster.settings.items():
        if affects(given) != "client" or engine_of(given):
            continue
        for name in deprecated().get(given, [given]):
            if words := _replaced(site, name, text_of(value)):
                yield (
                    f"settings.{given}: {masked(given, text_of(value))} does not apply in tasks "
                    f"and application masters: {words}; remove it from the study, or {_ASK}"
                )


def _of_workloads(treatment: PlannedTreatment, site: Site) -> Iterator[str]:
    for load in treatment.loads:
        for name, value in load.job_settings:
            if words := _replaced(site, name, value):
                yield (
                    f"workloads.{load.workload}: its jobs need {name} = {value}: {words}; change "
                    f"the workload, or {_ASK}"
                )


def _of_limits(treatment: PlannedTreatment, site: Site, containers: int) -> Iterator[str]:
    """The limits of concurrent tasks that a larger final value, or 0 for no limit, replaces."""
    for name, limit in _smallest_limits(treatment, site, containers).items():
        entry = site.conf.entries.get(name)
        if entry is None or not entry.final:
            continue
        final = whole(site.get(name)) or 0
        if final <= 0 or final > limit:
            yield (
                f"testbed.containers: the study limits its jobs by {name} = {limit}, and "
                f"{_words(site, name)}; {_ASK}"
            )


def _smallest_limits(treatment: PlannedTreatment, site: Site, containers: int) -> Mapping[str, int]:
    """The smallest limits of all jobs; each job has its own, which depend on its reduce tasks."""
    own = {name: text_of(value) for name, value in treatment.cluster.settings.items()}
    reduces = [own.get(REDUCES) or site.get(REDUCES)]
    reduces += [v for load in treatment.loads for n, v in load.job_settings if n == REDUCES]
    found: Sequence[Mapping[str, str]]
    found = [task_limits({**own, REDUCES: number}, containers) for number in reduces]
    return {name: min(int(limits[name]) for limits in found) for name in found[0]}


def _replaced(site: Site, name: str, value: str) -> str:
    """The final value that replaces another one in the tasks, in words; empty if none does."""
    entry = site.conf.entries.get(name)
    if entry is None or not entry.final or _OF_CLIENT.fullmatch(name):
        return ""
    return "" if equal(site.conf.expand(value), site.get(name)) else _words(site, name)


def _words(site: Site, name: str) -> str:
    entry = site.conf.entries[name]
    return f"{name} is final in {entry.source}, with the value {masked(name, site.get(name))}"
