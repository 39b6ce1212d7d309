"""Properties of pairs of masters: their names are known, and bad settings of one are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.audited import audited, changed, failing

PAIRS: dict[str, dict[str, str | None]] = {
    "hdfs": {
        "dfs.nameservices": "big",
        "dfs.ha.namenodes.big": "nn1,nn2",
        "dfs.namenode.rpc-address.big.nn1": "m1:8020",
        "dfs.namenode.rpc-address.big.nn2": "m2:8020",
        "dfs.namenode.rpc-bind-host.big.nn2": "0.0.0.0",
        "dfs.client.failover.proxy.provider.big": "x.Provider",
        "dfs.namenode.shared.edits.dir.big": "qjournal://j1:8485;j2:8485;j3:8485/big",
        "dfs.namenode.name.dir": None,
        "dfs.namenode.name.dir.big": "/meta/1/name",
        "dfs.ha.fencing.methods.big": "shell(/bin/true)",
    },
    "yarn": {
        "yarn.resourcemanager.ha.rm-ids": "rm1,rm2",
        "yarn.resourcemanager.hostname.rm1": "m1",
        "yarn.resourcemanager.hostname.rm2": "m2",
    },
}


def test_pairs_of_masters_raise_no_alarm(tmp_path: Path) -> None:
    files = changed(core={"fs.defaultFS": "hdfs://big"}, **PAIRS)
    assert failing(audited(tmp_path / "conf", files), "hadoop") == set()


@pytest.mark.parametrize(
    ("changes", "check", "about"),
    [
        (
            {"dfs.namenode.shared.edits.dir.big": None},
            "hdfs-metadata",
            "dfs.namenode.name.dir.big",
        ),
        (
            {"dfs.namenode.name.dir.big": "/tmp/name"},
            "hdfs-lasting",
            "dfs.namenode.name.dir.big",
        ),
        (
            {"dfs.ha.fencing.methods.other": "x"},
            "setting-misspelt",
            "dfs.ha.fencing.methods.other",
        ),
    ],
)
def test_bad_settings_of_one_nameservice_are_found(
    changes: dict[str, str | None], check: str, about: str, tmp_path: Path
) -> None:
    files = changed(
        core={"fs.defaultFS": "hdfs://big"}, **PAIRS | {"hdfs": PAIRS["hdfs"] | changes}
    )
    assert (check, about) in failing(audited(tmp_path / "conf", files))
