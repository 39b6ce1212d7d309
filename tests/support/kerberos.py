"""A Kerberos realm of MIT's KDC for tests, and a service that accepts SPNEGO tokens."""

from __future__ import annotations

import base64
import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from windtunnel.hosts.rest import gssapi

REALM = "TEST.LOCAL"
PROGRAMS = ("krb5kdc", "kadmin.local", "kdb5_util", "kinit")


def missing() -> str:
    """Why no realm can be started; empty if one can be."""
    paths = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    absent = [name for name in PROGRAMS if not shutil.which(name, path=paths)]
    return f"needs {', '.join(absent)} (Debian: krb5-kdc krb5-admin-server krb5-user)" * bool(
        absent
    )


class Realm:
    """Files and programs of one realm. ``within`` is a command prefix (a network namespace)."""

    def __init__(
        self, folder: Path, host: str = "127.0.0.1", port: int = 0, within: Sequence[str] = ()
    ) -> None:
        self.folder = folder
        self._within = list(within)
        folder.mkdir(parents=True, exist_ok=True)
        self.port = port or _free_port()
        self.host = host
        self.config = folder / "krb5.conf"
        self.config.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n"
            " dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = {host}:{self.port}\n }}\n"
            f"[domain_realm]\n localhost = {REALM}\n .wt = {REALM}\n"
        )
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_ports = {self.port}\n kdc_tcp_ports = {self.port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {folder}/principal\n"
            f"  key_stash_file = {folder}/stash\n  acl_file = {folder}/kadm5.acl\n"
            "  supported_enctypes = aes256-cts-hmac-sha1-96:normal\n }\n"
            f"[dbmodules]\n {REALM} = {{\n  db_library = db2\n"
            f"  database_name = {folder}/principal\n }}\n"
            f"[logging]\n kdc = FILE:{folder}/kdc.log\n"
        )
        self.environment = {
            **os.environ,
            "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        }
        self._run("kdb5_util", "create", "-s", "-P", "master-key-of-the-test", "-r", REALM)

    def _run(self, *command: str, **more: str) -> str:
        done = subprocess.run(
            command,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def add(self, keytab: Path, *principals: str) -> Path:
        """Principals with random keys, which are exported to a keytab."""
        for name in principals:
            self._run("kadmin.local", "-q", f"addprinc -randkey {name}@{REALM}")
            self._run("kadmin.local", "-q", f"ktadd -norandkey -k {keytab} {name}@{REALM}")
        return keytab

    def change_key(self, principal: str) -> None:
        """A new key: exported keytabs are out of date."""
        self._run("kadmin.local", "-q", f"cpw -randkey {principal}@{REALM}")

    def ticket(self, keytab: Path, principal: str, cache: Path, lifetime: str = "1h") -> str:
        """A ticket in a cache; returns the name of the cache."""
        self._run("kinit", "-l", lifetime, "-kt", str(keytab), "-c", str(cache), principal)
        return f"FILE:{cache}"

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The KDC, while the context is open."""
        with (self.folder / "kdc.err").open("wb") as errors:
            kdc = subprocess.Popen(
                [*self._within, "krb5kdc", "-n", "-r", REALM],
                env=self.environment,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        try:
            limit = time.monotonic() + 20
            log = self.folder / "kdc.log"
            while not (log.exists() and "commencing operation" in log.read_text()):
                assert kdc.poll() is None, (self.folder / "kdc.err").read_text()
                assert time.monotonic() < limit, "the KDC did not start"
                time.sleep(0.02)
            yield
        finally:
            kdc.terminate()
            kdc.wait(10)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def accept(header: str) -> tuple[str, str]:
    """The token of an ``Authorization`` header by the keys of ``KRB5_KTNAME``.

    Returns the client's name and the server's token; raises gssapi.GssError.
    """
    token = base64.b64decode(header.partition(" ")[2])
    context, name, answer, text = (
        ctypes.c_void_p(),
        ctypes.c_void_p(),
        gssapi._Buffer(),
        gssapi._Buffer(),
    )
    given = gssapi._Buffer(len(token), ctypes.cast(ctypes.c_char_p(token), ctypes.c_void_p))
    gssapi._library().gss_accept_sec_context.restype = ctypes.c_uint32
    gssapi._call(
        "gss_accept_sec_context",
        ctypes.byref(context),
        None,
        ctypes.byref(given),
        None,
        ctypes.byref(name),
        None,
        ctypes.byref(answer),
        None,
        None,
        None,
    )
    gssapi._call("gss_display_name", name, ctypes.byref(text), None)
    return text.take().decode(), base64.b64encode(answer.take()).decode()
