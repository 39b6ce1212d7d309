"""The account of a deployment's processes if root starts the deployment.

No account is created on the machine. The processes get a user id that no account has, different
for each deployment. They see a user database (``/etc/passwd``) with a name for this id, which Java
and Hadoop need. ``WINDTUNNEL_ACCOUNT`` names an existing account instead, or ``root``.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import SetupError

VARIABLE = "WINDTUNNEL_ACCOUNT"
DEFAULT_NAME = "windtunnel"
# between the ranges that systemd reserves for containers and the end of signed 32-bit numbers
# (systemd, "Users, Groups, UIDs and GIDs on systemd Systems")
FIRST_ID, _IDS = 1_900_000_000, 200_000_000


@dataclass(frozen=True)
class Account:
    """User and group of processes; ``listed``: the machine's user database has the account."""

    name: str
    uid: int
    gid: int
    listed: bool


def account_for(deployment: str) -> Account | None:
    """The account of a deployment that root starts; None: its processes run as root.

    Parameters
    ----------
    deployment:
        Id of the deployment, ``wt-`` and eight hexadecimal digits.

    Raises
    ------
    SetupError
        If ``WINDTUNNEL_ACCOUNT`` names no account.
    """
    name = os.environ.get(VARIABLE, "")
    if not name:
        number = _free_id(int(deployment.removeprefix("wt-"), 16))
        return Account(DEFAULT_NAME, number, number, listed=False)
    try:
        known = pwd.getpwnam(name)
    except KeyError:
        raise SetupError(
            f"{VARIABLE} is '{name}', but this machine has no such account",
            remedy=f"name an existing account, or unset {VARIABLE}.",
        ) from None
    return None if known.pw_uid == 0 else Account(name, known.pw_uid, known.pw_gid, listed=True)


def _free_id(seed: int) -> int:
    number = FIRST_ID + seed % _IDS
    while True:
        try:
            pwd.getpwuid(number)
        except KeyError:
            return number
        number += 1


def user_database(account: Account, home: Path) -> dict[str, str]:
    """The machine's ``/etc/passwd`` and ``/etc/group`` plus the account, by path."""
    user = f"{account.name}:x:{account.uid}:{account.gid}:Windtunnel:{home}:/bin/sh\n"
    group = f"{account.name}:x:{account.gid}:\n"
    return {
        path: _without(path, account.name) + line
        for path, line in (("/etc/passwd", user), ("/etc/group", group))
    }


def _without(path: str, name: str) -> str:
    lines = Path(path).read_text(errors="surrogateescape").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(f"{name}:"))
