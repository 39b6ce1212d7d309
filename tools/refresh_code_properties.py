"""Regenerate the names of properties that Hadoop's code reads and no default file lists.

    python tools/refresh_code_properties.py LIB

LIB is the folder of the jars of one Hadoop version. The names are the constants of the classes
that hold names of properties (``DFSConfigKeys``, ``MRJobConfig``, ``YarnConfiguration`` ...).
"""

from __future__ import annotations

import re
import struct
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from windtunnel.cluster.settings import default_of

TARGET = Path(__file__).parents[1] / "windtunnel/catalogue/hadoop_properties/in_code.txt"
CLASSES = re.compile(
    r"org/apache/hadoop/.*(Keys|KeysPublic|Config|Configuration|Handler)[\w$]*\.class"
)
NAME = re.compile(
    r"(dfs|yarn|mapreduce|mapred|hadoop|fs|io|ipc|net|ha|nfs|rpc|file|security|ssl|httpfs|tfile"
    r"|seq|zk|client|datanode|ftp|map|reduce|job)(\.[A-Za-z0-9_-]+)+"
)
# bytes of each kind of constant without its tag (Java virtual machine specification, 4.4)
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4}
_SIZES |= {15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_TEXT, _LONG = 1, (5, 6)


def texts(content: bytes) -> Iterator[str]:
    """The texts in the constant pool of a class file."""
    (count,) = struct.unpack_from(">H", content, 8)
    place, index = 10, 1
    while index < count:
        tag = content[place]
        if tag == _TEXT:
            (length,) = struct.unpack_from(">H", content, place + 1)
            yield content[place + 3 : place + 3 + length].decode("utf-8", "replace")
            place += 3 + length
        else:
            place += 1 + _SIZES[tag]
        index += 2 if tag in _LONG else 1


def main(lib: str) -> None:
    """Write the names."""
    found: set[str] = set()
    for jar in sorted(Path(lib).glob("hadoop-*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if CLASSES.fullmatch(name):
                    found.update(text for text in texts(archive.read(name)) if NAME.fullmatch(text))
    names = sorted(name for name in found if default_of(name) is None)
    head = "# Properties that Hadoop's code reads and no default file lists, by"
    head += "\n# tools/refresh_code_properties.py from the jars of Hadoop 3.5.0."
    TARGET.write_text("\n".join([head, *names]) + "\n")
    print(f"{TARGET}: {len(names)} names")


if __name__ == "__main__":
    main(sys.argv[1])
