"""The configuration of the local testbed: what fails there is declared, with reasons."""

from __future__ import annotations

import datetime as dt
from importlib import resources
from pathlib import Path

from tests.engines.test_hadoop_layout import GIB, layout_of
from windtunnel.audit.audit import Audit, Subject, run
from windtunnel.audit.configuration import combined, read_configuration
from windtunnel.audit.exceptions import applied, read_exceptions
from windtunnel.audit.hardware import Hardware
from windtunnel.engines.hadoop.layout import site_files

DECLARED = Path(str(resources.files("windtunnel.catalogue").joinpath("audit/exceptions")))
MACHINE = Hardware(
    cores=2,
    threads=2,
    memory_bytes=8 * GIB,
    data_disks=1,
    workers=3,
    datanodes=3,
    mixed=False,
    shared_by=3,
)


def local(folder: Path) -> Audit:
    layout, parts = layout_of(folder), []
    for placement in layout.placements:
        place = folder / f"{placement.host.name}-conf"
        place.mkdir()
        for name, text in site_files(layout.properties(placement.host), "3.5.0").items():
            (place / name).write_text(text)
        parts.append(read_configuration(place))
    conf = combined(parts, "local-3", "3.5.0")
    return run(Subject(confs=[conf], hardware=MACHINE))


def test_every_fail_of_the_local_testbed_is_declared(tmp_path: Path) -> None:
    declared = read_exceptions(DECLARED / "local.yaml")
    found, _ = applied(local(tmp_path).results, declared, dt.date(2027, 1, 1))
    assert [(r.check, r.observed) for r in found if r.counts] == []


def test_no_name_or_value_of_the_local_testbed_is_wrong(tmp_path: Path) -> None:
    wrong = {one.check for one in local(tmp_path).worst if one.check.startswith("setting-")}
    assert wrong == set()
