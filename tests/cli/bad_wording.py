"""Bad inputs whose messages quote the text of the user and name the option or the key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.bad_case import CHECK, GOOD, Bad, edited
from tests.cli.prepared import results_of_another_study


def allow_list(content: str) -> Callable[[Path], None]:
    """Writes the allow list of the user."""

    def write(folder: Path) -> None:
        import os

        file = folder / "allowed.json"
        file.write_text(content)
        os.environ["WINDTUNNEL_ALLOWED"] = str(file)

    return write


RACKS = "set: {network: {racks: {a: {hosts: [master, wrker]}}}}\n"
FIT = "fit published:cisco-2014 --out {d}/f.json"

WORDING = [
    # -- study files
    Bad(
        "name of a study with a space",
        CHECK,
        3,
        ("study.yaml:1", "use letters, digits, '.', '_' and '-'", "begin with a letter or digit"),
        study=edited("study: toy", "study: my study"),
    ),
    Bad(
        "name of a study that is too long",
        CHECK,
        3,
        ("study.yaml:1", "must have at most 100 characters"),
        study=edited("study: toy", f"study: {'a' * 101}"),
    ),
    Bad(
        "fault that is a number",
        CHECK,
        3,
        ("study.yaml:5: key 'fault'", "such as {kind: kill-host, host: worker-1}, or a list of"),
        study=GOOD + "fault: 5\n",
    ),
    Bad(
        "fault that slows to nothing",
        CHECK,
        3,
        ("key 'fault.to': must be more than 0, not 0\n",),
        study=GOOD + "fault: {kind: slow-nic, host: worker-1, to: 0}\n",
    ),
    Bad(
        "rack with an unknown host",
        CHECK,
        3,
        ("did you mean 'worker'?", "known hosts: master, worker, worker-1, worker-2, worker-3"),
        study=GOOD + RACKS,
    ),
    Bad(
        "external storage of an unknown host class",
        CHECK,
        3,
        ("known host classes: master, worker",),
        study=GOOD + "set: {storage.external: [store]}\n",
    ),
    Bad(
        "one combination for an optimal design",
        CHECK,
        3,
        ("the factors have 1 combination, and",),
        study=GOOD + "design: {kind: optimal, treatments: 2}\n",
    ),
    Bad(
        "duration with an unknown unit",
        CHECK,
        3,
        ("'5 fortnights' is not a duration",),
        study=GOOD + "protocol: {pause: 5 fortnights}\n",
    ),
    Bad(
        "duration that is true",
        CHECK,
        3,
        ("must be a duration", "not true"),
        study=GOOD + "protocol: {pause: true}\n",
    ),
    Bad(
        "fraction that is empty",
        CHECK,
        3,
        ("must be a fraction", "not an empty value"),
        study=GOOD + "protocol: {variation_limit: }\n",
    ),
    # -- options
    Bad("time limit without a unit", "size --within 5", 2, ("--within: '5' has no unit",)),
    Bad(
        "negative budget",
        "size --within 5min --budget -5USD",
        2,
        ("--budget: must be zero or more, not '-5USD'", "--budget '250000 USD'"),
    ),
    Bad(
        "list of treatments that is not there",
        FIT + " --only nope",
        2,
        ("--only nope cannot be read: No such file or directory\n",),
    ),
    Bad("list of treatments that is a folder", FIT + " --only {d}", 2, ("read: Is a directory\n",)),
    Bad("removal of no cluster", "allow --remove", 2, ("--remove requires the id of a cluster",)),
    Bad(
        "allow list with a number",
        "allow",
        6,
        ("allowed.json cannot be read: entry 1 is not a mapping", "all permissions are lost"),
        prepare=allow_list("[1]"),
    ),
    Bad(
        "allow list without its keys",
        "allow",
        6,
        ("entry 1 must have the keys cluster, queue",),
        prepare=allow_list('[{"cluster": "x"}]'),
    ),
    Bad(
        "server without a scheme",
        "inspect --namenode nn:9870",
        2,
        ("--namenode 'nn:9870' is not a URL", "http://HOST:PORT"),
    ),
    Bad(
        "two files with one name",
        "report {d}/out --csv {d}/o.x --parquet {d}/out/../o.x",
        2,
        ("--csv and --parquet are the same file",),
        prepare=results_of_another_study,
    ),
    Bad(
        "two formats",
        "report {d}/out --json --markdown",
        2,
        ("--json and --markdown exclude each other",),
        prepare=results_of_another_study,
    ),
]
