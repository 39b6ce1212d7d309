"""The files of a bundle: journals, reports as data and as pages, locks, settings, machine facts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from windtunnel import __version__, durable
from windtunnel.analysis.analyse import analyse
from windtunnel.bundle.archive import MANIFEST, SCHEMA, Manifest, entries, is_safe
from windtunnel.bundle.crate import METADATA, crate
from windtunnel.bundle.described import Described
from windtunnel.bundle.documents import appendix, disclosure
from windtunnel.bundle.redaction import redacted
from windtunnel.bundle.verify import CLAIMS, REPORTS, RESULTS, claims_of
from windtunnel.errors import ResultsError
from windtunnel.published.names import published_names
from windtunnel.report.export import to_json
from windtunnel.report.html import render
from windtunnel.results.folder import Results, read_results

OMITTED = {"logs", "report.html", ".lock"}
"""Not in a bundle: logs of daemons, which are large, and the page, which is rendered again."""


@dataclass(frozen=True)
class Content:
    """The files of a bundle by path, the manifest included, and what they hold."""

    files: dict[str, bytes]
    manifest: Manifest


def collect(folders: Sequence[Path], *, redact: bool) -> Content:
    """The files of a bundle of these results folders.

    A folder without a study whose sub-folders have one stands for these; if it is that of a
    reproduced study, the claims are part of the bundle.

    Raises
    ------
    ResultsError
        If a folder has no results, two folders have one name, or the name of a folder or file
        cannot be that of a file in a bundle.
    """
    found = _named(folders)
    files: dict[str, bytes] = {}
    for name, folder in found.items():
        for path, content in _journal(folder, redact=redact).items():
            files[f"{RESULTS}/{name}/{path}"] = content
    with tempfile.TemporaryDirectory(prefix="windtunnel-bundle-") as temporary:
        root = Path(temporary)
        for path, content in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        described = [_described(name, root / RESULTS / name) for name in found]
        for one in described:
            files |= _of_results(one)
        studies = sorted({name.split("/")[0] for name in found if "/" in name})
        reproduced = [study for study in studies if study in published_names()]
        for study in reproduced:
            claims = claims_of(study, root / RESULTS / study)
            files[f"{CLAIMS}/{study}.json"] = _json(claims)
    files |= _locks(described)
    claims_by_study = {s: json.loads(files[f"{CLAIMS}/{s}.json"]) for s in reproduced}
    files["APPENDIX.md"] = appendix(described, claims_by_study).encode()
    files["DISCLOSURE.md"] = disclosure(described, claims_by_study).encode()
    created = datetime.now(UTC).replace(microsecond=0).isoformat()
    files[METADATA] = _json(crate(described, sorted(files), created))
    manifest = Manifest(
        schema=SCHEMA,
        windtunnel=__version__,
        created=created,
        redacted=redact,
        results=list(found),
        reproductions=reproduced,
        files=entries(files),
    )
    files[MANIFEST] = manifest.model_dump_json(indent=1, by_alias=True).encode()
    return Content(files, manifest)


def _named(folders: Sequence[Path]) -> dict[str, Path]:
    """Results folders by name; of a folder of folders, ``FOLDER/NAME``."""
    found: dict[str, Path] = {}
    for folder in folders:
        inner = sorted(file.parent for file in folder.glob("*/study.json"))
        given = {folder.resolve().name: folder}
        if inner and not (folder / "study.json").is_file():
            given = {f"{folder.resolve().name}/{one.name}": one for one in inner}
        for name, path in given.items():
            _check_name("folder", name)
            read_results(path)  # reports a folder that is no results folder
            if name in found:
                raise ResultsError(
                    f"two results folders have the name '{name}'", remedy="rename one of them."
                )
            found[name] = path
    return found


def _journal(folder: Path, *, redact: bool) -> dict[str, bytes]:
    """The files of a results folder, without logs."""
    found = {}
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if path.parts[0] in OMITTED or file.is_symlink() or not file.is_file():
            continue
        if file.suffix == durable.UNFINISHED:  # of a process that writes it, or was killed
            continue
        _check_name("file", path.as_posix())
        content = file.read_bytes()
        if redact and file.suffix in (".json", ".yaml"):
            content = redacted(path, content)
        found[path.as_posix()] = content
    return found


def _check_name(kind: str, name: str) -> None:
    """Refuse a name that 'verify' refuses."""
    if not is_safe(name):
        raise ResultsError(
            f"the {kind} {name!a} cannot be in a bundle: its name contains ':', '\\' or bytes "
            "that are no UTF-8",
            remedy=f"rename the {kind}; a CSV file of an import must be imported again.",
        )


def _described(name: str, folder: Path) -> Described:
    results = read_results(folder)
    recorded = {t.provenance: results.provenance(t) for t in results.trials if t.provenance}
    machines = _parts(recorded.values(), "machine")
    software = _parts(recorded.values(), "software")
    return Described(
        name,
        results,
        analyse(results),
        _settings(results),
        [one for place, one in enumerate(machines) if one not in machines[:place]],
        _together(software),
    )


def _parts(found: Iterable[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    """The facts with this name, where they are recorded."""
    return [part for one in found if isinstance(part := one.get(key), dict)]


def _together(software: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The software of all trials: every version of Hadoop, every engine, every jar once."""
    found = dict(software[0]) if software else {}
    jars = {json.dumps(jar, sort_keys=True): jar for one in software for jar in one.get("jars", [])}
    versions = dict.fromkeys(str(one["hadoop"]) for one in software if one.get("hadoop"))
    engines = _parts(software, "engines")
    return found | {
        "hadoop": list(versions),
        "jars": list(jars.values()),
        "engines": {name: facts for one in engines for name, facts in one.items()},
    }


def _settings(results: Results) -> list[Mapping[str, Any]]:
    """All settings that are not defaults, over all trials; each once."""
    found: dict[str, Mapping[str, Any]] = {}
    for trial in results.trials:
        software = results.provenance(trial).get("software")
        for one in software.get("settings", []) if isinstance(software, dict) else []:
            found[json.dumps(one, sort_keys=True)] = one
    return [found[key] for key in sorted(found)]


def _of_results(one: Described) -> dict[str, bytes]:
    from windtunnel.report.chart_process import Drawer

    with Drawer() as drawer:
        page = render(one.analysis, one.results, drawer)
    return {
        f"{REPORTS}/{one.name}.json": _json(to_json(one.analysis)),
        f"pages/{one.name}.html": page.encode(),
        f"settings/{one.name}.json": _json(list(one.settings)),
        f"machines/{one.name}.json": _json(list(one.machines)),
        f"jars/{one.name}.json": _json(one.software.get("jars", [])),
    }


def _locks(described: Sequence[Described]) -> dict[str, bytes]:
    """The lock files, with the hash of each jar, of the engines that ran."""
    lines = {
        "hadoop-" + ".".join(version.split(".")[:2])
        for one in described
        for version in one.software["hadoop"]
    }
    for one in described:
        lines |= set(one.software["engines"])
    found = {}
    for engine in sorted(resources.files("windtunnel.engines").iterdir(), key=lambda e: e.name):
        folder = engine.joinpath("locks")
        if not folder.is_dir():
            continue
        for file in folder.iterdir():
            if file.name.removesuffix(".lock.toml") in lines:
                found[f"locks/{file.name}"] = file.read_bytes()
    return found


def _json(data: Any) -> bytes:
    return json.dumps(data, indent=1, allow_nan=False).encode()
