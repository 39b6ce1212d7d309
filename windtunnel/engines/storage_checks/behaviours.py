"""The behaviours that are tested, with the words of the report.

The ids are those of the Java program (``java/io/windtunnel/storage`` of the engine hadoop) and of
``posix_program.py``. "yes" is the behaviour of a local POSIX file system.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BEHAVIOURS: Final[Mapping[str, str]] = {
    "rename-file": "a file is renamed",
    "rename-over-file": "a rename replaces a file that exists",
    "rename-folder": "a folder is renamed with its content",
    "rename-over-empty-folder": "a renamed folder replaces an empty folder",
    "rename-below-itself": "a rename of a folder below itself is refused",
    "rename-open-file": "a writer continues after its file is renamed",
    "hard-link": "hard links",
    "symbolic-link": "symbolic links",
    "long-name": "a name of 255 bytes",
    "too-long-name": "a name of 256 bytes is refused",
    "unusual-characters": "names with white space, colon, wildcards, line break, Unicode",
    "case-of-names": "names differ by case",
    "deep-folders": "60 folders deep",
    "create-folder-once": "the second creation of a folder is refused",
    "create-without-parent": "a file without a parent folder is refused",
    "remove-full-folder": "a plain delete of a full folder is refused",
    "recursive-delete": "a folder is deleted with its content",
    "list-after-change": "other clients list a new file, and no deleted one",
    "overwrite-file": "a file is replaced by a shorter one",
    "append": "append",
    "random-overwrite": "bytes in the middle of a file are overwritten",
    "write-beyond-end": "a write beyond the end leaves zeros",
    "truncate": "a file is truncated",
    "extend-by-truncate": "a file is extended by truncate",
    "random-read": "reads at any position",
    "read-at-end": "a read at or beyond the end returns no bytes",
    "empty-file": "empty files and folders",
    "memory-map": "memory map",
    "checksum": "the file system returns checksums of files",
    "concat": "files are concatenated without a copy of data",
    "block-locations": "the hosts of a file's blocks are known",
    "exclusive-create": "of several clients that create a file, one succeeds",
    "name-before-close": "others see a file before it is closed",
    "data-without-flush": "others read data as soon as it is written",
    "data-after-hflush": "others read data after a flush (hflush)",
    "data-after-hsync": "others read data after a sync (hsync)",
    "length-after-hflush": "the length is correct after a flush, before close",
    "open-reader-sees-more": "an open reader sees data that is added",
    "two-writers": "two clients write to one file",
    "two-appenders": "two clients append to one file",
    "unlink-while-read": "a reader continues after its file is deleted",
    "unlink-while-written": "a writer continues after its file is deleted",
    "lock": "locks between clients",
    "extended-attributes": "extended attributes",
    "permissions-kept": "permissions are kept",
    "permissions-enforced": "permissions are enforced",
    "access-lists": "access control lists",
    "times-set": "times of modification and access can be set, in milliseconds",
    "time-of-folder": "a new file changes the time of its folder",
    "time-while-written": "the time of modification changes while a file is written",
    "snapshot": "snapshots of a folder",
    "free-space": "capacity and free space are stated",
}
