"""Paths to other hosts that were probed: whether they carry what the interface sends."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.audit.evidence import Evidence
from windtunnel.audit.result import Outcome, Severity, failed, not_applicable, passed, unknown


def path_mtu(evidence: Evidence) -> Iterator[Outcome]:
    """The path MTU to each probed host against the MTU of the interface."""
    if "paths" not in evidence.one.facts:
        yield not_applicable("no path was probed: --probe HOST")
        return
    for row in evidence.one.table("paths"):
        about, interface, own = str(row["host"]), row["interface"], row["interface_mtu"]
        found, lost = row["path_mtu"], row["lost"]
        if found is None:
            yield unknown(str(row["why"]), about)
        elif own is None:
            yield unknown(f"path MTU {found}; the MTU of the interface could not be read", about)
        elif lost is None:
            yield passed(f"{about}: {found} bytes, as the interface {interface}", about)
        else:
            how = "a router reported it" if row["reported"] else f"{lost} bytes: no answer"
            text = f"path to {about}: MTU {found} bytes, but {interface} has {own} bytes ({how})"
            remedy = (
                f"set the MTU {own} on every switch, router and host of the path, or: "
                f"ip link set dev {interface} mtu {found}"
            )
            # without a report, TCP waits for answers to packets that never arrive
            severity: Severity = "medium" if row["reported"] else "high"
            yield failed(text, remedy, about=about, severity=severity)


RULES = {"path_mtu": path_mtu}
