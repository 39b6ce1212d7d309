"""A temporary fabric: virtual hosts without a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from windtunnel.hosts.fabric.fabric import Fabric
from windtunnel.hosts.fabric.plan import FabricPlan
from windtunnel.hosts.isolation.policy import confined, isolation
from windtunnel.hosts.leftovers import Registration
from windtunnel.hosts.local import SupervisorClient


@contextlib.contextmanager
def standing(plan: FabricPlan, purpose: str, logs: Path | None = None) -> Iterator[Fabric]:
    """Build a fabric, and undo it in all cases; if this program is killed, the supervisor does so.

    Parameters
    ----------
    purpose:
        Its name in the register of deployments.
    logs:
        Folder of the logs; without it they are not kept.

    Raises
    ------
    NotRealisableError, DeploymentError
        As ``Fabric.build``; ResultsError if the state folder cannot be written.
    """
    registration = Registration.create("fabric")
    supervisor = None
    fabric = None
    try:
        kept = logs or registration.folder / "kept"
        kept.mkdir(parents=True, exist_ok=True)
        isolated = confined(isolation([kept]), registration.id, registration.folder, kept, [])
        log = registration.folder / "supervisor.log"
        supervisor = SupervisorClient(registration.id, [registration.scratch], log, isolated)
        registration.update(supervisor=supervisor.pid, cluster=purpose)
        fabric = Fabric(registration, supervisor, kept)
        fabric.build(plan)
        yield fabric
    finally:
        if supervisor is not None:
            supervisor.close()
        if fabric is not None:
            fabric.close()
        registration.forget()
