"""What HDFS promises, tested on a running cluster."""

from __future__ import annotations

from windtunnel.engines.storage_checks.run import HADOOP, run_checks
from windtunnel.testbeds.local import LocalDeployment


def test_what_hdfs_promises(deployment: LocalDeployment) -> None:
    hadoop, posix = run_checks(deployment, "HDFS", deployment.registration.folder)
    assert (hadoop.level, hadoop.through) == ("HDFS", HADOOP)
    expected = {
        "rename-file": "yes",
        "rename-over-file": "differs",
        "hard-link": "no",
        "append": "yes",
        "truncate": "differs",
        "concat": "yes",
        "data-without-flush": "no",
        "data-after-hflush": "yes",
        "two-appenders": "no",
        "permissions-enforced": "yes",
        "access-lists": "yes",
        "snapshot": "yes",
        "exclusive-create": "yes",
    }
    found = {name: hadoop.answers[name].word for name in expected}
    assert found == expected
    assert posix.missing == "Windtunnel has no mount of hdfs"
    assert deployment.files.folders("/tmp/storage-checks") == []
