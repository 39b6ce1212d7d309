"""RAPL: the energy counters of Intel and AMD processors, if the kernel provides them.

Each domain is a folder with a name and a counter of microjoules that wraps around at
``max_energy_range_uj`` (Linux, Documentation/power/powercap/powercap.rst). Domains are nested:
``package`` includes ``core`` and ``uncore``, and ``psys`` may include all, so only packages and
memory are read, which are disjoint. Since 2020 only root can read the counters (CVE-2020-8694).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.probes.power.base import Support

ROOT = Path("/sys/class/powercap")
SOURCE = "rapl: processor packages and memory of this machine, not disks, fans or power supply"
_COUNTED = ("package", "dram")


@dataclass(frozen=True, slots=True)
class _Domain:
    name: str
    counter: Path
    wraps_at: int


@dataclass
class Rapl:
    """Reads the counters below ``root``."""

    root: Path = ROOT
    source: str = SOURCE
    _domains: list[_Domain] | None = None
    _last: dict[str, tuple[float, int]] = field(default_factory=dict)

    def support(self) -> Support:
        """Whether there are counters and they can be read."""
        try:
            domains = _domains(self.root)
            if not domains:
                return Support(
                    False,
                    "this kernel provides no RAPL counters",
                    "on a physical machine: modprobe intel_rapl_msr; virtual machines and "
                    "containers rarely have the counters: import the samples of a power meter "
                    "instead ('windtunnel power DIR --csv FILE').",
                )
            for domain in domains:
                domain.counter.read_text()
        except PermissionError:
            return Support(
                False,
                "the RAPL counters exist but are not readable",
                f"run as root, or allow reading: chmod a+r {self.root}/intel-rapl*/energy_uj",
            )
        except (OSError, ValueError) as error:
            return Support(False, f"the RAPL counters cannot be read: {error}", "run as root.")
        return Support(True, f"RAPL: {', '.join(domain.name for domain in domains)}")

    def sample(self, now: float) -> Iterator[tuple[str, float]]:
        """Mean watts of each domain since the last call.

        Raises
        ------
        OSError, ValueError
            If a counter is no longer readable.
        """
        if self._domains is None:
            self._domains = _domains(self.root)
        for domain in self._domains:
            counter = int(domain.counter.read_text())
            last = self._last.get(domain.name)
            self._last[domain.name] = (now, counter)
            if last is not None and now > last[0]:
                joules = grown(last[1], counter, domain.wraps_at) / 1e6
                yield domain.name, joules / (now - last[0])


def grown(before: int, after: int, wraps_at: int) -> int:
    """The increase of a counter that continues at 0 after ``wraps_at``.

    At most one wrap is possible: at 400 W, a counter of 2^32 uJ wraps every 11 s, and the period
    of the samples is 1 s.
    """
    return after - before if after >= before else after + wraps_at - before


def _domains(root: Path) -> list[_Domain]:
    """Packages and memories; two with one name (two sockets) are distinguished by their folder."""
    found: list[_Domain] = []
    for folder in sorted(root.glob("intel-rapl:*")):
        counter = folder / "energy_uj"
        if not counter.exists():
            continue
        name = (folder / "name").read_text().strip()
        if not name.startswith(_COUNTED):
            continue
        if name == "dram":  # a child of its package: dram of package-1 is intel-rapl:1:0
            name = f"dram-{folder.name.split(':')[1]}"
        wraps_at = int((folder / "max_energy_range_uj").read_text())
        found.append(_Domain(name, counter, wraps_at))
    return found
