"""Storage policies of HDFS as levels of a factor, on an existing cluster."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.testbeds.attached.status import Status
from windtunnel.testbeds.base import StudyRequest

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


def missing_types(request: StudyRequest, status: Status) -> Iterator[str]:
    """Storage policies whose type of disk HDFS does not have: it would use others silently."""
    policies = [one.cluster.storage.policy for one in request.treatments]
    known = status.storage_types() if any(policies) else set()
    for policy in dict.fromkeys(policies):
        wanted = _TYPE_OF_POLICY.get(policy or "", "DISK")
        if policy and known and wanted not in known:
            yield (
                f"{POLICY}: {policy} needs disks of the type {wanted}, and HDFS has "
                f"{', '.join(sorted(known))}"
            )
