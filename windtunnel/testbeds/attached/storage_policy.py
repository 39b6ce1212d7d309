"""Storage policies of HDFS as levels of a factor, on an existing cluster."""

from __future__ import annotations

from windtunnel.testbeds.attached.status import Status
from windtunnel.testbeds.base import Realisation, StudyRequest

POLICY = "storage.policy"
# Policy of HDFS -> the type of disk without which it stores the data elsewhere.
_TYPE_OF_POLICY = {
    "WARM": "ARCHIVE",
    "COLD": "ARCHIVE",
    "ALL_SSD": "SSD",
    "ONE_SSD": "SSD",
    "ALL_NVDIMM": "NVDIMM",
    "LAZY_PERSIST": "RAM_DISK",
    "PROVIDED": "PROVIDED",
}


def storage_types(request: StudyRequest, status: Status) -> Realisation:
    """Check that HDFS has the disks of each policy: without them, it uses others silently."""
    policies = [one.cluster.storage.policy for one in request.treatments]
    wanted = {policy: _TYPE_OF_POLICY.get(policy, "DISK") for policy in policies if policy}
    if not wanted:
        return Realisation()
    known = status.storage_types()
    if not known:
        return Realisation(
            unrealised=[
                f"{POLICY}: the NameNode does not report the types of its disks, so it is UNKNOWN "
                "whether HDFS can follow the policies"
            ]
        )
    return Realisation(
        [
            f"{POLICY}: {policy} needs disks of the type {kind}, and HDFS has "
            f"{', '.join(sorted(known))}"
            for policy, kind in wanted.items()
            if kind not in known
        ]
    )
