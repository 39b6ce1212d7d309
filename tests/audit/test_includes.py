"""Site files that include others: what they contain is audited, what is not read is unknown."""

from __future__ import annotations

from pathlib import Path

from tests.support.audited import CLEAN, Files, audited, failing, site
from windtunnel.audit.result import Status


def _with_includes(folder: Path, *hrefs: str) -> Files:
    """The clean configuration in which hdfs-site.xml includes files."""
    folder.mkdir()
    includes = "".join(f'<xi:include href="{href}"/>\n' for href in hrefs)
    text = site(CLEAN["hdfs-site.xml"]).replace(
        "<configuration>", f'<configuration xmlns:xi="http://www.w3.org/2001/XInclude">{includes}'
    )
    (folder / "hdfs-site.xml").write_text(text)
    return {name: values for name, values in CLEAN.items() if name != "hdfs-site.xml"}


def test_included_files_are_read(tmp_path: Path) -> None:
    files = _with_includes(tmp_path / "conf", "common.xml")
    bad = {"dfs.replication": "0", "dfs.replicaton": "2", "my.password": "PLANTED"}
    (tmp_path / "conf" / "common.xml").write_text(site(bad))
    (tmp_path / "conf" / "common.xml").chmod(0o640)
    audit = audited(tmp_path / "conf", files)
    places = {(one.check, one.about): one.place for one in audit.worst}
    assert places["setting-impossible", "dfs.replication"] == "common.xml:2"
    assert places["setting-misspelt", "dfs.replicaton"] == "common.xml:3"
    (secret,) = (one for one in audit.worst if one.check == "secure-secrets")
    assert secret.observed == "my.password is in common.xml (value not shown)"
    assert {one.status for one in audit.results if one.check == "setting-files"} == {Status.PASS}


def test_included_files_that_are_not_read_are_unknown(tmp_path: Path) -> None:
    files = _with_includes(tmp_path / "conf", "absent.xml", "folder", "../other.xml")
    (tmp_path / "conf" / "folder").mkdir()
    audit = audited(tmp_path / "conf", files)
    found = [one for one in audit.results if one.check == "setting-files"]
    assert [one.status for one in found] == [Status.UNKNOWN] * 3
    assert found[0].observed == "hdfs-site.xml:1: the included absent.xml does not exist"
    assert failing(audit, "hadoop") == set()


def test_an_included_file_that_is_no_xml_is_found_with_its_line(tmp_path: Path) -> None:
    files = _with_includes(tmp_path / "conf", "common.xml")
    (tmp_path / "conf" / "common.xml").write_text("<configuration>\n<property>\n")
    found = next(
        one for one in audited(tmp_path / "conf", files).worst if one.check == "setting-files"
    )
    assert found.observed.startswith("hdfs-site.xml, common.xml, line 3: it is not XML")
