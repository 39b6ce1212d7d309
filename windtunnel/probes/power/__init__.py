"""Readers of electrical power. A new reader is one module here and one entry in READERS.

Redfish and IPMI would be ``live`` readers of the kind ``metered``.
"""

from __future__ import annotations

from windtunnel.probes.power.base import LiveReader, ReaderEntry, Support
from windtunnel.probes.power.modelled import FORMULA
from windtunnel.probes.power.rapl import Rapl

__all__ = ["READERS", "LiveReader", "ReaderEntry", "Support", "live_readers"]

READERS: dict[str, ReaderEntry] = {
    entry.name: entry
    for entry in (
        ReaderEntry(
            "csv",
            "metered",
            "import",
            "the hosts that the meter covers, as stated at the import",
            lambda: Support(True, "windtunnel power DIR --csv FILE --map time=... --map watts=..."),
        ),
        ReaderEntry(
            "rapl",
            "rapl",
            "live",
            "processor packages and memory; not disks, fans, power supply",
            lambda: Rapl().support(),
        ),
        ReaderEntry(
            "modelled",
            "modelled",
            "derived",
            f"{FORMULA}, per host",
            lambda: Support(
                True,
                "used if every host class has 'power: {idle, peak}', the hosts are separate "
                "machines (not the testbed 'local') and no power was measured",
            ),
        ),
    )
}


def live_readers() -> list[LiveReader]:
    """The live readers that this machine supports; they are sampled during every trial."""
    return [reader for reader in (Rapl(),) if reader.support().works]
