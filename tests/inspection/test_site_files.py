"""Folders of client configuration: forms of several products, and what Hadoop does with values."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.errors import DescriptionError, UsageError
from windtunnel.inspection.endpoints import endpoints
from windtunnel.inspection.site_files import ClientConfiguration, Entry, read_configuration


def site(**values: str) -> str:
    rows = "".join(
        f"<property><name>{name.replace('__', '-').replace('_', '.')}</name>"
        f"<value>{value}</value></property>\n"
        for name, value in values.items()
    )
    return f'<?xml version="1.0"?>\n<configuration xmlns:xi="http://www.w3.org/2001/XInclude">\n{rows}</configuration>\n'


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name.replace('_', '-')}.xml").write_text(text)
    return folder


def test_a_final_value_stays_and_the_other_is_noted(tmp_path: Path) -> None:
    final = "<property><name>a.b</name><value>1</value><final>true</final></property>"
    write(
        tmp_path,
        core_site=f"<configuration>{final}</configuration>",
        hdfs_site=site(a_b="2", c_d="x"),
        yarn_site=site(c_d="y"),
    )
    conf = read_configuration(tmp_path)
    assert (conf.get("a.b"), conf.get("c.d")) == ("1", "y")
    assert conf.entries["a.b"].source == "core-site.xml:1"
    assert conf.notes == ["hdfs-site.xml:3: a.b is ignored: it is final in core-site.xml:1"]


def test_variables_old_names_and_the_short_form(tmp_path: Path) -> None:
    short = '<configuration><property name="my.root" value="/data"/></configuration>'
    write(
        tmp_path,
        core_site=short,
        hdfs_site=site(a_b="${my.root}/x/${user.name}", dfs_block_size="1", e_f="${e.f}"),
    )
    conf = read_configuration(tmp_path)
    assert conf.get("a.b") == "/data/x/${user.name}"
    assert conf.get("e.f") == "${e.f}"
    assert conf.get("dfs.blocksize") == "1"
    assert "old name" in conf.renamed[0]
    assert conf.get("io.file.buffer.size") == "4096"  # Hadoop's default
    assert conf.given("io.file.buffer.size") is None


def test_includes_of_the_folder_are_read_and_others_are_not(tmp_path: Path) -> None:
    (tmp_path / "secret.xml").write_text(site(planted_value="x"))
    body = (
        '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">'
        '<xi:include href="more.xml"/><xi:include href="../secret.xml"/>'
        '<xi:include href="http://other.example/x.xml"/><xi:include href="/etc/passwd"/>'
        '<xi:include href="absent.xml"/></configuration>'
    )
    write(tmp_path / "conf", core_site=body, more=site(a_b="1"))
    conf = read_configuration(tmp_path / "conf")
    assert conf.entries.keys() == {"a.b"}
    assert len(conf.notes) == 4
    assert "outside the folder" in conf.notes[0]


def test_a_fallback_counts_if_the_file_is_not_read(tmp_path: Path) -> None:
    fallback = "<xi:fallback><property><name>c.{0}</name><value>x</value></property></xi:fallback>"
    body = (
        '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">'
        f'<xi:include href="more.xml">{fallback.format("d")}</xi:include>'
        f'<xi:include href="absent.xml">{fallback.format("e")}</xi:include></configuration>'
    )
    write(tmp_path, core_site=body, more=site(a_b="1"))
    assert read_configuration(tmp_path).entries.keys() == {"a.b", "c.e"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<configuration>\n<property>", "not XML"),
        ("", "not XML"),
        (
            '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>\n<configuration>&e;'
            "</configuration>",
            "entities",
        ),
        (
            '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">'
            '<xi:include href="core-site.xml"/></configuration>',
            "circle",
        ),
    ],
)
def test_files_with_mistakes_are_named_with_their_line(
    text: str, message: str, tmp_path: Path
) -> None:
    write(tmp_path, core_site=text)
    with pytest.raises(DescriptionError) as caught:
        read_configuration(tmp_path)
    assert message in caught.value.message
    assert "core-site.xml:" in caught.value.render()


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(UsageError, match=r"contains no core-site.xml|does not exist"):
            read_configuration(folder)


@pytest.mark.parametrize(
    ("product", "where", "files"),
    [
        ("Apache", "etc/hadoop", {}),
        ("Bigtop", "etc/hadoop/conf", {"hadoop-env.sh": "export X=/usr/lib/hadoop"}),
        ("Cloudera Manager", "hadoop-conf", {"__cloudera_generation__": "3"}),
        ("Ambari", "conf", {"topology_mappings.data": "[network_topology]\nw1=/r1\n"}),
    ],
)
def test_layouts(product: str, where: str, files: dict[str, str], tmp_path: Path) -> None:
    folder = write(tmp_path / where, core_site=site(fs_defaultFS="hdfs://nn:8020"))
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "workers").write_text("w1\n# none\nw2 # here\nlocalhost\n")
    (folder / "topology.map").write_text('<topology><node name="w2" rack="/r2"/></topology>')
    conf = read_configuration(tmp_path)
    assert conf.layout == product
    assert conf.workers == ["w1", "w2"]
    assert conf.racks["w2"] == "/r2"
    assert len(conf.read) == 3 + len(files) - (product in ("Bigtop", "Cloudera Manager"))


def conf_of(values: dict[str, str]) -> ClientConfiguration:
    entries = {name: Entry(name, value, "x") for name, value in values.items()}
    return ClientConfiguration(Path("conf"), "Apache", entries)


def test_addresses_of_one_server() -> None:
    found = endpoints(
        conf_of(
            {
                "fs.defaultFS": "hdfs://nn.x:8020",
                "yarn.resourcemanager.hostname": "rm.x",
                "mapreduce.jobhistory.address": "jh.x:10020",
            }
        )
    )
    assert found.namenodes == ["http://nn.x:9870"]
    assert found.resourcemanagers == ["http://rm.x:8088"]
    assert found.history == ["http://jh.x:19888"]


def test_addresses_of_pairs_with_tls() -> None:
    values = {
        "fs.defaultFS": "hdfs://prod",
        "dfs.nameservices": "prod",
        "dfs.ha.namenodes.prod": "a, b",
        "dfs.http.policy": "HTTPS_ONLY",
        "dfs.namenode.https-address.prod.a": "n1:9871",
        "dfs.namenode.https-address.prod.b": "n2:9871",
        "yarn.http.policy": "HTTPS_ONLY",
        "yarn.resourcemanager.ha.rm-ids": "rm1,rm2",
        "yarn.resourcemanager.hostname.rm1": "r1",
        "yarn.resourcemanager.webapp.https.address.rm2": "r2:8443",
        "mapreduce.jobhistory.http.policy": "HTTPS_ONLY",
        "mapreduce.jobhistory.webapp.https.address": "jh:19890",
    }
    found = endpoints(conf_of(values))
    assert found.namenodes == ["https://n1:9871", "https://n2:9871"]
    assert found.resourcemanagers == ["https://r1:8090", "https://r2:8443"]
    assert found.history == ["https://jh:19890"]


def test_no_address_is_invented() -> None:
    found = endpoints(conf_of({"fs.defaultFS": "file:///"}))
    assert (found.namenodes, found.resourcemanagers, found.history) == ([], [], [])


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.text("ab${}.c", max_size=30)))
def test_expansion_ends(values: dict[str, str]) -> None:
    conf = conf_of(values)
    for name in values:
        assert isinstance(conf.get(name), str)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("conf")
    (folder / "core-site.xml").write_bytes(data)
    try:
        read_configuration(folder)
    except DescriptionError as error:
        assert error.line is not None
