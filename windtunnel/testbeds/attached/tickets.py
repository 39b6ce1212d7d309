"""Kerberos tickets from a keytab, in a cache of the study's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from windtunnel.errors import DeploymentError, SetupError
from windtunnel.testbeds.attached.options import AttachedOptions

_LIMIT_S = 30.0
_RENEWAL_S = 3600.0
_REPETITION_S = 60.0


class Tickets:
    """A ticket cache that is filled from a keytab, and again every hour.

    Parameters
    ----------
    folder:
        Private folder for the cache.
    """

    def __init__(self, options: AttachedOptions, folder: Path) -> None:
        self._options = options
        self._renewed = -_RENEWAL_S
        self.file = folder / "tickets"
        self._cache = f"FILE:{self.file}"

    def renew(self) -> str:
        """Request a ticket if the last one is older than an hour.

        While the last ticket is valid, a request that fails is repeated after a minute.

        Returns
        -------
        str
            Why the request failed although the last ticket is valid; empty otherwise.

        Raises
        ------
        SetupError
            If this machine has no ``kinit``.
        DeploymentError
            If the ticket is refused.
        """
        now = time.monotonic()
        if now - self._renewed < _RENEWAL_S:
            return ""
        try:
            self._request()
        except DeploymentError as error:
            if not self._valid():
                raise
            self._renewed = now - _RENEWAL_S + _REPETITION_S
            return error.message
        self._renewed = now
        return ""

    def _request(self) -> None:
        options = self._options
        keytab = Path(str(options.keytab)).expanduser()
        try:
            done = self._run("kinit", "-kt", str(keytab), "-c", self._cache, str(options.principal))
        except subprocess.TimeoutExpired as error:
            raise DeploymentError(
                f"kinit did not end within {_LIMIT_S:.0f} s",
                remedy="check the network to the KDC.",
            ) from error
        if done.returncode != 0:
            raise DeploymentError(
                f"no Kerberos ticket for {options.principal}: "
                f"{done.stderr.decode(errors='replace').strip()[:300]}",
                remedy="check the principal and the keytab with 'klist -k', and this machine's "
                "clock.",
            )

    def _valid(self) -> bool:
        """Whether the cache has a ticket that has not expired."""
        try:
            return self._run("klist", "-s", self._cache).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def _run(self, name: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Run a program of Kerberos; raises SetupError without the program."""
        program = shutil.which(name)
        if program is None:
            raise SetupError(
                f"a keytab needs the program {name}",
                remedy="install Kerberos' clients (Debian: krb5-user), or use a ticket cache.",
            )
        config = self._options.krb5_conf
        env = {"KRB5_CONFIG": str(Path(config).expanduser())} if config else {}
        return subprocess.run(
            [program, *words],
            env=os.environ | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            start_new_session=True,  # Ctrl-C and the end of the terminal do not end it
            timeout=_LIMIT_S,
            check=False,
        )


def tickets_of(options: AttachedOptions, folder: Path) -> Tickets | None:
    """The tickets from the keytab; None if the user's own cache is used."""
    return Tickets(options, folder) if options.keytab else None
