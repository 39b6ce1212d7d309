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
            "what the meter covers: you say which hosts",
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
                "where every host class has 'power: {idle, peak}', the hosts are machines of "
                "their own (not on the testbed 'local') and nothing was measured",
            ),
        ),
    )
}


def live_readers() -> list[LiveReader]:
    """The live readers that work here; sampled during every trial."""
    return [reader for reader in (Rapl(),) if reader.support().works]
