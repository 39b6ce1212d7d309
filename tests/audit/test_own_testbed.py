"""The configuration of the local testbed: what fails there is declared, with reasons."""

from __future__ import annotations

import datetime as dt
import re
from importlib import resources
from pathlib import Path

from tests.engines.test_hadoop_layout import GIB, layout_of
from tests.support.audited import audited, changed
from windtunnel.audit.audit import Audit, Subject, run
from windtunnel.audit.configuration import combined, read_configuration
from windtunnel.audit.exceptions import applied, read_exceptions
from windtunnel.audit.hardware import Hardware
from windtunnel.audit.rules.containers import NODE_MB
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


def test_the_advised_size_of_a_map_task_fits_a_host(tmp_path: Path) -> None:
    """Three hosts share two threads: not even one task for each thread fits every host."""
    files = changed(yarn={NODE_MB: "6144"}, mapred={"mapreduce.map.memory.mb": "1024"})
    results = audited(tmp_path, files, MACHINE).results
    (found,) = [r for r in results if r.check == "containers-at-once"]
    size = re.search(r"mapreduce.map.memory.mb = (\d+)", found.remedy)
    assert size is not None and 1024 < int(size[1]) < 6144
