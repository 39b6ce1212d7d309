"""Bad inputs of the commands that predict: ``predict``, ``fit``, ``whatif``, ``size``."""

from __future__ import annotations

from tests.cli.bad_case import Bad, edited
from tests.cli.prepared import spreadsheet

SCAN = """\
study: scan
cluster: local-3
testbed: modelled
workloads:
  scan: {size: 1 MB, replication: 1}
"""

CLUSTER = """\
name: c
hosts:
  master: {count: 1, roles: [namenode, resourcemanager, client]}
  worker: {count: 3, roles: [datanode, nodemanager], memory: 64 GiB}
"""

PREDICTIONS = [
    Bad(
        "prediction of an unknown workload",
        "predict cisco-2014 terrasort",
        2,
        ("no equations for the workload 'terrasort'", "terasort, teragen"),
    ),
    Bad("prediction on an unknown cluster", "predict cisco terasort", 3, ("no cluster named",)),
    Bad(
        "prediction on storage without equations",
        "predict local-3-s3a teragen",
        3,
        ("storage.kind", "no equations for the storage s3a", "hdfs, cephfs"),
    ),
    Bad(
        "block size that is none",
        "predict local-3 terasort --set settings.dfs.blocksize=abc",
        3,
        ("settings.dfs.blocksize", "'abc' is not a block size", "128m"),
    ),
    Bad(
        "prediction on an unknown treatment",
        "predict cisco-2014/test13 terasort",
        2,
        ("no cluster 'test13'", "test12"),
    ),
    Bad(
        "parameter of a workload that is not predicted",
        "predict cisco-2014 pi --set workloads.terasort.size=1TB",
        2,
        ("'terasort' is not predicted",),
    ),
    Bad(
        "size without a unit that exists",
        "predict cisco-2014 terasort --set workloads.terasort.size=1XB",
        3,
        ("workloads.terasort.size", "is not a size"),
    ),
    Bad(
        "parameter that the workload does not have",
        "predict cisco-2014 terasort --set workloads.terasort.sise=3TB",
        3,
        ("no parameter 'sise'", "did you mean 'size'"),
    ),
    Bad(
        "negative number of tasks",
        "predict cisco-2014 terasort --set workloads.terasort.maps=-3",
        3,
        ("workloads.terasort.maps", "must be at least 1, not -3", "workloads.terasort.maps=120"),
    ),
    Bad(
        "setting of a cluster file that no daemon can parse",
        "predict {d}/study.yaml terasort",
        3,
        ("study.yaml:5: key 'settings.dfs.blocksize': '128mb' is not a block size",),
        study=CLUSTER + "settings: {dfs.blocksize: 128mb}\n",
    ),
    Bad(
        "block size of a cluster file that HDFS refuses",
        "predict {d}/study.yaml terasort",
        3,
        ("study.yaml:5: key 'storage.block_size': HDFS refuses blocks of 1 byte:",),
        study=CLUSTER + "storage: {block_size: 1 B}\n",
    ),
    Bad(
        "configuration of an existing cluster that is not there",
        "check {d}/study.yaml",
        3,
        ("study.yaml:3: key 'testbed.conf': there is no folder /nope",),
        study=edited(
            "cluster: local-3", "cluster: local-3\ntestbed: {kind: attached, conf: /nope}"
        ),
    ),
    Bad("size within no time", "size sizing --within soon", 2, ("'soon' is not",)),
    Bad(
        "prediction for results with a change",
        "predict --for published:cisco-2014 --set hosts.worker.count=2",
        2,
        ("--for takes clusters and parameters from the results",),
    ),
    Bad(
        "prediction with a file that is no fit",
        "predict cisco-2014 pi --fit {d}/runs.csv",
        6,
        ("runs.csv is not a fit", "windtunnel fit"),
        prepare=spreadsheet,
    ),
    Bad(
        "two choices of treatments",
        "fit published:cisco-2014 --out {d}/f.json --sample 3 --only {d}/ids.txt",
        2,
        ("--only and --sample exclude each other",),
    ),
    Bad(
        "treatment that the results do not have",
        "fit published:cisco-2014 --out {d}/f.json --only {d}/runs.csv",
        6,
        ("no treatment 'config,s'", "test1"),
        prepare=spreadsheet,
    ),
    Bad(
        "fit to results that the model does not know",
        "fit published:cern-2016 --out {d}/f.json",
        6,
        ("no time in these results can be predicted",),
    ),
    Bad(
        "fit into a folder that is not there",
        "fit published:cisco-2014 --out {d}/no/f.json",
        6,
        ("f.json cannot be written",),
    ),
    Bad(
        "change of a host that is not there",
        "whatif published:cisco-2014 --set hosts.wrker.count=2",
        3,
        ("did you mean 'hosts.worker'",),
    ),
    Bad(
        "predicted study of a workload without equations",
        "run {d}/study.yaml",
        4,
        ("workloads.scan: the model has no equations for the phase",),
        study=SCAN,
    ),
    Bad(
        "predicted study with a fit that is not there",
        "check {d}/study.yaml",
        3,
        ("study.yaml:3", "testbed.fit", "no-fit.json cannot be read", "the file of a fit"),
        study=edited(
            "cluster: local-3", "cluster: local-3\ntestbed: {kind: modelled, fit: no-fit.json}"
        ),
    ),
]
