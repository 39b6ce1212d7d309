"""``ro-crate-metadata.json``: the bundle as a Workflow Run RO-Crate.

Profiles: RO-Crate 1.1, Process Run Crate and Workflow Run Crate 0.5
(w3id.org/ro/wfrun), Workflow RO-Crate 1.0. The workflow is the study file, the engine is
Windtunnel, one ``CreateAction`` is the execution of a study.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from windtunnel import __version__
from windtunnel.bundle.described import Described

METADATA = "ro-crate-metadata.json"
CONTEXT = [
    "https://w3id.org/ro/crate/1.1/context",
    "https://w3id.org/ro/terms/workflow-run/context",
]
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
LANGUAGE = "#windtunnel-study"
ENGINE = "#windtunnel"
_TYPES = {
    ".json": "application/json",
    ".html": "text/html",
    ".yaml": "application/yaml",
    ".md": "text/markdown",
    ".toml": "application/toml",
    ".parquet": "application/vnd.apache.parquet",
}


def crate(described: Sequence[Described], paths: Iterable[str], created: str) -> dict[str, Any]:
    """The metadata of a bundle with these files; ``created`` is an ISO 8601 time."""
    paths = list(paths)
    workflows = [_workflow_path(one, paths) for one in described]
    graph: list[dict[str, Any]] = [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "conformsTo": [
                {"@id": "https://w3id.org/ro/crate/1.1"},
                {"@id": "https://w3id.org/workflowhub/workflow-ro-crate/1.0"},
            ],
            "about": {"@id": "./"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"Windtunnel results: {', '.join(one.name for one in described)}",
            "description": " ".join(
                one.results.study.question or one.results.study.name for one in described
            ),
            "datePublished": created,
            "license": {"@id": "#license"},
            "conformsTo": [{"@id": profile} for profile in PROFILES],
            "hasPart": [{"@id": path} for path in paths],
            "mainEntity": {"@id": workflows[0]},
            "mentions": [{"@id": _action_id(one)} for one in described],
        },
        {
            "@id": "#license",
            "@type": "CreativeWork",
            "name": "license of the author",
            "description": "The author of the bundle states under which license it may be used.",
        },
        *(
            {"@id": profile, "@type": "CreativeWork", "name": name, "version": version}
            for profile, (name, version) in PROFILES.items()
        ),
        {
            "@id": LANGUAGE,
            "@type": "ComputerLanguage",
            "name": "Windtunnel study file",
            "version": __version__,
        },
        {
            "@id": ENGINE,
            "@type": "SoftwareApplication",
            "name": "Windtunnel",
            "version": __version__,
            "softwareVersion": __version__,
        },
    ]
    taken = {path: _file(path) for path in paths}
    for one, workflow in zip(described, workflows, strict=True):
        taken[workflow] |= {
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": one.results.study.name,
            "programmingLanguage": {"@id": LANGUAGE},
        }
        graph.append(_action(one, workflow, paths))
    return {"@context": CONTEXT, "@graph": [*graph, *taken.values()]}


def _file(path: str) -> dict[str, Any]:
    suffix = path[path.rfind(".") :]
    return {
        "@id": path,
        "@type": "File",
        "name": path.rsplit("/", 1)[-1],
        "encodingFormat": _TYPES.get(suffix, "application/octet-stream"),
    }


def _workflow_path(one: Described, paths: Sequence[str]) -> str:
    own = f"results/{one.name}/study.yaml"
    return own if own in paths else f"results/{one.name}/study.json"


def _action_id(one: Described) -> str:
    return f"#run-{one.name.replace('/', '-')}"


def _action(one: Described, workflow: str, paths: Sequence[str]) -> dict[str, Any]:
    """The execution of a study: from its first trial to its last, with all files it made."""
    trials = one.results.trials
    study = one.results.study
    started = min((t.started_at for t in trials), default=study.created_at)
    ended = max((t.finished_at for t in trials), default=study.created_at)
    prefix = f"results/{one.name}/"
    made = [path for path in paths if path.startswith(prefix) and path != workflow]
    made += [path for path in paths if path == f"reports/{one.name}.json"]
    return {
        "@id": _action_id(one),
        "@type": "CreateAction",
        "name": f"{len(trials)} trials of the study {study.name}",
        "instrument": {"@id": workflow},
        "startTime": _iso(started),
        "endTime": _iso(ended),
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
        "object": [],
        "result": [{"@id": path} for path in made],
    }


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=0).isoformat()
