"""A folder of client configuration, as edge nodes have it."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from windtunnel.errors import DescriptionError
from windtunnel.testbeds.attached.site import read_names, read_site

PLAIN = {
    "core-site.xml": {"fs.defaultFS": "hdfs://nn.example:8020"},
    "yarn-site.xml": {"yarn.resourcemanager.hostname": "rm.example"},
    "mapred-site.xml": {"mapreduce.jobhistory.address": "jh.example:10020"},
}
SECURE = {
    "core-site.xml": {
        "fs.defaultFS": "hdfs://prod",
        "hadoop.security.authentication": "kerberos",
        "fs.s3a.secret.key": "hunter2",
        "fs.azure.account.key.mine.example": "hunter2",
        "ssl.server.keystore.password": "hunter2",
    },
    "hdfs-site.xml": {
        "dfs.http.policy": "HTTPS_ONLY",
        "dfs.ha.namenodes.prod": "a,b",
        "dfs.namenode.https-address.prod.a": "one.example:9871",
        "dfs.namenode.https-address.prod.b": "two.example:9871",
    },
    "yarn-site.xml": {
        "yarn.http.policy": "HTTPS_ONLY",
        "yarn.resourcemanager.ha.rm-ids": "r1, r2",
        "yarn.resourcemanager.hostname.r1": "three.example",
        "yarn.resourcemanager.webapp.https.address.r2": "four.example:8444",
    },
    "mapred-site.xml": {
        "mapreduce.jobhistory.http.policy": "HTTPS_ONLY",
        "mapreduce.jobhistory.webapp.https.address": "${history.host}:19890",
        "history.host": "five.example",
        "yarn.app.mapreduce.am.staging-dir": "/user",
    },
}


def written(folder: Path, files: dict[str, dict[str, str]]) -> Path:
    """The folder with these site files."""
    for name, properties in files.items():
        rows = "".join(
            f"<property><name>{escape(n)}</name><value>{escape(v)}</value></property>"
            for n, v in properties.items()
        )
        (folder / name).write_text(f"<?xml version='1.0'?><configuration>{rows}</configuration>")
    return folder


def test_the_addresses_of_a_plain_cluster_have_hadoops_default_ports(tmp_path: Path) -> None:
    site = read_site(written(tmp_path, PLAIN))

    assert site.namenodes == ["http://nn.example:9870"]
    assert site.resourcemanagers == ["http://rm.example:8088"]
    assert site.history_server == "http://jh.example:19888"
    assert not site.secure
    assert site.history_folders[0] == "/tmp/hadoop-yarn/staging/history/done_intermediate"


def test_all_servers_of_a_secure_highly_available_cluster_are_found(tmp_path: Path) -> None:
    site = read_site(written(tmp_path, SECURE))

    assert site.namenodes == ["https://one.example:9871", "https://two.example:9871"]
    assert site.resourcemanagers == ["https://three.example:8090", "https://four.example:8444"]
    assert site.history_server == "https://five.example:19890"
    assert site.secure
    assert site.history_folders[0] == "/user/history/done_intermediate"


def test_web_addresses_of_namenodes_follow_from_their_rpc_addresses(tmp_path: Path) -> None:
    pair = {
        "dfs.nameservices": "other,prod",
        "dfs.ha.namenodes.other": "x",
        "dfs.namenode.http-address.other.x": "another.example:9870",
        "dfs.ha.namenodes.prod": "a,b",
        "dfs.namenode.rpc-address.prod.a": "one.example:8020",
        "dfs.namenode.rpc-address.prod.b": "two.example:8020",
    }
    files = {**PLAIN, "core-site.xml": {"fs.defaultFS": "hdfs://prod"}, "hdfs-site.xml": pair}

    site = read_site(written(tmp_path, files))

    assert site.namenodes == ["http://one.example:9870", "http://two.example:9870"]


def test_final_included_and_old_properties_count_as_in_hadoop(tmp_path: Path) -> None:
    written(tmp_path, PLAIN | {"hdfs-site.xml": {"dfs.http.address": "other.example:50070"}})
    (tmp_path / "core-site.xml").write_text(
        '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">'
        '<xi:include href="names.xml"/><xi:include href="absent.xml"/></configuration>'
    )
    (tmp_path / "names.xml").write_text(
        "<configuration><property><name>fs.default.name</name><value>hdfs://nn.example:8020"
        "</value><final>true</final></property></configuration>"
    )
    (tmp_path / "mapred-site.xml").write_text(
        (tmp_path / "mapred-site.xml")
        .read_text()
        .replace(
            "<property>",
            "<property><name>fs.defaultFS</name><value>hdfs://no.example</value></property>"
            "<property>",
            1,
        )
    )

    site = read_site(tmp_path)

    assert site.get("fs.defaultFS") == "hdfs://nn.example:8020"
    assert site.namenodes == ["http://other.example:50070"]
    assert any("absent.xml does not exist" in note for note in site.conf.notes)


def test_secrets_are_not_among_the_public_properties(tmp_path: Path) -> None:
    public = dict(read_site(written(tmp_path, SECURE)).public())

    assert "fs.s3a.secret.key" not in public
    assert "hunter2" not in public.values()
    assert public["fs.defaultFS"] == "hdfs://prod"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "has none of the files"),
        ({"core-site.xml": {"fs.defaultFS": "hdfs://nn:8020"}}, "does not state yarn"),
        ({"yarn-site.xml": {"yarn.resourcemanager.hostname": "rm"}}, "does not state fs.default"),
    ],
)
def test_an_incomplete_folder_is_refused(
    tmp_path: Path, files: dict[str, dict[str, str]], says: str
) -> None:
    with pytest.raises(DescriptionError, match=says) as caught:
        read_site(written(tmp_path, files))
    assert caught.value.remedy
    assert caught.value.key == "testbed.conf"


def test_an_absent_folder_and_a_damaged_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="there is no folder"):
        read_site(tmp_path / "nothing")
    (tmp_path / "core-site.xml").write_text("<configuration><property>")
    with pytest.raises(DescriptionError, match="not XML") as caught:
        read_site(tmp_path)
    assert caught.value.file == tmp_path / "core-site.xml"


def test_names_are_those_of_a_hosts_file(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# table\n10.0.0.1 nn.example nn\n\n10.0.0.2 rm # other\n")

    assert read_names(file) == {"nn.example": "10.0.0.1", "nn": "10.0.0.1", "rm": "10.0.0.2"}
