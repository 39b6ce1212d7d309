"""How deployments on this machine are isolated from its other accounts."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from windtunnel.hosts.isolation.account import VARIABLE, Account, account_for, user_database
from windtunnel.hosts.isolation.confine import ETC, Confinement, Network
from windtunnel.hosts.isolation.view import Shown

FLAG = "--open-to-local-accounts"
OPEN_MEANS = (
    "every account on this machine can reach the cluster's ports and run programs as this user"
)
GUARDED_MEANS = (
    "its Java daemons refuse the connections of other accounts themselves; those of spark, trino "
    "and kudu do not"
)
_PROBE_LIMIT_S = 30
_SYSCTL = Path("/proc/sys")
# Settings that can forbid user namespaces: name, forbidding value, permitting value.
_SETTINGS = (
    ("user/max_user_namespaces", "0", "15000"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
)


@dataclass(frozen=True)
class Isolation:
    """How a deployment is isolated from other accounts.

    ``mount_point`` is the folder at which a process mounts files for all others, if one does.
    ``open_because`` is the reason why they can reach its ports, ``root_because`` the reason why
    its processes run as root; each is empty if that is not the case. ``remedy`` fixes the former.
    """

    network: Network
    confinement: Confinement | None = None
    open_because: str = ""
    root_because: str = ""
    remedy: str = ""
    mount_point: Path | None = None

    @property
    def closed(self) -> bool:
        """Whether no other account except root can reach the deployment."""
        return not self.open_because

    @property
    def guarded(self) -> bool:
        """Whether Java daemons themselves refuse other users, without a network namespace."""
        return not self.closed and sys.platform == "linux"

    @property
    def caveat(self) -> str:
        """One line about missing isolation; empty if nothing is missing."""
        if self.guarded:
            as_root = "; the daemons run as root" if self.root_because else ""
            return (
                f"isolation: no network namespace ({self.open_because}); {GUARDED_MEANS}{as_root}"
            )
        if self.open_because:
            return f"isolation: {OPEN_MEANS} ({self.open_because})"
        if self.root_because:
            return f"isolation: the daemons run as root ({self.root_because})"
        return ""

    @property
    def account(self) -> str:
        """Name of the account of the deployment's processes."""
        return self.confinement.account.name if self.confinement else getpass.getuser()

    def facts(self) -> dict[str, Any]:
        """The isolation for the provenance of a trial."""
        kept_out = {"closed": self.closed, "guarded": self.guarded}
        return {"network": self.network, "account": self.account, **kept_out}


def isolation(folders: Sequence[Path] = (), outside: str = "") -> Isolation:
    """The isolation that this machine can provide for a deployment of this user.

    Parameters
    ----------
    folders:
        Future folders of its data and logs; their existing parents are examined.
    outside:
        What its processes must reach outside of a network of their own; empty: nothing.
    """
    root = os.geteuid() == 0
    if outside:
        return Isolation(
            "the machine's",
            open_because=f"its processes must reach {outside}",
            root_because=_root_because("", folders) if root else "",
            remedy="Run as a user other than root.",
        )
    network: Network = "own" if root else "own, with a user namespace"
    problem = (
        _tried("network", network)
        if sys.platform == "linux"
        else f"{sys.platform} has no namespaces"
    )
    if problem:
        network = "the machine's"
    return Isolation(
        network,
        open_because=problem,
        root_because=_root_because(problem, folders) if root else "",
        remedy=_remedy(_SYSCTL) if problem else "",
    )


def refusal(found: Isolation, *, permit_open: bool, unguarded: Sequence[str] = ()) -> str:
    """Why no deployment may start, with the remedy; empty if one may start.

    A cluster of root without isolation gives every account of the machine the rights of root.
    ``unguarded`` are the engines whose daemons accept connections of every account.
    """
    if found.closed or permit_open or os.geteuid() != 0:
        return ""
    if found.guarded and not unguarded:
        return ""
    if found.guarded:
        return (
            f"isolation: started as root, without a network namespace ({found.open_because}), and "
            f"the daemons of {', '.join(unguarded)} serve every account of this machine. "
            f"{found.remedy} Or accept it with {FLAG}"
        )
    return (
        f"isolation: started as root, {OPEN_MEANS} ({found.open_because}). {found.remedy} "
        f"Or accept it with {FLAG}"
    )


def confined(
    base: Isolation,
    deployment: str,
    folder: Path,
    logs: Path,
    reads: Sequence[Path],
    mount_point: Path | None = None,
) -> Isolation:
    """The isolation of one deployment; if root starts it, with an account of its own.

    Parameters
    ----------
    base:
        The result of :func:`isolation`.
    deployment, folder:
        Id and registration folder, in which ``scratch`` must exist.
    logs:
        Folder that the processes write logs to, linked as ``logs`` in the registration folder.
    reads:
        Folders of software, in addition to those of Python and of this package.
    mount_point:
        See :class:`Isolation`.
    """
    if mount_point is not None:
        mount_point.mkdir(parents=True, exist_ok=True)
        base = replace(base, mount_point=mount_point)
    account = None if base.root_because or os.geteuid() != 0 else account_for(deployment)
    if account is None:
        return base
    scratch = folder / "scratch"
    for own in ("home", "tmp"):
        (scratch / own).mkdir(exist_ok=True)
    # in scratch, only the folders of hosts, home and tmp are writable: see ``confine``
    shown = [Shown(scratch, scratch)]
    writable = [(scratch / "home", scratch / "home"), (logs, logs), (logs, folder / "logs")]
    shown += [Shown(source, target, writable=True) for source, target in writable]
    shown += [Shown(path, path) for path in dict.fromkeys((*_own_software(), *reads))]
    if mount_point is not None:
        shown.append(Shown(mount_point, mount_point, writable=True, mapped=False))
    etc = None if account.listed else _database(account, folder)
    confinement = Confinement(account, scratch / "home", scratch / "tmp", shown, etc)
    return replace(base, confinement=confinement)


def _database(account: Account, folder: Path) -> Path:
    """A folder with the machine's user database plus this account."""
    etc = folder / ETC
    etc.mkdir(exist_ok=True)
    for path, text in user_database(account, folder / "scratch" / "home").items():
        file = etc / Path(path).name
        file.write_text(text, errors="surrogateescape")
        file.chmod(0o644)
    etc.chmod(0o755)
    return etc


def _root_because(problem: str, folders: Sequence[Path]) -> str:
    """Why the processes of root's deployments run as root; empty if they do not."""
    if problem:
        return problem
    if account_for("wt-00000000") is None:
        return f"{VARIABLE} names it"
    there = [next(p for p in (folder, *folder.parents) if p.is_dir()) for folder in folders]
    refused = {place: _tried("mounts", str(place)) for place in there}
    text = "; ".join(f"{place}: {why}" for place, why in refused.items() if why)
    return f"no ID-mapped mounts of {text}" if text else ""


def _own_software() -> list[Path]:
    """Folders of Python and of this package: some of its programs run on the hosts."""
    package, real = Path(__file__).parents[2], Path(sys.executable).resolve().parents[1]
    return [Path(sys.prefix), Path(sys.base_prefix), real, package]


@cache
def _tried(what: str, which: str) -> str:
    """Why a feature of ``probe`` is not available here; empty if it is."""
    return try_out([what, which])


def try_out(words: Sequence[str], run: Callable[..., Any] = subprocess.run) -> str:
    """Run the probe; returns the reason of its failure, empty after success."""
    argv = [sys.executable, "-P", "-m", "windtunnel.hosts.isolation.probe", *words]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    try:
        done = run(
            argv, capture_output=True, text=True, timeout=_PROBE_LIMIT_S, check=False, env=env
        )
    except subprocess.TimeoutExpired:
        return f"the probe did not end within {_PROBE_LIMIT_S} s"
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines()
    return str(lines[-1]) if lines else f"the probe ended with exit code {done.returncode}"


def _remedy(sysctl: Path) -> str:
    """A sentence with the change that would permit the namespaces."""
    if sys.platform != "linux":
        return "Use a Linux machine, or a machine on which only you have an account."
    for name, forbids, permits in _SETTINGS:
        file = sysctl / name
        if file.exists() and file.read_text().strip() == forbids:
            return f"Permit namespaces as root: sysctl {name.replace('/', '.')}={permits}."
    return "Run where namespaces can be created: as root, with CAP_SYS_ADMIN in a container."
