"""How the web endpoints of a cluster are reached: certificate, Kerberos, proxy, user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import UsageError


@dataclass(frozen=True)
class Access:
    """The means of a client; all optional.

    Parameters
    ----------
    ca_file:
        PEM file of the certificates that are trusted; default: those of the system.
    keytab, principal:
        Kerberos key table and the principal of its key. Tickets are then kept in memory and
        renewed from the keytab. Default: the ticket cache.
    ticket_cache:
        Ticket cache (``KRB5CCNAME``); default: that of the user.
    krb5_conf:
        Kerberos configuration (``KRB5_CONFIG``); default: that of this machine.
    proxy:
        URL of an HTTP proxy. Proxies of the environment are not used.
    user:
        User name, where the cluster has no Kerberos, or with ``password_file``.
    password_file:
        File whose first line is the password of ``user`` (Knox, HttpFS); needs TLS.
    timeout_s:
        Limit of the time to connect, and between two parts of an answer.
    """

    ca_file: Path | None = None
    keytab: Path | None = None
    principal: str | None = None
    ticket_cache: str | None = None
    krb5_conf: Path | None = None
    proxy: str | None = None
    user: str | None = None
    password_file: Path | None = None
    timeout_s: float = 20.0

    def check(self) -> None:
        """Raise UsageError for options that exclude or need each other, or a missing file."""
        for name, file in (
            ("CA file", self.ca_file),
            ("keytab", self.keytab),
            ("Kerberos configuration", self.krb5_conf),
            ("password file", self.password_file),
        ):
            if file is not None and not file.is_file():
                raise UsageError(
                    f"the {name} {file} does not exist or is not a file",
                    remedy="correct the path.",
                )
        if self.principal is not None and self.keytab is None:
            raise UsageError(
                "a principal needs a keytab",
                remedy="add the keytab, or remove the principal: the ticket cache contains it.",
            )
        if self.keytab is not None and self.ticket_cache is not None:
            raise UsageError(
                "a keytab and a ticket cache exclude each other", remedy="specify one of them."
            )
        if self.password_file is not None and self.user is None:
            raise UsageError("a password file needs a user", remedy="add the name of the user.")

    def password(self) -> str | None:
        """The password; None without a password file.

        Raises
        ------
        UsageError
            If the file cannot be read, or its first line is empty.
        """
        if self.password_file is None:
            return None
        try:
            lines = self.password_file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            said = "not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
            raise UsageError(
                f"the password file {self.password_file} cannot be read: {said}",
                remedy="check its path, its permissions and its encoding.",
            ) from None
        if not lines or not lines[0]:
            raise UsageError(
                f"the first line of the password file {self.password_file} is empty",
                remedy="write the password into its first line.",
            )
        return lines[0]
