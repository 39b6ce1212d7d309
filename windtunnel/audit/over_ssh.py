"""The facts of hosts by SSH: the script that collects them runs there, and nothing is left."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from windtunnel.audit import collect_facts
from windtunnel.audit.facts import HostFacts, of_document
from windtunnel.audit.result import SSH, Result, Status
from windtunnel.errors import ClusterAccessError, DescriptionError, UsageError
from windtunnel.hosts.ssh import SshAccess, SshHosts

SCHEME = "ssh://"
_COMMAND = "python3 -"
_LIMIT_S = 300.0
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@$-]*")


@dataclass(frozen=True)
class SshFacts:
    """The facts of the hosts that gave them, and an UNKNOWN result for each of the others."""

    hosts: list[HostFacts]
    failures: list[Result]


def ssh_facts(targets: Sequence[str]) -> SshFacts:
    """The facts of each target ``ssh://[USER@]HOST[:PORT]``, in their order.

    Targets that are the same host with the same login give the facts once. A host fails if it
    refuses the login, does not answer, has no Python 3.6, or answers something else.

    Raises
    ------
    UsageError
        If a target has another form.
    ClusterAccessError
        If all hosts fail.
    """
    places = {target: _place(target) for target in targets}
    script = Path(collect_facts.__file__).read_text(encoding="utf-8")
    answers: dict[tuple[str, SshAccess], str | ClusterAccessError] = {}
    for access in dict.fromkeys(access for _, access in places.values()):
        names = [host for host, one in places.values() if one == access]
        with closing(SshHosts(access)) as hosts:
            outputs = hosts.run(names, _COMMAND, text=script, limit_s=_LIMIT_S)
        answers |= {(host, access): output for host, output in outputs.items()}
    targets_of = {place: target for target, place in places.items()}
    found: list[HostFacts] = []
    failed: dict[str, ClusterAccessError] = {}
    for place, target in targets_of.items():
        try:
            found.append(_facts(target, answers[place]))
        except ClusterAccessError as error:
            failed[target] = error
    if failed and not found:
        first = next(iter(failed.values()))
        others = f" (all {len(failed)} hosts failed)" if len(failed) > 1 else ""
        raise ClusterAccessError(first.message + others, remedy=first.remedy, reason=first.reason)
    return SshFacts(found, [_failure(target, error) for target, error in failed.items()])


def _failure(target: str, error: ClusterAccessError) -> Result:
    """The result of a host that could not be audited."""
    return Result(
        check=SSH,
        area="host",
        severity="medium",
        subject=target,
        about="",
        status=Status.UNKNOWN,
        question="Does the host give its facts by SSH?",
        observed=f"{error.message}; {error.remedy}" if error.remedy else error.message,
        expected="the facts of the host",
        reason="Nothing is known about a host without facts.",
        source="audit collect",
        remedy="",
    )


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


def _facts(target: str, answer: str | ClusterAccessError) -> HostFacts:
    """The facts in the answer of a host; raises ClusterAccessError."""
    if isinstance(answer, ClusterAccessError):
        raise _explained(answer)
    try:
        return of_document(json.loads(answer), target)
    except (ValueError, RecursionError):
        first = answer.strip().splitlines()[:1]
        raise ClusterAccessError(
            f"{target}: its answer is no JSON" + (f": {first[0][:100]}" if first else ""),
            remedy="a start-up file of the login shell must not print text.",
            reason="no facts",
        ) from None
    except DescriptionError as error:
        raise ClusterAccessError(
            f"{target}: {error.message}", remedy=error.remedy, reason="no facts"
        ) from None
