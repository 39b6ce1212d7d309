"""Parts of hosts with their prices, as data: every combination is a candidate of ``size``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from windtunnel.analysis.prediction.sizing import Candidate
from windtunnel.cluster import (
    Cluster,
    Located,
    Price,
    apply_overrides,
    load_cluster,
    load_text,
    load_yaml,
    validate,
)
from windtunnel.cluster.hosts import Cpu, Disk, Nic
from windtunnel.cluster.quantity import ByteSize, Power
from windtunnel.errors import DescriptionError
from windtunnel.study.file import blame, catalogue_names, catalogue_text, refuse_unknown

FOLDER = "parts"
MOST = 5_000  # candidates: half a minute on one core
_HARDWARE = ("model", "cpu", "memory", "disks", "nics")


class Part(BaseModel):
    """One part: the properties of a host that it sets, and its price and peak power per host."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    price: Price | None = None
    power: Power | None = None
    model: str | None = None
    cpu: Cpu | None = None
    memory: ByteSize | None = None
    disks: tuple[Disk, ...] | None = None
    nics: tuple[Nic, ...] | None = None


class Parts(BaseModel):
    """A parts file: a cluster, the host class that varies, numbers of hosts, and groups of parts.

    A host has one part of each group. ``workloads`` has the parameters of the workloads.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    cluster: str
    set: dict[str, Any] = Field(default_factory=dict)
    host: str = "worker"
    counts: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]
    workloads: dict[str, dict[str, Any]] = Field(default_factory=dict)
    parts: Annotated[
        dict[str, Annotated[dict[str, Part], Field(min_length=1)]], Field(min_length=1)
    ]
    _located: Located = PrivateAttr(default_factory=lambda: Located({}))

    def placed(self, error: DescriptionError) -> DescriptionError:
        """The error with the file and the line of its key, if it has none."""
        return self._located.placed(error)

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Report a combination that is no valid cluster at the parts, or at the counts."""
        try:
            yield
        except DescriptionError as error:
            lead = f"hosts.{self.host}."
            of_part = (error.key or "").startswith(lead) and error.key != f"{lead}count"
            with blame(self._located, "parts" if of_part else "counts"):
                raise


def load_parts(source: str) -> tuple[Parts, Cluster]:
    """A parts file, or one of the catalogue by name, and its cluster.

    Raises
    ------
    DescriptionError
        If the file or its cluster is not valid, two groups set the same property of a host, a
        number of hosts is listed twice, or there are too many combinations.
    """
    if source in catalogue_names(FOLDER):
        located = load_text(catalogue_text(FOLDER, source), f"catalogue:{FOLDER}/{source}.yaml")
    else:
        refuse_unknown(source, FOLDER, "parts file")
        located = load_yaml(Path(source))
    found = validate(Parts, located)
    _refuse_overlap(found, located)
    number = len(found.counts) * math.prod(len(group) for group in found.parts.values())
    if number > MOST:
        raise located.error(
            f"the parts have {number:,} combinations, more than {MOST:,}",
            "parts",
            remedy="remove parts or counts.",
        )
    found._located = located
    return found, _cluster(found, located)


def _refuse_overlap(found: Parts, located: Located) -> None:
    """A host has one part of each group: a property in two groups would have two values."""
    owner: dict[str, str] = {}
    for group, parts in found.parts.items():
        for name, part in parts.items():
            for key in part.model_dump(exclude_none=True, include=set(_HARDWARE)):
                other = owner.setdefault(key, group)
                if other != group:
                    raise located.error(
                        f"the parts '{other}' and '{group}' both set '{key}'",
                        *("parts", group, name, key),
                        remedy="set each property of a host in one group of parts only.",
                    )
    twice = [count for i, count in enumerate(found.counts) if count in found.counts[:i]]
    if twice:
        raise located.error(
            f"the number {twice[0]} is listed twice", "counts", remedy="remove one of them."
        )


def _cluster(found: Parts, located: Located) -> Cluster:
    name = found.cluster
    beside = Path(located.name or "").parent / name
    with blame(located, "cluster"):
        base = load_cluster(str(beside) if beside.is_file() else name)
    with blame(located, "set"):
        cluster = apply_overrides(base, found.set)
    if found.host not in cluster.hosts:
        raise located.error(
            f"the cluster '{cluster.name}' has no host class '{found.host}'",
            "host",
            remedy=f"its host classes are: {', '.join(cluster.hosts)}.",
        )
    return cluster


def set_by(found: Parts, path: str) -> bool:
    """Whether the candidates set a path of the cluster, so that a change of it is lost."""
    keys = {"count", "price", "price_parts", "power"}
    for group in found.parts.values():
        for part in group.values():
            keys |= part.model_dump(exclude_none=True, include=set(_HARDWARE)).keys()
    lead = f"hosts.{found.host}."
    return path.startswith(lead) and path.removeprefix(lead).split(".")[0] in keys


def candidates(
    found: Parts, cluster: Cluster, workloads: Mapping[str, Mapping[str, Any]]
) -> Iterator[Candidate]:
    """Every combination of a number of hosts and one part of each group.

    Raises
    ------
    DescriptionError
        If a combination is no valid cluster.
    """
    groups = [list(group) for group in found.parts.values()]
    for count in found.counts:
        for chosen in itertools.product(*groups):
            parts = {
                group: found.parts[group][name]
                for group, name in zip(found.parts, chosen, strict=True)
            }
            # a group with one part is no choice
            named = [name for name, group in zip(chosen, groups, strict=True) if len(group) > 1]
            words = ", ".join([f"{count} hosts", *named])
            with found.blamed():
                made = apply_overrides(cluster, _changes(found.host, count, parts), name=words)
            yield Candidate(words, made, workloads)


def _changes(host: str, count: int, parts: Mapping[str, Part]) -> dict[str, Any]:
    """Path -> value. The price and the power are known only if those of all parts are."""
    lead = f"hosts.{host}."
    changes: dict[str, Any] = {f"{lead}count": count, f"{lead}price": None}
    for part in parts.values():
        own = part.model_dump(mode="json", exclude_none=True, include=set(_HARDWARE))
        changes |= {f"{lead}{key}": value for key, value in own.items()}
    prices = {name: str(part.price) for name, part in parts.items() if part.price is not None}
    changes[f"{lead}price_parts"] = prices if len(prices) == len(parts) else {}
    watts = [part.power for part in parts.values() if part.power is not None]
    known = len(watts) == len(parts)
    changes[f"{lead}power"] = {"peak": f"{sum(watts):g} W"} if known else None
    return changes
