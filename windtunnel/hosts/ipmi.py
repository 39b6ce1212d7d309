"""The power that a management controller (BMC) reports by IPMI, read by the program ``ipmitool``.

The session has the privilege level USER, which cannot change anything. The password is in a file
that ``ipmitool`` reads; it is on no command line.
"""

from __future__ import annotations

import csv
import math
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.errors import ClusterAccessError, SetupError

PROGRAM = "ipmitool"
_LIMIT_S = 20.0
_DEFAULT_PORT = 623
_TRIES = ("-N", "2", "-R", "2")  # two, of 2 s
_DCMI = re.compile(r"Instantaneous power reading:\s*(\d+)\s*Watts")
_OFF = re.compile(r"Power reading state is:\s*deactivated")
# Lines on stderr that are not the cause of an error.
_NOISE = ("IANA PEN registry", "Unable to Get Channel Cipher Suites", "Get HPM.x", "Password:")


@dataclass(frozen=True)
class Ipmi:
    """The power of one host; :meth:`watts` raises ClusterAccessError without a reading.

    Parameters
    ----------
    address:
        Name or address of the controller, with its port if that is not 623.
    sensor:
        Name of the sensor of the power; None for the power reading of DCMI (DCMI 1.5, section
        6.6.1).
    cipher:
        Number of the cipher suite; None for that of ``ipmitool``.
    names:
        Name of a controller -> its address, for names that this machine cannot resolve.
    """

    address: str
    user: str
    password_file: Path
    sensor: str | None = None
    cipher: int | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    def command(self) -> Sequence[str]:
        """The command that reads the power."""
        host, port = _split(self.address)
        words = [PROGRAM, "-I", "lanplus", "-H", self.names.get(host, host)]
        words += ["-p", str(port), "-L", "USER"]
        words += [*_TRIES, "-U", self.user, "-f", str(self.password_file)]
        if self.cipher is not None:
            words += ["-C", str(self.cipher)]
        if self.sensor is not None:
            return [*words, "-c", "sdr", "get", self.sensor]
        return [*words, "dcmi", "power", "reading"]

    def watts(self) -> float:
        """The present power of the host in watts.

        Raises
        ------
        SetupError
            If ``ipmitool`` is not installed.
        """
        if shutil.which(PROGRAM) is None:
            raise SetupError(
                f"the program {PROGRAM} is not installed",
                remedy=f"install it (on Debian and Ubuntu: apt install {PROGRAM}).",
            )
        try:
            done = subprocess.run(
                self.command(),
                stdin=subprocess.DEVNULL,
                # without the user's terminal: no prompt there, and Ctrl-C does not end it
                start_new_session=True,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise self._failed("no answer", "timeout") from None
        if done.returncode != 0:
            raise self._failed(_cause(done.stderr) or f"status {done.returncode}", "refused")
        watts = _dcmi(done.stdout) if self.sensor is None else _sensor(done.stdout)
        if watts is None:
            what = "DCMI" if self.sensor is None else f"sensor '{self.sensor}'"
            raise self._failed(_cause(done.stderr) or f"{what}: no reading in watts", "no reading")
        return watts

    def _failed(self, message: str, reason: str) -> ClusterAccessError:
        sensors = "; 'ipmitool sdr list' lists the sensors" if self.sensor is not None else ""
        return ClusterAccessError(
            f"IPMI, {self.address}: {message}",
            remedy=f"check address, user, password and cipher suite of the controller{sensors}.",
            reason=reason,
        )


def _split(address: str) -> tuple[str, int]:
    """Host and port; a port follows the last colon, unless the address is a bare IPv6 address."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or (":" in host and not host.endswith("]")):
        return address.strip("[]"), _DEFAULT_PORT
    return host.strip("[]"), int(port)


def _dcmi(text: str) -> float | None:
    found = _DCMI.search(text)
    return _positive(found[1]) if found and not _OFF.search(text) else None


def _positive(text: str) -> float | None:
    """A number above 0; controllers without a sensor report 0 W."""
    try:
        watts = float(text)
    except ValueError:
        return None
    return watts if math.isfinite(watts) and watts > 0 else None


def _sensor(text: str) -> float | None:
    """The value of a line ``NAME,VALUE,UNIT,STATE,...``."""
    for row in csv.reader(text.splitlines()):
        if len(row) >= 4 and row[2] == "Watts" and row[3] != "ns":
            return _positive(row[1])
    return None


def _cause(text: str) -> str:
    """The last line of an output on stderr that states a cause."""
    lines = [line.strip(" >") for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(_NOISE)]
    return lines[-1].removeprefix("Error: ") if lines else ""
