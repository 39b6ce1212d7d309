"""The settings of the jobs of a study on an existing cluster."""

from __future__ import annotations

import re
from collections.abc import Sequence

from windtunnel.cluster import Cluster
from windtunnel.cluster.settings import affects, engine_of, text_of
from windtunnel.testbeds.attached.access import ClusterAccess
from windtunnel.testbeds.attached.options import OLD_QUEUE, QUEUE
from windtunnel.testbeds.attached.status import Identity

TAGS = "mapreduce.job.tags"
_ADD_OPENS = "mapreduce.jvm.add-opens-as-default"
_ADD_OPENS_SINCE = (3, 4)


def job_settings(
    cluster: Cluster, access: ClusterAccess, identity: Identity, folder: str, tags: Sequence[str]
) -> dict[str, str]:
    """The properties of all clients: those of the study, the queue, tags, and folders.

    Parameters
    ----------
    folder:
        The folder of the run. The files of submitted jobs are inside it, so that nothing of a
        killed job remains elsewhere.
    """
    own = {
        name: text_of(value)
        for name, value in cluster.settings.items()
        if affects(name) == "client" and not engine_of(name) and name != OLD_QUEUE
    }
    return (
        _for_older_cluster(access, identity)
        | own
        | {
            QUEUE: access.options.queue_of(cluster.settings),
            TAGS: ",".join(tags),
            "yarn.app.mapreduce.am.staging-dir": f"{folder}/staging",
            "mapreduce.jobhistory.intermediate-done-dir": access.site.history_folders[0],
            # The application master writes the history file in this form. The default is a binary
            # form; history servers read both.
            "mapreduce.jobhistory.jhist.format": "json",
        }
    )


def _for_older_cluster(access: ClusterAccess, identity: Identity) -> dict[str, str]:
    """Settings without which Windtunnel's client cannot submit to an older cluster.

    From 3.4 on, clients write ``<ADD_OPENS>`` into the commands of containers. NodeManagers before
    3.4 do not replace it, and every application master fails. If the version is unknown, Hadoop's
    default applies: on Java 17, 3.4 needs it. The cluster's own client needs nothing.
    """
    options, version = access.options, identity.versions["resourcemanager"]
    number = re.match(r"(\d+)\.(\d+)", version)
    if number is None or not options.own_jars or access.site.get(_ADD_OPENS):
        return {}
    older = (int(number[1]), int(number[2])) < _ADD_OPENS_SINCE
    return {_ADD_OPENS: "false"} if older else {}
