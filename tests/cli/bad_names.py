"""Bad inputs: names that are neither a file nor in the catalogue, and paths of another file."""

from __future__ import annotations

from pathlib import Path

from tests.cli.bad_case import CHECK, GOOD, Bad


def _dangling(folder: Path) -> None:
    """A link to a file that does not exist."""
    (folder / "link.yaml").symlink_to("elsewhere.yaml")


NAMES = [
    # -- names of the catalogue
    Bad(
        "near miss of a study",
        "check dmo",
        3,
        ("no file and no study of the catalogue named 'dmo'", "did you mean 'demo'?"),
    ),
    Bad(
        "study of a validation that is not there",
        "validate scaled zzzzz",
        3,
        ("no file and no study of the catalogue named 'zzzzz'", "catalogue list"),
    ),
    Bad(
        "study of storage checks that is not there",
        "storage-checks hdfs-or-cefs",
        3,
        ("no study of the catalogue", "did you mean 'hdfs-or-cephfs'?"),
    ),
    Bad(
        "near miss of parts",
        "size --within 30min --parts servers-2015",
        3,
        ("no file and no parts file of the catalogue", "did you mean 'servers-2014'?"),
    ),
    Bad("file of a study that is not there", "check ./dmo", 3, ("dmo: the file does not exist",)),
    Bad(
        "link to nothing",
        "check {d}/link.yaml",
        3,
        ("link.yaml: the link points to elsewhere.yaml, which does not exist",),
        prepare=_dangling,
    ),
    # -- changes of the command line
    Bad(
        "change of a workload of the study",
        CHECK + " --set workloads.terasort.size=2TB",
        2,
        (
            "--set changes only the cluster description",
            "'workloads.terasort.size' is a key of the study",
            "make it a factor",
        ),
        study=GOOD,
    ),
    Bad(
        "change of the protocol",
        CHECK + " --set protocol.rounds=5",
        2,
        ("'protocol.rounds' is a key of the study",),
        study=GOOD,
    ),
    Bad(
        "change of the testbed",
        "plan {d}/study.yaml --set testbed=local",
        2,
        ("'testbed' is a key of the study",),
        study=GOOD,
    ),
    Bad(
        "key of a number",
        CHECK + " --set hosts.worker.count.x=5",
        3,
        ("'hosts.worker.count' is a number and has no keys", "hosts.worker.count=VALUE"),
        study=GOOD,
    ),
]
