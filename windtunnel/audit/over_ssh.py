"""The facts of hosts by SSH: the script that collects them runs there, and nothing is left."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from windtunnel.audit import collect_facts
from windtunnel.audit.facts import HostFacts, of_document
from windtunnel.errors import ClusterAccessError, UsageError
from windtunnel.hosts.ssh import SshAccess, SshHosts

SCHEME = "ssh://"
_COMMAND = "python3 -"
_LIMIT_S = 300.0
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@$-]*")


def ssh_facts(targets: Sequence[str]) -> list[HostFacts]:
    """The facts of each target ``ssh://[USER@]HOST[:PORT]``, in their order.

    Targets that are the same host with the same login give the facts once.

    Raises
    ------
    UsageError
        If a target has another form.
    ClusterAccessError
        If a host refuses the login, does not answer, or has no Python 3.6.
    """
    places = {target: _place(target) for target in targets}
    script = Path(collect_facts.__file__).read_text(encoding="utf-8")
    answers: dict[tuple[str, SshAccess], str | ClusterAccessError] = {}
    for access in dict.fromkeys(access for _, access in places.values()):
        names = [host for host, one in places.values() if one == access]
        with closing(SshHosts(access)) as hosts:
            outputs = hosts.run(names, _COMMAND, text=script, limit_s=_LIMIT_S)
        answers |= {(host, access): output for host, output in outputs.items()}
    failed = [answer for answer in answers.values() if isinstance(answer, ClusterAccessError)]
    if failed:
        first = _explained(failed[0])
        others = f" ({len(failed)} of {len(answers)} hosts failed)" if len(answers) > 1 else ""
        raise ClusterAccessError(first.message + others, remedy=first.remedy, reason=first.reason)
    targets_of = {place: target for target, place in places.items()}
    return [_facts(target, str(answers[place])) for place, target in targets_of.items()]


def _place(target: str) -> tuple[str, SshAccess]:
    """The host of a target, and how it is logged in to."""
    try:
        parts = urlsplit(target)
        host, user, port = parts.hostname, parts.username, parts.port
        more = parts.password or parts.path or parts.query or parts.fragment
    except ValueError:
        host = user = port = more = None
    if not host or more or (user is not None and not _USER.fullmatch(user)):
        raise UsageError(
            f"'{target}' is no host", remedy=f"write {SCHEME}HOST or {SCHEME}USER@HOST:PORT."
        )
    return host, SshAccess(user=user, port=port)


def _explained(error: ClusterAccessError) -> ClusterAccessError:
    """The error with the remedy for a host on which the script does not run."""
    if error.reason != "command failed":
        return error
    return ClusterAccessError(
        error.message,
        remedy="the host needs Python 3.6 or newer as 'python3'; the script can also be copied: "
        "windtunnel audit collect --script.",
        reason=error.reason,
    )


def _facts(target: str, output: str) -> HostFacts:
    try:
        document = json.loads(output)
    except ValueError:
        first = output.strip().splitlines()[:1]
        raise ClusterAccessError(
            f"{target}: its answer is no JSON" + (f": {first[0][:100]}" if first else ""),
            remedy="a start-up file of the login shell must not print text.",
            reason="no facts",
        ) from None
    return of_document(document, target)
