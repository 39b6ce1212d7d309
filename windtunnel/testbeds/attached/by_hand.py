"""Settings of daemons that an operator changes between trials (``apply: by-hand``).

Windtunnel prints the change, waits, and queries the value in force from every daemon that reads the
setting (``/conf`` of its web server). It changes nothing itself.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from windtunnel.audit.in_force import equal, readers_of
from windtunnel.cluster import Cluster, format_duration
from windtunnel.cluster.settings import site_of, text_of
from windtunnel.errors import ClusterAccessError, StudyStoppedError
from windtunnel.testbeds.attached.options import daemon_settings
from windtunnel.testbeds.attached.status import Status
from windtunnel.testbeds.base import StudyRequest

_SETTINGS = "settings."
_PARALLEL = 8
_WAIT_STEP_S = 0.2
_NAMED = 3  # hosts of a message
TITLES = {
    "namenode": "NameNode",
    "datanode": "DataNode",
    "resourcemanager": "ResourceManager",
    "nodemanager": "NodeManager",
    "historyserver": "history server",
}


def problems(request: StudyRequest) -> Iterator[str]:
    """Why settings of a study cannot be changed by hand, in words."""
    for name in daemon_settings(request.changes):
        if not readers_of(name):
            yield (
                f"{_SETTINGS}{name}: Windtunnel does not know which daemon reports it at /conf, "
                "and cannot check whether a change by hand is in force"
            )
        if any(name not in one.cluster.settings for one in request.treatments):
            yield (
                f"{_SETTINGS}{name}: some treatments state no value, and Windtunnel does not know "
                "which value the cluster had before; write a value at each level, or in 'set'"
            )
        elif any("${" in text_of(one.cluster.settings[name]) for one in request.treatments):
            yield (
                f"{_SETTINGS}{name}: daemons report values without variables; write the value "
                "that results"
            )


def caveats(request: StudyRequest) -> list[str]:
    """What a report has to say about settings that are changed by hand."""
    return [
        f"{_SETTINGS}{name} is changed by hand: the trials of a round run in blocks, one for each "
        "value, in random order; an effect of it includes the effects of the restarts"
        for name in daemon_settings(request.changes)
    ]


def footprint(request: StudyRequest, limit_s: float) -> list[str]:
    """The changes that an operator makes during a study, as lines."""
    names = list(daemon_settings(request.changes))
    if not names:
        return []
    states = {
        json.dumps([one.cluster.settings.get(name) for name in names], default=str)
        for one in request.treatments
    }
    return [
        f"  changes by hand: about {len(states)} in each round, of {', '.join(names)}; each is "
        f"awaited for at most {format_duration(limit_s)}",
        "    requests for them: before each trial, and at each interval while a change is awaited, "
        "/conf of each daemon that reads such a setting",
    ]


@dataclass(frozen=True)
class Comparison:
    """The wanted value of a setting against the values of all daemons with a role.

    ``found`` is the number of daemons by other value in force; None is a daemon without a value.
    ``silent`` are hosts whose daemon does not answer.
    """

    name: str
    wanted: str
    role: str
    total: int
    found: Mapping[str | None, int]
    silent: Sequence[str]

    @property
    def in_force(self) -> int:
        """The number of daemons that have the wanted value."""
        return self.total - sum(self.found.values()) - len(self.silent)

    @property
    def reason(self) -> str:
        """The state of the daemons in words."""
        if not self.total:
            return f"{self.name}: no {TITLES[self.role]} is running"
        states = [
            f"{self._of(number)} {_have(number)} {value or 'no value'}"
            for value, number in self.found.items()
        ]
        if self.silent:
            does = "does" if len(self.silent) == 1 else "do"
            names = ", ".join(self.silent[:_NAMED]) + (", ..." if self.silent[_NAMED:] else "")
            states.append(f"{self._of(len(self.silent))} {does} not answer ({names})")
        return f"{self.name}: {', '.join(states)}"

    def _of(self, number: int) -> str:
        """A number of the daemons: ``2 of 3 NodeManagers``."""
        return f"{number} of {self.total} {TITLES[self.role]}{'s' if self.total != 1 else ''}"


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


@dataclass
class ByHand:
    """Waits until the settings of a treatment are in force.

    Parameters
    ----------
    names:
        The settings that the study varies and daemons read.
    limit_s:
        Longest time for a change.
    interval_s:
        Time between two checks.
    hosts:
        Role -> daemons that ran at the first check of the study; each has to answer.
    """

    names: Sequence[str]
    status: Status
    limit_s: float
    interval_s: float
    hosts: dict[str, set[str]] = field(default_factory=dict)
    confirmed: dict[str, int] = field(default_factory=dict)
    """Setting -> daemons that had its value at the last check."""

    def without(self, cluster: Cluster) -> Cluster:
        """The description without the settings that are changed by hand."""
        rest = {k: value for k, value in cluster.settings.items() if k not in self.names}
        return cluster.model_copy(update={"settings": rest})

    def missing(self, cluster: Cluster) -> list[Comparison]:
        """The settings of a description that are not in force; raises ClusterAccessError."""
        daemons = self._daemons()
        self.confirmed = {}
        found = []
        for name in self.names:
            wanted = text_of(cluster.settings[name])
            for role in readers_of(name):
                one = self._compare(name, wanted, role, daemons[role])
                if one.in_force < max(one.total, 1):
                    found.append(one)
                self.confirmed[name] = self.confirmed.get(name, 0) + one.in_force
        return found

    def unreadable(self, cluster: Cluster) -> list[str]:
        """Roles none of whose daemons reports its settings, in words."""
        return [
            f"{_SETTINGS}{one.reason}: the settings of its daemons must be readable at /conf"
            for one in self.missing(cluster)
            if len(one.silent) == one.total
        ]

    def _daemons(self) -> dict[str, dict[str, str | None]]:
        """Role -> daemons that run; they are kept, because each must answer from now on."""
        roles = {role for name in self.names for role in readers_of(name)}
        found = {role: self.status.daemons(role) for role in sorted(roles)}
        for role, urls in found.items():
            self.hosts.setdefault(role, set()).update(urls)
        return found

    def _compare(
        self, name: str, wanted: str, role: str, urls: Mapping[str, str | None]
    ) -> Comparison:
        def read(url: str | None) -> tuple[bool, str | None]:
            if url is None:
                return False, None
            try:
                return True, self.status.in_force(url, name)
            except ClusterAccessError:
                return False, None

        with ThreadPoolExecutor(_PARALLEL) as pool:
            answers = dict(zip(urls, pool.map(read, urls.values()), strict=True))
        hosts = self.hosts[role]
        silent = sorted(host for host in hosts if not answers.get(host, (False, None))[0])
        others = Counter(
            value
            for answered, value in answers.values()
            if answered and (value is None or not equal(wanted, value))
        )
        return Comparison(name, wanted, role, len(hosts), others, silent)

    def wait(
        self,
        cluster: Cluster,
        note: Callable[[str], None],
        stop_if_requested: Callable[[], None],
    ) -> None:
        """Print the necessary changes, and wait until they are in force.

        Raises
        ------
        StudyStoppedError
            If they are not in force within the limit.
        """
        if not self.names:
            return
        since = time.monotonic()
        printed: set[str] = set()
        shown: list[str] = []
        while True:
            missing, reasons = self._state(cluster)
            if not reasons:
                break
            new = {one.name for one in missing} - printed
            for line in self._instructions(cluster, new):
                note(line)
            printed |= new
            if reasons != shown:
                for reason in reasons:
                    note(f"not in force yet: {reason}")
                shown = reasons
            if time.monotonic() - since > self.limit_s:
                raise StudyStoppedError(
                    f"a change by hand was not in force within {format_duration(self.limit_s)}: "
                    + "; ".join(reasons),
                    remedy="make the change.",
                )
            self._pause(stop_if_requested)
        if shown:
            note(f"in force after {format_duration(round(time.monotonic() - since))}")

    def _instructions(self, cluster: Cluster, names: Collection[str]) -> Iterator[str]:
        for name in sorted(names):
            titles = " and ".join(f"each {TITLES[role]}" for role in readers_of(name))
            value, site = text_of(cluster.settings[name]), site_of(name)
            yield (
                f"change by hand, within {format_duration(self.limit_s)}: set {name} = {value} in "
                f"{site} of {titles}, and restart these daemons"
            )

    def _state(self, cluster: Cluster) -> tuple[list[Comparison], list[str]]:
        """What is not in force, and why the study cannot continue yet, in words."""
        try:
            missing = self.missing(cluster)
            reasons = [one.reason for one in missing]
            if self.status.safe_mode():
                reasons.append("the NameNode is in safe mode")
        except ClusterAccessError as error:
            return [], [error.message]
        return missing, reasons

    def _pause(self, stop_if_requested: Callable[[], None]) -> None:
        until = time.monotonic() + self.interval_s
        while time.monotonic() < until:
            stop_if_requested()
            time.sleep(_WAIT_STEP_S)
