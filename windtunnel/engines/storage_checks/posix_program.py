"""Test what a mounted file system promises, through the calls of POSIX.

    python3 posix_program.py FOLDER [SAME_FOLDER]

FOLDER must not exist. SAME_FOLDER is its path in another mount of the same file system, through
which the other processes of the checks see it. Writes one JSON object per behaviour: ``check`` (an
id of ``behaviours.py``), ``answer`` (yes, no, differs) and ``note``.
"""

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

Answer = tuple[str, str]
YES: Answer = ("yes", "")
PAST_NS = 1_000_000_000_123_000_000
VIEW: tuple[str, ...] = ()
"""A folder and its path in the other mount, if there is one."""
_CREATORS = 8
_READ_BYTES = 1 << 20
_NO_CALL: Answer = ("no", "POSIX has no call for it")
# an access list in the kernel's format: version 2, then tag, permissions and id of each entry
_ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, mode, who)
    for tag, mode, who in (
        (0x01, 6, 0xFFFFFFFF),
        (0x02, 4, os.getuid()),
        (0x04, 4, 0xFFFFFFFF),
        (0x10, 4, 0xFFFFFFFF),
        (0x20, 0, 0xFFFFFFFF),
    )
)


CHECKS: dict[str, Callable[[Path], Answer]] = {}
"""Id of a behaviour -> its check, which gets a folder of its own."""


def behaviour(*names: str) -> Callable[[Callable[[Path], Answer]], Callable[[Path], Answer]]:
    """Register the check of one or several behaviours."""

    def register(check: Callable[[Path], Answer]) -> Callable[[Path], Answer]:
        CHECKS.update(dict.fromkeys(names, check))
        return check

    return register


def yes_if(holds: bool, otherwise: str) -> Answer:
    """Yes, or no with the reason."""
    return YES if holds else ("no", otherwise)


def refused(act: Callable[[], object], *numbers: int) -> bool:
    """Whether an act raises one of some errors of the system."""
    try:
        act()
    except OSError as error:
        return error.errno in numbers
    return False


def elsewhere(program: str, *words: object) -> str:
    """What another process prints."""
    paths = [str(word).replace(VIEW[0], VIEW[1], 1) if VIEW else str(word) for word in words]
    argv = [sys.executable, "-I", "-c", program, *paths]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    if done.returncode != 0:
        raise OSError(done.stderr.strip().splitlines()[-1] if done.stderr else "it failed")
    return done.stdout


_READ = "import sys; print(open(sys.argv[1]).read(), end='')"


def _file(folder: Path, name: str = "file", text: str = "text") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@behaviour("rename-file")
def _rename_file(folder: Path) -> Answer:
    source = _file(folder)
    source.rename(folder / "to")
    return yes_if(not source.exists() and elsewhere(_READ, folder / "to") == "text", "not renamed")


@behaviour("rename-over-file")
def _rename_over_file(folder: Path) -> Answer:
    _file(folder, "to", "old")
    _file(folder, "from", "new").rename(folder / "to")
    return yes_if(elsewhere(_READ, folder / "to") == "new", "the old content remained")


@behaviour("rename-folder")
def _rename_folder(folder: Path) -> Answer:
    _file(folder, "from/below/file")
    (folder / "from").rename(folder / "to")
    return yes_if(elsewhere(_READ, folder / "to/below/file") == "text", "not renamed")


@behaviour("rename-over-empty-folder")
def _rename_over_empty_folder(folder: Path) -> Answer:
    _file(folder, "from/file")
    (folder / "to").mkdir()
    (folder / "from").rename(folder / "to")
    return yes_if((folder / "to/file").exists(), "the content is lost")


@behaviour("rename-below-itself")
def _rename_below_itself(folder: Path) -> Answer:
    _file(folder, "from/file")
    act = lambda: (folder / "from").rename(folder / "from/below")  # noqa: E731
    return yes_if(refused(act, errno.EINVAL), "the rename is not refused")


@behaviour("rename-open-file")
def _rename_open_file(folder: Path) -> Answer:
    with (folder / "from").open("w") as out:
        out.write("before")
        out.flush()
        (folder / "from").rename(folder / "to")
        out.write(" after")
    return yes_if(elsewhere(_READ, folder / "to") == "before after", "the content is wrong")


@behaviour("hard-link")
def _hard_link(folder: Path) -> Answer:
    first = _file(folder)
    (folder / "link").hardlink_to(first)
    first.unlink()
    with (folder / "link").open("a") as out:
        out.write(" more")
    return yes_if(elsewhere(_READ, folder / "link") == "text more", "the content is wrong")


@behaviour("symbolic-link")
def _symbolic_link(folder: Path) -> Answer:
    (folder / "link").symlink_to(_file(folder))
    return yes_if(elsewhere(_READ, folder / "link") == "text", "it is not followed")


@behaviour("long-name")
def _long_name(folder: Path) -> Answer:
    name = "n" * 255
    _file(folder, name)
    return yes_if((folder / name) in folder.iterdir(), "the name is not listed")


@behaviour("too-long-name")
def _too_long_name(folder: Path) -> Answer:
    act = lambda: _file(folder, "n" * 256)  # noqa: E731
    return yes_if(refused(act, errno.ENAMETOOLONG), "a name of 256 bytes is accepted")


@behaviour("unusual-characters")
def _unusual_characters(folder: Path) -> Answer:
    names = ["white space", "a:b", "*?[x]", "\u00fc\u6f22", "line\nbreak"]
    for name in names:
        _file(folder, name)
    return yes_if(
        sorted(path.name for path in folder.iterdir()) == sorted(names), "names are changed"
    )


@behaviour("case-of-names")
def _case_of_names(folder: Path) -> Answer:
    _file(folder, "name", "small")
    _file(folder, "NAME", "large")
    return yes_if((folder / "name").read_text() == "small", "the names are the same file")


@behaviour("deep-folders")
def _deep_folders(folder: Path) -> Answer:
    path = _file(folder, "folder/" * 60 + "file")
    return yes_if(elsewhere(_READ, path) == "text", "it is not read")


@behaviour("create-folder-once")
def _create_folder_once(folder: Path) -> Answer:
    (folder / "folder").mkdir()
    return yes_if(refused((folder / "folder").mkdir, errno.EEXIST), "it succeeds again")


@behaviour("create-without-parent")
def _create_without_parent(folder: Path) -> Answer:
    act = (folder / "none/file").touch
    return yes_if(refused(act, errno.ENOENT), "the parent is created")


@behaviour("remove-full-folder")
def _remove_full_folder(folder: Path) -> Answer:
    _file(folder, "folder/file")
    act = (folder / "folder").rmdir
    return yes_if(refused(act, errno.ENOTEMPTY, errno.EEXIST), "the folder is removed")


@behaviour("recursive-delete")
def _recursive_delete(folder: Path) -> Answer:
    for number in range(20):
        _file(folder, f"folder/{number % 3}/file-{number}")
    shutil.rmtree(folder / "folder")
    return yes_if(not (folder / "folder").exists(), "something is left")


@behaviour("list-after-change")
def _list_after_change(folder: Path) -> Answer:
    program = "import os, sys; print(sys.argv[2] in os.listdir(sys.argv[1]))"
    for number in range(5):
        path = _file(folder, f"file-{number}")
        if elsewhere(program, folder, path.name).strip() != "True":
            return "no", "another process does not list a new file"
        path.unlink()
        if elsewhere(program, folder, path.name).strip() != "False":
            return "no", "another process lists a deleted file"
    return YES


@behaviour("overwrite-file")
def _overwrite_file(folder: Path) -> Answer:
    _file(folder, text="a long text")
    path = _file(folder, text="short")
    return yes_if(elsewhere(_READ, path) == "short", "the old content remained")


@behaviour("append")
def _append(folder: Path) -> Answer:
    path = _file(folder, text="first")
    with path.open("a") as out:
        out.write(" second")
    return yes_if(elsewhere(_READ, path) == "first second", "the content is wrong")


@behaviour("random-overwrite")
def _random_overwrite(folder: Path) -> Answer:
    path = _file(folder, text="0123456789")
    with path.open("r+b") as out:
        out.seek(4)
        out.write(b"xy")
    return yes_if(elsewhere(_READ, path) == "0123xy6789", "the content is wrong")


@behaviour("write-beyond-end")
def _write_beyond_end(folder: Path) -> Answer:
    path = _file(folder)
    with path.open("r+b") as out:
        out.seek(8)
        out.write(b"end")
    return yes_if(path.read_bytes() == b"text\0\0\0\0end", "there are no zeros")


@behaviour("truncate")
def _truncate(folder: Path) -> Answer:
    path = _file(folder)
    os.truncate(path, 3)
    return yes_if(elsewhere(_READ, path) == "tex", "the content is wrong")


@behaviour("extend-by-truncate")
def _extend(folder: Path) -> Answer:
    path = _file(folder)
    os.truncate(path, 8)
    return yes_if(path.read_bytes() == b"text\0\0\0\0", "no zeros are added")


@behaviour("random-read")
def _random_read(folder: Path) -> Answer:
    with _file(folder, text="0123456789").open("rb") as file:
        return yes_if(os.pread(file.fileno(), 2, 8) == b"89", "wrong bytes are read")


@behaviour("read-at-end")
def _read_at_end(folder: Path) -> Answer:
    with _file(folder).open("rb") as file:
        both = os.pread(file.fileno(), 1, 4) + os.pread(file.fileno(), 1, 100)
    return yes_if(both == b"", "bytes beyond the end")


@behaviour("empty-file")
def _empty_file(folder: Path) -> Answer:
    (folder / "folder").mkdir()
    holds = _file(folder, text="").stat().st_size == 0 and (folder / "folder").is_dir()
    return yes_if(holds, "an empty file or folder is lost")


@behaviour("memory-map")
def _memory_map(folder: Path) -> Answer:
    path = _file(folder, text="0123456789")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 10) as mapped:
        mapped[4:6] = b"xy"
        mapped.flush()
    return yes_if(elsewhere(_READ, path) == "0123xy6789", "the content is wrong")


@behaviour("checksum", "concat", "block-locations")
def _no_call(folder: Path) -> Answer:
    return _NO_CALL


@behaviour("exclusive-create")
def _exclusive_create(folder: Path) -> Answer:
    winners: list[int] = []
    barrier = threading.Barrier(_CREATORS)

    def create(number: int) -> None:
        barrier.wait(10)
        try:
            os.close(os.open(folder / "file", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return
        winners.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(_CREATORS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return yes_if(len(winners) == 1, f"{len(winners)} of {_CREATORS} created the file")


@behaviour("name-before-close")
def _name_before_close(folder: Path) -> Answer:
    program = "import os, sys; print(os.path.exists(sys.argv[1]))"
    with (folder / "file").open("w"):
        return yes_if(elsewhere(program, folder / "file").strip() == "True", "after close only")


def _seen(folder: Path, after: Callable[[int], None]) -> Answer:
    """Whether another process reads what was written, after a call."""
    path = folder / "file"
    handle = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        os.write(handle, b"text")
        after(handle)
        return yes_if(elsewhere(_READ, path) == "text", "another process does not read it")
    finally:
        os.close(handle)


@behaviour("data-without-flush", "data-after-hflush")
def _data_written(folder: Path) -> Answer:
    return _seen(folder, lambda handle: None)


@behaviour("data-after-hsync")
def _data_synced(folder: Path) -> Answer:
    return _seen(folder, os.fsync)


@behaviour("length-after-hflush")
def _length_after_flush(folder: Path) -> Answer:
    with (folder / "file").open("wb") as out:
        out.write(b"text")
        out.flush()
        program = "import os, sys; print(os.stat(sys.argv[1]).st_size)"
        return yes_if(elsewhere(program, folder / "file").strip() == "4", "the length is wrong")


@behaviour("open-reader-sees-more")
def _open_reader_sees_more(folder: Path) -> Answer:
    path = _file(folder, text="one")
    with path.open("rb", buffering=0) as reader:
        reader.read(3)
        elsewhere("import sys; open(sys.argv[1], 'a').write('two')", path)
        return yes_if(reader.read(3) == b"two", "it must open the file again")


@behaviour("two-writers")
def _two_writers(folder: Path) -> Answer:
    path = _file(folder, text="0123456789")
    with path.open("r+b", buffering=0) as out:
        out.write(b"a")
        elsewhere("import sys; f = open(sys.argv[1], 'r+b'); f.seek(5); f.write(b'b')", path)
        out.write(b"c")
    return yes_if(elsewhere(_READ, path) == "ac234b6789", "bytes are lost")


@behaviour("two-appenders")
def _two_appenders(folder: Path) -> Answer:
    path = _file(folder, text="zero ")
    with path.open("ab", buffering=0) as out:
        out.write(b"first ")
        elsewhere("import sys; open(sys.argv[1], 'a').write('second ')", path)
        out.write(b"again ")
    return yes_if(elsewhere(_READ, path) == "zero first second again ", "bytes are lost")


@behaviour("unlink-while-read")
def _unlink_while_read(folder: Path) -> Answer:
    path = folder / "file"
    path.write_bytes(bytes(2 * _READ_BYTES))
    with path.open("rb") as file:
        path.unlink()
        found = len(os.pread(file.fileno(), 16, _READ_BYTES))
    return yes_if(found == 16, "the reader fails")


@behaviour("unlink-while-written")
def _unlink_while_written(folder: Path) -> Answer:
    path = folder / "file"
    with path.open("w+b", buffering=0) as file:
        file.write(b"text")
        path.unlink()
        file.write(b"more")
        os.fsync(file.fileno())
        file.seek(0)
        return yes_if(file.read() == b"textmore" and not path.exists(), "the content is wrong")


@behaviour("lock")
def _lock(folder: Path) -> Answer:
    path = _file(folder)
    program = (
        "import fcntl, sys\n"
        "f = open(sys.argv[1], 'r+')\n"
        "try:\n    fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)\n    print('got')\n"
        "except OSError:\n    print('held')"
    )
    with path.open("r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        during = elsewhere(program, path).strip()
        fcntl.lockf(file, fcntl.LOCK_UN)
        after = elsewhere(program, path).strip()
    return yes_if((during, after) == ("held", "got"), f"{during} while held, {after} afterwards")


@behaviour("extended-attributes")
def _attributes(folder: Path) -> Answer:
    path = _file(folder)
    os.setxattr(path, "user.colour", b"green")
    kept = os.getxattr(path, "user.colour") == b"green" and "user.colour" in os.listxattr(path)
    os.removexattr(path, "user.colour")
    return yes_if(kept and "user.colour" not in os.listxattr(path), "not kept, or not removed")


@behaviour("permissions-kept")
def _permissions_kept(folder: Path) -> Answer:
    path = _file(folder)
    path.chmod(0o640)
    return yes_if(path.stat().st_mode & 0o7777 == 0o640, "the mode is another one")


@behaviour("permissions-enforced")
def _permissions_enforced(folder: Path) -> Answer:
    path = _file(folder)
    path.chmod(0)
    found = elsewhere(
        "import os, sys\nif os.geteuid() == 0:\n    os.setgroups([]); os.setgid(65534); "
        "os.setuid(65534)\ntry:\n    open(sys.argv[1]).read()\n    print('read')\n"
        "except PermissionError:\n    print('refused')",
        path,
    )
    return yes_if(found.strip() == "refused", "another user reads a file with mode 0")


@behaviour("access-lists")
def _access_lists(folder: Path) -> Answer:
    path = _file(folder)
    os.setxattr(path, "system.posix_acl_access", _ACL)
    return yes_if(os.getxattr(path, "system.posix_acl_access") == _ACL, "an entry is not kept")


@behaviour("times-set")
def _times_set(folder: Path) -> Answer:
    path = _file(folder)
    os.utime(path, ns=(PAST_NS + 10**9, PAST_NS))
    found = path.stat()
    if (found.st_mtime_ns, found.st_atime_ns) == (PAST_NS, PAST_NS + 10**9):
        return YES
    return ("differs", "not as precise") if int(found.st_mtime) == PAST_NS // 10**9 else ("no", "")


@behaviour("time-of-folder")
def _time_of_folder(folder: Path) -> Answer:
    (folder / "folder").mkdir()
    os.utime(folder / "folder", ns=(PAST_NS, PAST_NS))
    _file(folder, "folder/file")
    return yes_if((folder / "folder").stat().st_mtime_ns > PAST_NS, "it does not change")


@behaviour("time-while-written")
def _time_while_written(folder: Path) -> Answer:
    path = folder / "file"
    with path.open("wb", buffering=0) as out:
        out.write(b"1")
        before = path.stat().st_mtime_ns
        time.sleep(1.5)
        out.write(b"2")
        return yes_if(path.stat().st_mtime_ns > before, "it changes at close")


@behaviour("snapshot")
def _snapshot(folder: Path) -> Answer:
    path = _file(folder, "folder/file", "old")
    kept = folder / "folder" / ".snap" / "first"
    try:
        kept.mkdir()
    except FileNotFoundError:
        return "no", "the file system has none"
    try:
        path.write_text("new")
        both = (kept / "file").read_text(), path.read_text()
    finally:
        kept.rmdir()
    return yes_if(both == ("old", "new"), "the snapshot has the new content")


@behaviour("free-space")
def _free_space(folder: Path) -> Answer:
    found = os.statvfs(folder)
    return yes_if(0 < found.f_bavail <= found.f_blocks, "the capacity is not stated")


def main(home: Path) -> None:
    """Run all checks below a new folder, which is removed."""
    home.mkdir()
    home.chmod(0o755)
    try:
        for name, check in CHECKS.items():
            folder = home / name
            folder.mkdir()
            try:
                answer, note = check(folder)
            except (OSError, ValueError, subprocess.TimeoutExpired) as error:
                answer, note = "no", str(getattr(error, "strerror", None) or error)[:120]
            row = {"check": name, "answer": answer, "note": note}
            sys.stdout.write(json.dumps(row) + "\n")
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    VIEW = tuple(sys.argv[1:]) if len(sys.argv) == 3 else ()
    main(Path(sys.argv[1]))
