"""Management controllers (BMC) that report power: by Redfish, by DCMI, and by a sensor of IPMI.

They are programs of others: the emulator of ``sushy-tools``, the controller of ``pyghmi``, and
``ipmi_sim`` of OpenIPMI.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from windtunnel.hosts.leftovers import entering
from windtunnel.testbeds.local import LocalDeployment

USER, PASSWORD = "reader", "secret-of-the-bmc"
SENSOR = "Pwr Consumption"
_LIMIT_S = 20.0

_DCMI = """
import struct, sys
from pathlib import Path
from pyghmi.ipmi.bmc import Bmc

class Controller(Bmc):
    def handle_raw_request(self, request, session):
        if (request["netfn"], request["command"]) != (0x2C, 2):
            return super().handle_raw_request(request, session)
        watts = int(Path(sys.argv[2]).read_text())
        state = 0x40  # activated
        reading = struct.pack("<BHHHHIIB", 0xDC, watts, 1, 900, 200, 1, 1000, state)
        session.send_ipmi_response(data=list(reading))

Controller({%r: %r}, address="127.0.0.1", port=int(sys.argv[1])).listen()
"""


def free_port(kind: int = socket.SOCK_DGRAM) -> int:
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def _running(argv: Sequence[str], **given: Any) -> Iterator[None]:
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **given,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def dcmi(watts: Path) -> Iterator[int]:
    """The port of a controller whose power is the content of a file."""
    port = free_port()
    with _running([sys.executable, "-c", _DCMI % (USER, PASSWORD), str(port), str(watts)]):
        yield port


@contextmanager
def sensor(folder: Path, watts: Path) -> Iterator[int]:
    """The port of a controller with a sensor; its value is half of the content of a file."""
    port = free_port()
    (folder / "lan.conf").write_text(
        'name "bmc"\nset_working_mc 0x20\nstartlan 1\n'
        f"addr 127.0.0.1 {port}\npriv_limit admin\nallowed_auths_admin md5\n"
        "guid a123456789abcdefa123456789abcdef\nendlan\n"
        'user 1 false "" "x" user 10 md5\n'
        f'user 2 true "{USER}" "{PASSWORD}" user 10 md5\n'
    )
    states = "000000000000000 000000000000000 000000000000000 000000000000000"
    record = " ".join(f"0x{byte:02x}" for byte in _full_sensor_record(SENSOR))
    (folder / "sim.emu").write_text(
        "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\n"
        "sensor_add 0x20 0 0 35 0x6f event-only\n"
        f"main_sdr_add 0x20 {record}\n"
        f'sensor_add 0x20 0 1 0x0b 0x01 poll 100 file "{watts}" div=2\n'
        f"sensor_set_event_support 0x20 0 1 enable scanning per-state {states}\n"
        "mc_enable 0x20\n"
    )
    program = shutil.which("ipmi_sim")
    assert program is not None
    # unpacked packages have their libraries next to the program
    libraries = Path(program).parent.parent / "lib" / f"{os.uname().machine}-linux-gnu"
    env = {**os.environ, "LD_LIBRARY_PATH": str(libraries)}
    argv = [program, "-n", "-p", "-c", "lan.conf", "-f", "sim.emu", "-s", str(folder)]
    with _running(argv, cwd=folder, env=env):
        yield port


def _full_sensor_record(name: str) -> list[int]:
    """A record of type 01h (IPMI 2.0, table 43-1): unsigned, watts, two watts per unit."""
    key, entity = [0x20, 0, 1], [7, 1]
    kind = [0x67, 0x40, 0x0B, 0x01]
    masks, units = [0, 0, 0, 0, 0x3F, 0x3F], [0x00, 0x06, 0x00]
    conversion = [0, 2, 0, 0, 0, 0, 0]  # linear, M = 2, B = 0
    limits = [0, 0, 0, 0, 0xFF, 0] + [0] * 8 + [0] * 3
    body = key + entity + kind + masks + units + conversion + limits
    body += [0xC0 | len(name), *name.encode()]
    return [0, 0, 0x51, 0x01, len(body), *body]


@contextmanager
def redfish(
    folder: Path, certificate: Path | None = None, deployment: LocalDeployment | None = None
) -> Iterator[str]:
    """The URL of an emulator that serves the resources of :func:`write_chassis`.

    With a deployment, it is in the network of the deployment.
    """
    port = free_port(socket.SOCK_STREAM)
    argv = [sys.executable, "-m", "sushy_tools.static.main", "-i", "127.0.0.1", "-p", str(port)]
    if certificate is not None:
        argv += ["-c", str(certificate), "-k", str(certificate)]
    argv += ["-m", str(folder)]
    if deployment is not None:
        argv = entering(deployment.registration.folder, "network", argv)
    with _running(argv):
        until = time.monotonic() + _LIMIT_S
        while True:
            made = socket.socket() if deployment is None else deployment.hosts[0].open_socket()
            with made:
                made.settimeout(1.0)
                if made.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert time.monotonic() < until, "the emulator does not listen"
            time.sleep(0.05)
        yield f"http{'s' if certificate else ''}://localhost:{port}"


def write_chassis(folder: Path, resources: dict[str, dict[str, Any]]) -> None:
    """Chassis by Id, each with its further resources by name (``Power`` ...)."""
    base = "/redfish/v1"
    _write(folder, "", {"Chassis": {"@odata.id": f"{base}/Chassis"}})
    members = [{"@odata.id": f"{base}/Chassis/{id_}"} for id_ in resources]
    _write(folder, "Chassis", {"Members": members, "Members@odata.count": len(members)})
    for id_, parts in resources.items():
        links = {name: {"@odata.id": f"{base}/Chassis/{id_}/{name}"} for name in parts}
        _write(folder, f"Chassis/{id_}", {"Id": id_, "ChassisType": "RackMount", **links})
        for name, content in parts.items():
            _write(folder, f"Chassis/{id_}/{name}", content)


def _write(folder: Path, path: str, content: dict[str, Any]) -> None:
    file = folder / path / "index.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(content))
    new.replace(file)


def power(watts: float | None) -> dict[str, Any]:
    """The resource ``Power`` of a chassis, whose CPUs have an entry of their own."""
    return {
        "Power": {"PowerControl": [{"PowerConsumedWatts": watts}, {"PowerConsumedWatts": 40.0}]}
    }
