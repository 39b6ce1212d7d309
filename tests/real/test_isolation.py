"""Clusters closed to other accounts: an ordinary user's, and what ``open`` lets through."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.real.conftest import LIGHT_DAEMONS, Intruder, wait_for
from tests.support import as_account, intruder
from windtunnel.hosts.isolation.policy import FLAG

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0,
    reason="needs root on Linux: two accounts are made and removed",
)

WINDTUNNEL = [sys.executable, "-m", "windtunnel"]
LIGHT_UP = [f"--set={name}={value}" for name, value in LIGHT_DAEMONS.items()]

GET = """
import http.client, sys
server = http.client.HTTPConnection(sys.argv[1], timeout=20)
server.request("GET", sys.argv[2])
sys.exit(server.getresponse().status >= 400)
"""


@pytest.fixture(scope="module")
def user() -> Iterator[intruder.Other]:
    with intruder.other_account(f"wtuser{os.getpid()}") as account:
        yield account


@pytest.fixture(scope="module")
def home(user: intruder.Other) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="wt-home-", dir="/var/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def up(user: intruder.Other, home: Path) -> Iterator[dict[str, object]]:
    """A cluster that an ordinary user started; its facts."""
    code, text = as_account.run(user, home, [*WINDTUNNEL, "up", "local-1", *LIGHT_UP])
    assert code == 0, text
    assert "isolation" not in text, "nothing is said where all is closed"
    (file,) = home.glob(".local/state/windtunnel/deployments/*/deployment.json")
    yield {**json.loads(file.read_text()), "folder": file.parent}
    code, text = as_account.run(user, home, [*WINDTUNNEL, "down"])
    assert code == 0, text
    assert not file.exists()


def test_nobody_reaches_the_cluster_of_an_ordinary_user(
    up: dict[str, object], user: intruder.Other, home: Path, other: Intruder
) -> None:
    folder = Path(str(up["folder"]))
    supervisor = int(str(up["supervisor"]))
    assert Path(f"/proc/{supervisor}").stat().st_uid == user.uid
    (home / "text").write_text("of the user")
    (home / "text").chmod(0o600)
    os.chown(home / "text", user.uid, user.gid)
    for words in (["-put", str(home / "text"), "/text"], ["-cat", "/text"]):
        code, text = as_account.run(user, home, [*WINDTUNNEL, "exec", "--", "hdfs", "dfs", *words])
        assert code == 0, text
    assert text.rstrip().endswith("of the user")
    targets = intruder.targets(supervisor, folder, (folder / "logs").resolve())
    assert len(targets["tcp"]) > 10
    assert intruder.reached(other.account, **targets) == []


def test_open_shows_the_pages_to_its_user_who_has_the_token(
    up: dict[str, object], user: intruder.Other, home: Path, other: Intruder
) -> None:
    opened = as_account.start(user, home, [*WINDTUNNEL, "open"])
    assert opened.stdout is not None
    pages: dict[str, str] = {}
    for line in opened.stdout:
        if found := re.fullmatch(r"  (\S+)\s+(http://\S+)\n", line):
            pages[found.group(1)] = found.group(2)
        if line.startswith("  nodemanager@"):
            break
    try:
        token = pages["namenode@master"].partition("token=")[2]
        plain = pages["historyserver@master"].partition("?")[0]
        namenode = pages["namenode@master"].partition("?")[0]
        jmx = f"{namenode}?qry=Hadoop:service=NameNode,name=NameNodeInfo"
        wait_for(lambda: _status(plain) == 403, "the proxy to listen", 20)
        assert _status(jmx) == 403
        assert _status(jmx, cookies={"windtunnel-token": token[:-1] + "x"}) == 403
        assert _status(jmx, headers={"host": "rebound.example"}, token=token) == 421
        refused = httpx.post(
            plain,
            cookies={"windtunnel-token": token},
            headers={"origin": "http://other.example"},
            trust_env=False,
        )
        assert refused.status_code == 403
        page = httpx.URL(jmx)
        stolen = f"GET {page.raw_path.decode()} HTTP/1.0\r\nHost: {page.netloc.decode()}\r\n"
        stolen += f"Cookie: windtunnel-token={token}\r\n\r\n"
        tries = [["page", page.host, page.port, stolen]]
        assert intruder.reached(other.account, requests=tries) == ["page: HTTP/1.1 403 Forbidden"]
        with httpx.Client(trust_env=False, follow_redirects=True, timeout=60) as browser:
            first = browser.get(pages["historyserver@master"])
            assert first.status_code == 200 and "token" not in str(first.url)
            nodes = browser.get(jmx).json()["beans"][0]["LiveNodes"]
            datanode = httpx.URL(pages["datanode@worker"]).netloc.decode()
            assert datanode in nodes, "its links lead here"
            apps = browser.get(pages["resourcemanager@master"])
            assert apps.status_code == 200 and "/cluster" in str(apps.url)
            files = browser.get(namenode.replace("jmx", "webhdfs/v1/?op=LISTSTATUS")).json()
            assert "FileStatuses" in files
    finally:
        opened.send_signal(signal.SIGINT)
        opened.communicate(timeout=20)
    assert _status(plain) == 0, "closed with the command"


def _status(url: str, token: str = "", **more: dict[str, str]) -> int:
    cookies = {"windtunnel-token": token} if token else more.pop("cookies", {})
    try:
        with httpx.Client(trust_env=False, cookies=cookies, timeout=60) as client:
            return client.get(url, **more).status_code  # type: ignore[arg-type]
    except httpx.HTTPError:
        return 0


def test_without_namespaces_the_daemons_themselves_refuse_others(
    user: intruder.Other, home: Path, other: Intruder
) -> None:
    state = str(home / "state")

    def windtunnel(*words: str) -> str:
        command = [*WINDTUNNEL, *words]
        code, text = as_account.run(user, home, command, no_namespaces=True, WINDTUNNEL_STATE=state)
        assert code == 0, text
        return " ".join(text.split())

    assert "Java daemons refuse the connections of other accounts" in windtunnel(
        "up", "local-1", *LIGHT_UP
    )
    try:
        (file,) = home.glob("state/deployments/*/deployment.json")
        supervisor = json.loads(file.read_text())["supervisor"]
        for server in _servers(file):
            code, _ = as_account.run(user, home, [sys.executable, "-c", GET, *_page(server)])
            assert code == 0, "its user is served"
        targets = intruder.targets(supervisor, file.parent, (file.parent / "logs").resolve())
        own = {(server["address"], server["port"]) for server in _servers(file)}
        assert own <= {*targets["tcp"]}
        assert intruder.reached(other.account, **targets) == []
        assert "Found" in windtunnel("exec", "--", "hdfs", "dfs", "-ls", "/")
    finally:
        windtunnel("down")


def _servers(file: Path) -> list[dict[str, Any]]:
    return list(json.loads(file.read_text())["web_servers"])


def _page(server: dict[str, Any]) -> list[str]:
    return [f"{server['address']}:{server['port']}", server["page"]]


def test_what_is_said_without_namespaces_and_what_root_is_refused(
    user: intruder.Other, home: Path, tmp_path: Path
) -> None:
    _, text = as_account.run(user, home, [*WINDTUNNEL, "doctor"], no_namespaces=True)
    assert "sysctl user.max_user_namespaces=15000" in " ".join(text.split())
    command = ["run", "keyvalue-stores", "--results", str(tmp_path / "results")]
    setpriv = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    done = subprocess.run(
        [*setpriv, *WINDTUNNEL, *command],
        env=os.environ | {"WINDTUNNEL_STATE": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    assert "started as root" in done.stderr and "kudu" in done.stderr and FLAG in done.stderr
