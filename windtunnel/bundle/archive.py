"""The zip file of a bundle: written with a manifest, read with checks and limits."""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from pydantic import Field, ValidationError

from windtunnel.errors import BundleError
from windtunnel.report.atomic import write_bytes
from windtunnel.results.record import Record

MANIFEST = "manifest.json"
SCHEMA = "windtunnel.bundle/1"
MOST_FILES = 100_000
MOST_BYTES = 2 << 30
"""Limit of one file, and of a manifest; a bundle may have twice as much in all."""
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same content gives the same zip
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)
_AGAIN = "get the bundle again from its author."


class Entry(Record):
    """One file of a bundle: path in the zip, SHA-256 in hexadecimal, size."""

    path: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    bytes: int = Field(ge=0)


class Manifest(Record):
    """The content of a bundle. ``results`` are the names of its results folders."""

    schema_: str = Field(alias="schema")
    windtunnel: str
    created: str
    redacted: bool
    results: list[str]
    reproductions: list[str] = Field(default_factory=list)
    files: list[Entry]


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def is_safe(name: str) -> bool:
    """Whether a path of a zip stays in its folder on every system, and is text in UTF-8."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name or ":" in name:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in name)  # no UTF-8 on the disk


def entries(files: Mapping[str, bytes]) -> list[Entry]:
    """The manifest's entries for files by path."""
    return [
        Entry(path=path, sha256=digest(content), bytes=len(content))
        for path, content in sorted(files.items())
    ]


def write_zip(files: Mapping[str, bytes], out: Path) -> str:
    """Write the files as a zip; returns its SHA-256. Errors as :func:`write_bytes`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(files.items()):
            info = zipfile.ZipInfo(path, EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    write_bytes(out, buffer.getvalue())
    return digest(buffer.getvalue())


def read_zip(path: Path) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest and the files of a bundle, the manifest excluded. Nothing is extracted.

    Raises
    ------
    BundleError
        If the file is no zip, is cut off or damaged, has unsafe names or files that are too
        large, or has no valid manifest.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            _check_names(path, infos)
            if MANIFEST not in archive.namelist():
                raise BundleError(
                    f"{path} has no {MANIFEST}",
                    remedy="specify a file that 'windtunnel bundle' wrote.",
                )
            files = {info.filename: _content(path, archive, info) for info in infos}
    except FileNotFoundError:
        raise BundleError(f"{path} does not exist", remedy="specify a bundle.") from None
    except OSError as error:
        raise BundleError(
            f"{path} cannot be read: {error.strerror or error}", remedy="specify a bundle."
        ) from error
    except _DAMAGED as error:
        raise BundleError(f"{path} is damaged or truncated: {error}", remedy=_AGAIN) from error
    return _manifest(path, files.pop(MANIFEST)), files


def _check_names(path: Path, infos: list[zipfile.ZipInfo]) -> None:
    """Refuse names that leave the folder, links, duplicates, and too much content."""
    if len(infos) > MOST_FILES:
        raise BundleError(
            f"{path} has {len(infos)} files; at most {MOST_FILES} are read", remedy=_AGAIN
        )
    seen: set[str] = set()
    total = 0
    for info in infos:
        name = info.filename
        if not is_safe(name):
            raise BundleError(
                f"{path}: the path '{name}' is outside the folder of the bundle",
                remedy="do not extract this file; get the bundle from its author.",
            )
        if info.is_dir() or stat.S_ISLNK(info.external_attr >> 16):
            raise BundleError(f"{path}: '{name}' is not a regular file", remedy=_AGAIN)
        if name in seen:
            raise BundleError(f"{path}: '{name}' occurs twice", remedy=_AGAIN)
        seen.add(name)
        total += info.file_size
        if info.file_size > MOST_BYTES or total > 2 * MOST_BYTES:
            raise BundleError(
                f"{path}: '{name}' is too large ({info.file_size} bytes; limit {MOST_BYTES} for a "
                f"file, {2 * MOST_BYTES} in all)",
                remedy="do not extract this file; get the bundle from its author.",
            )


def _content(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """One file; never more bytes than its header states."""
    with archive.open(info) as stream:
        content = stream.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise BundleError(
            f"{path}: '{info.filename}' has another size than its header states", remedy=_AGAIN
        )
    return content


def _manifest(path: Path, content: bytes) -> Manifest:
    try:
        found = Manifest.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BundleError(
            f"{path}: {MANIFEST} is not valid: {where}: {first['msg']}", remedy=_AGAIN
        ) from error
    if found.schema_ != SCHEMA:
        raise BundleError(
            f"{path} has schema {found.schema_!r}; this version reads {SCHEMA!r}",
            remedy="verify it with the version of Windtunnel that wrote it.",
        )
    return found
