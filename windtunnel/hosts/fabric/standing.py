"""A fabric for a while: virtual hosts without a cluster on them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from windtunnel.hosts.fabric.fabric import Fabric
from windtunnel.hosts.fabric.plan import FabricPlan
from windtunnel.hosts.isolation.policy import confined, isolation
from windtunnel.hosts.local import SupervisorClient
from windtunnel.hosts.remains import Registration


@contextlib.contextmanager
def standing(plan: FabricPlan, purpose: str, logs: Path | None = None) -> Iterator[Fabric]:
    """Build a fabric, and undo it whatever happens; a killed program's supervisor does so.

    Parameters
    ----------
    purpose:
        What the register of deployments calls it.
    logs:
        Folder for what is to be kept; left out: nothing is.

    Raises
    ------
    NotRealisableError, DeploymentError
        As ``Fabric.build``; ResultsError if the state folder cannot be written.
    """
    registration = Registration.create("scaled")
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
