"""Verification of a bundle without a network: hashes, and every number of its reports again."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.analysis.analyse import analyse
from windtunnel.bundle.archive import Manifest, digest, read_zip
from windtunnel.errors import WindtunnelError
from windtunnel.report.export import to_json
from windtunnel.results.folder import read_results

RELATIVE = 1e-9
"""Numbers that agree within this are equal: libraries of another machine round differently."""
RESULTS, REPORTS, CLAIMS = "results", "reports", "claims"
SHOWN = 20


@dataclass(frozen=True)
class Verification:
    """What was checked, and what differs: one sentence each; verified if there is none."""

    manifest: Manifest
    sha256: str
    files: int
    numbers: int
    problems: list[str]


def verify(path: Path) -> Verification:
    """Check a bundle.

    Raises
    ------
    BundleError
        If the file cannot be read as a bundle (:func:`read_zip`).
    """
    manifest, files = read_zip(path)
    problems = list(_hashes(manifest, files))
    numbers = 0
    with tempfile.TemporaryDirectory(prefix="windtunnel-verify-") as folder:
        root = Path(folder)
        for name, content in files.items():
            if name.startswith(f"{RESULTS}/"):
                target = root / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        problems += _unlisted(manifest, files)
        for name in manifest.results:
            count, found = _recompute(name, root, files)
            numbers += count
            problems += found
        for study in manifest.reproductions:
            count, found = _claims(study, root, files)
            numbers += count
            problems += found
    return Verification(manifest, digest(path.read_bytes()), len(files), numbers, problems)


def claims_of(study: str, folder: Path) -> list[dict[str, Any]]:
    """The claims of a reproduced study from the results folders below ``folder``, as plain data."""
    from dataclasses import asdict

    from windtunnel.published.reproduce import reproduce
    from windtunnel.report.export import finite

    made: list[dict[str, Any]] = finite([asdict(row) for row in reproduce(study, folder).rows])
    return made


def _hashes(manifest: Manifest, files: dict[str, bytes]) -> Iterator[str]:
    known = {entry.path: entry for entry in manifest.files}
    for path in sorted(known.keys() - files.keys()):
        yield f"{path} is missing"
    for path in sorted(files.keys() - known.keys()):
        yield f"{path} is not in the manifest"
    for path in sorted(known.keys() & files.keys()):
        if digest(files[path]) != known[path].sha256:
            yield f"{path} was changed: its SHA-256 is not that of the manifest"


def _unlisted(manifest: Manifest, files: dict[str, bytes]) -> Iterator[str]:
    """What the manifest does not list as results or claims would not be computed again."""
    listed = {f"{RESULTS}/{name}/study.json" for name in manifest.results}
    listed |= {f"{REPORTS}/{name}.json" for name in manifest.results}
    listed |= {f"{CLAIMS}/{study}.json" for study in manifest.reproductions}
    for path in sorted(files):
        study = path.startswith(f"{RESULTS}/") and path.endswith("/study.json")
        if (study or path.startswith((f"{REPORTS}/", f"{CLAIMS}/"))) and path not in listed:
            yield f"{path} is not in the manifest's lists of results and claims"


def _recompute(name: str, root: Path, files: dict[str, bytes]) -> tuple[int, list[str]]:
    """The number of values of one report, and those that differ."""
    file = f"{REPORTS}/{name}.json"
    if file not in files:
        return 0, [f"{file} is missing"]
    try:
        stated = json.loads(files[file])
        found = plain(to_json(analyse(read_results(root / RESULTS / name))))
    except WindtunnelError as error:
        text = error.message.replace(f"{root}/", "")
        return 0, [f"{RESULTS}/{name} cannot be analysed: {text}"]
    except ValueError as error:
        return 0, [f"{file} is not JSON: {error}"]
    return count(found), list(differences(stated, found, file))


def _claims(study: str, root: Path, files: dict[str, bytes]) -> tuple[int, list[str]]:
    file = f"{CLAIMS}/{study}.json"
    if file not in files:
        return 0, [f"{file} is missing"]
    try:
        stated = json.loads(files[file])
        found = plain(claims_of(study, root / RESULTS / study))
    except WindtunnelError as error:
        return 0, [f"{file} cannot be computed: {error.message.replace(f'{root}/', '')}"]
    except ValueError as error:
        return 0, [f"{file} is not JSON: {error}"]
    return count(found), list(differences(stated, found, file))


def plain(data: Any) -> Any:
    """Data as a JSON file returns it: lists for tuples, texts for keys."""
    return json.loads(json.dumps(data))


def count(data: Any) -> int:
    """The number of numbers in plain data."""
    if isinstance(data, dict):
        return sum(count(value) for value in data.values())
    if isinstance(data, list):
        return sum(count(value) for value in data)
    return int(isinstance(data, int | float) and not isinstance(data, bool))


def differences(stated: Any, found: Any, where: str) -> Iterator[str]:
    """Each value that differs, with its path, as stated and as recomputed."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for key in sorted(stated.keys() | found.keys()):
            if key not in stated or key not in found:
                side = "not stated" if key not in stated else "stated but not recomputed"
                yield f"{where}: {key} is {side}"
            else:
                yield from differences(stated[key], found[key], f"{where}: {key}")
    elif isinstance(stated, list) and isinstance(found, list):
        if len(stated) != len(found):
            yield f"{where}: {len(stated)} entries stated, {len(found)} recomputed"
        for place, (one, other) in enumerate(zip(stated, found, strict=False), start=1):
            yield from differences(one, other, f"{where} [{place}{_name(found[place - 1])}]")
    elif not _equal(stated, found):
        yield f"{where}: stated {json.dumps(stated)}, recomputed {json.dumps(found)}"


def _name(entry: Any) -> str:
    """The words that identify an entry of a list, such as treatment and phase."""
    if not isinstance(entry, dict):
        return ""
    keys = ("id", "treatment", "factor", "level", "workload", "phase", "metric")
    words = [str(entry[key]) for key in keys if isinstance(entry.get(key), str)]
    return f" {' '.join(words)}" if words else ""


def _equal(stated: Any, found: Any) -> bool:
    if isinstance(stated, bool) or isinstance(found, bool):
        return stated is found
    if isinstance(stated, int | float) and isinstance(found, int | float):
        return math.isclose(stated, found, rel_tol=RELATIVE, abs_tol=1e-12)
    return bool(stated == found)
