"""The power that a management controller (BMC) reports by Redfish.

The properties are those of the DMTF schemas ``Power`` (``PowerControl[0].PowerConsumedWatts``) and
``EnvironmentMetrics`` (``PowerWatts.Reading``), which replaces it since Redfish 2020.4 (DSP0268).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windtunnel.errors import ClusterAccessError

if TYPE_CHECKING:
    from windtunnel.hosts.rest import RestClient

_ROOT = "/redfish/v1/"
_NO_RESOURCE = ("not found", "refused")
_NO_REDFISH = "check the address of the controller, and that Redfish is enabled on it."
_ACCOUNT = "check 'user' and 'password_file' of 'power'."
_REMEDIES = {
    "rejected": _ACCOUNT,
    "password": _ACCOUNT,
    "no user": _ACCOUNT,
    "forbidden": "use an account of the controller that may read the chassis.",
    "certificate": "add the certificate of the controller, or of its authority, to 'ca_file' of "
    "'power'.",
    "certificate name": "use the name that the certificate contains in 'address' or 'addresses'.",
    "redirect": "use the address to which the controller redirects.",
    "not found": _NO_REDFISH,
}


@dataclass(frozen=True)
class _Property:
    """A resource with a reading of the power, and the way to the reading in it."""

    resource: str
    way: tuple[str | int, ...]

    def watts(self, resource: Mapping[str, Any]) -> float | None:
        """The reading of the resource; None if it has none."""
        found: Any = resource
        for step in self.way:
            try:
                found = found[step]
            except (KeyError, IndexError, TypeError):
                return None
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        # controllers without a sensor report 0 W
        return float(found) if is_number and math.isfinite(found) and found > 0 else None


_PROPERTIES = (
    # The first entry is the whole chassis; some vendors add entries for CPUs and memory.
    _Property("Power", ("PowerControl", 0, "PowerConsumedWatts")),
    _Property("EnvironmentMetrics", ("PowerWatts", "Reading")),
)


class Redfish:
    """The power of one host; :meth:`watts` raises ClusterAccessError without a reading.

    Parameters
    ----------
    url:
        The address of the controller.
    chassis:
        The Id of the chassis; None if only one chassis reports power.
    """

    def __init__(self, client: RestClient, url: str, chassis: str | None = None) -> None:
        self._client = client
        self.url = url.rstrip("/")
        self._chassis = chassis
        self._found: tuple[str, _Property] | None = None  # path of the resource, and its property

    def watts(self) -> float:
        """The present power of the host in watts."""
        if self._found is None:
            self._found = self._search()
        path, reading = self._found
        self._found = None  # a controller that restarted can have other paths
        watts = reading.watts(self._get(path))
        if watts is None:
            raise ClusterAccessError(
                f"{self.url}{path} has no reading of the power",
                remedy="read it again; if it stays without one, check the controller.",
                reason="no reading",
            )
        self._found = path, reading
        return watts

    def _get(self, path: str) -> dict[str, Any]:
        try:
            return self._client.get_json(self.url + path)
        except ClusterAccessError as error:
            remedy = _REMEDIES.get(error.reason, error.remedy)
            raise ClusterAccessError(error.message, remedy=remedy, reason=error.reason) from error

    def _get_if_any(self, path: str | None) -> dict[str, Any]:
        """A resource; empty if the controller does not have it although it has a link to it."""
        try:
            return {} if path is None else self._get(path)
        except ClusterAccessError as error:
            if error.reason not in _NO_RESOURCE:
                raise
            return {}

    def _search(self) -> tuple[str, _Property]:
        """The only chassis with a reading of the power, or the one of the options."""
        found: dict[str, tuple[str, _Property]] = {}
        known: list[str] = []
        for chassis in self._all_chassis():
            id_ = str(chassis.get("Id", ""))
            known.append(id_)
            if self._chassis not in (None, id_):
                continue
            for reading in _PROPERTIES:
                path = _link(chassis.get(reading.resource))
                if path is not None and reading.watts(self._get_if_any(path)) is not None:
                    found[id_] = (path, reading)
                    break
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            raise ClusterAccessError(
                f"several chassis of {self.url} report power: {', '.join(sorted(found))}",
                remedy="write the Id of the chassis of the host: 'chassis'.",
                reason="several chassis",
            )
        which = "no chassis" if self._chassis is None else f"no chassis '{self._chassis}'"
        raise ClusterAccessError(
            f"{which} of {self.url} reports power (chassis: {', '.join(known) or 'none'})",
            remedy="use another meter: IPMI, Prometheus, or a file of the meter "
            "('windtunnel power RESULTS --csv FILE').",
            reason="no meter",
        )

    def _all_chassis(self) -> Iterator[Mapping[str, Any]]:
        collection = _link(self._get(_ROOT).get("Chassis"))
        if collection is None:
            raise ClusterAccessError(
                f"{self.url} does not answer as a Redfish service does",
                remedy=_NO_REDFISH,
                reason="other server",
            )
        members = self._get(collection).get("Members")
        for member in members if isinstance(members, list) else ():
            chassis = self._get_if_any(_link(member))
            if chassis:
                yield chassis


def _link(found: Any) -> str | None:
    """The path of a reference to another resource."""
    path = found.get("@odata.id") if isinstance(found, dict) else None
    return path if isinstance(path, str) and path.startswith("/") else None
