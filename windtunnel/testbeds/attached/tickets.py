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

    def renew(self) -> None:
        """Request a ticket if the last one is older than an hour.

        Raises
        ------
        SetupError
            If this machine has no ``kinit``.
        DeploymentError
            If the ticket is refused.
        """
        now = time.monotonic()
        if now - self._renewed < _RENEWAL_S:
            return
        program = shutil.which("kinit")
        if program is None:
            raise SetupError(
                "a keytab needs the program kinit",
                remedy="install Kerberos' clients (Debian: krb5-user), or use a ticket cache.",
            )
        options = self._options
        config = options.krb5_conf
        words = [program, "-c", f"FILE:{self.file}", "-kt", str(options.keytab)]
        try:
            done = subprocess.run(
                [*words, str(options.principal)],
                env=os.environ | ({"KRB5_CONFIG": config} if config else {}),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_LIMIT_S,
                check=False,
            )
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
        self._renewed = now


def tickets_of(options: AttachedOptions, folder: Path) -> Tickets | None:
    """The tickets from the keytab; None if the user's own cache is used."""
    return Tickets(options, folder) if options.keytab else None
