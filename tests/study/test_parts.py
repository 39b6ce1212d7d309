"""Parts files of ``size``: each property of a host in one group, each number of hosts once."""

from __future__ import annotations

from pathlib import Path

import pytest

from windtunnel.errors import DescriptionError
from windtunnel.study.file import catalogue_names
from windtunnel.study.parts import FOLDER, load_parts

TEXT = """\
cluster: cisco-2014
counts: [4, 8]
parts:
  processors:
    E5-2690: {cpu: {sockets: 2}}
  memory:
    64 GiB: {memory: 64 GiB}
    128 GiB: {memory: 128 GiB}
"""


def written(folder: Path, text: str) -> str:
    file = folder / "parts.yaml"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize("name", catalogue_names(FOLDER))
def test_the_parts_of_the_catalogue_are_valid(name: str) -> None:
    assert load_parts(name)[0].parts


def test_a_property_in_two_groups_is_refused_with_its_line(tmp_path: Path) -> None:
    more = "    256 GiB: {memory: 256 GiB, cpu: {sockets: 9}}\n"
    with pytest.raises(DescriptionError) as caught:
        load_parts(written(tmp_path, TEXT + more))
    assert caught.value.message == "the parts 'processors' and 'memory' both set 'cpu'"
    assert caught.value.line == 9


def test_a_property_in_several_parts_of_a_group_is_a_choice(tmp_path: Path) -> None:
    assert len(load_parts(written(tmp_path, TEXT))[0].parts["memory"]) == 2


def test_a_number_of_hosts_that_is_listed_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError) as caught:
        load_parts(written(tmp_path, TEXT.replace("[4, 8]", "[3, 3]")))
    assert caught.value.message == "the number 3 is listed twice"
    assert (caught.value.key, caught.value.line) == ("counts", 2)
