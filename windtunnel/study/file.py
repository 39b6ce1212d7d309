"""The study file in YAML: its types, and errors that contain file, line and key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from windtunnel.cluster import Located, load_text, load_yaml, validate
from windtunnel.cluster import blame as complaint
from windtunnel.cluster.schema_paths import nearest
from windtunnel.cluster.validation_messages import shown
from windtunnel.errors import DescriptionError
from windtunnel.study.closed import Closed
from windtunnel.study.designs import Design
from windtunnel.study.faults import Faults
from windtunnel.study.protocol import Protocol
from windtunnel.testbeds import DEFAULT, TESTBEDS, TestbedChoice, find_testbed


def label_of(value: object) -> str:
    """The name of a level: its value as in YAML (``true``, ``256``, ``64 MiB``)."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _changes(given: object) -> object:
    """The changes of a level, unless a form of another file was used (``path:``, ``levels:``)."""
    if isinstance(given, dict):
        return given
    raise complaint(
        f"a level must be a mapping of paths to values, not {shown(given)}",
        remedy="for a factor of one path write 'hosts.worker.count: [3, 4]', otherwise a line "
        "'LABEL: {PATH: VALUE}' for each level.",
    )


Overrides = dict[str, Any]
Levels = list[Any] | dict[str, Annotated[Overrides, BeforeValidator(_changes)]]


class StudyFile(Closed):
    """A study: factors x workloads + protocol + baseline."""

    study: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)] = Field(
        description="Name of the study."
    )
    question: str = Field("", description="Question that the study answers, in one sentence.")
    cluster: str = Field(description="Name in the catalogue, or path of a cluster file.")
    testbed: TestbedChoice = Field(
        DEFAULT,
        description="Testbed that runs the cluster: a name, or {kind: NAME, ...} with the options "
        "of the testbed.",
        validate_default=True,
    )
    set: Overrides = Field(
        default_factory=dict,
        description="Changes of the cluster description for all treatments: path -> value.",
    )
    workloads: dict[str, dict[str, Any]] = Field(
        min_length=1, description="Workloads that every treatment runs, with their parameters."
    )
    factors: dict[str, Levels] = Field(
        default_factory=dict,
        description="Path -> list of values, or name -> label of a level -> path -> value.",
    )
    fault: Faults = Field(
        (),
        description="Fault that is injected into every trial, or a list of faults. A level of a "
        "factor can set it instead: `{fault: ...}`.",
    )
    baseline: dict[str, Annotated[str, BeforeValidator(label_of)]] = Field(
        default_factory=dict,
        description="Level of each factor with which the other levels are compared.",
    )
    design: Design = Field(
        "full-factorial",
        description="Rule that selects which combinations of levels become treatments: a name, "
        "or {kind: NAME, ...} with the options of the design.",
        validate_default=True,
    )
    protocol: Protocol = Field(
        default_factory=lambda: Protocol.model_validate({}),
        description="Rules of execution.",
    )

    @model_validator(mode="before")
    @classmethod
    def _scale_as_options(cls, given: Any) -> Any:
        """``scale:`` is the deprecated spelling of a testbed's options."""
        if not isinstance(given, dict) or "scale" not in given:
            return given
        testbed = given.get("testbed", DEFAULT)
        name = testbed.get("kind", DEFAULT) if isinstance(testbed, dict) else testbed
        if isinstance(testbed, dict) and testbed.keys() - {"kind"}:
            raise complaint(
                "the options of the testbed are given twice, here and at 'testbed'",
                "scale",
                remedy="remove 'scale', which is deprecated.",
            )
        with_scale = [
            n for n, k in TESTBEDS.items() if {"rate", "data"} <= k.options_type.model_fields.keys()
        ]
        if name not in with_scale:
            raise complaint(
                f"the testbed '{name}' runs at full size and has no scale",
                "scale",
                remedy="remove the scale, or write "
                + " or ".join(f"'testbed: {{kind: {n}, rate: R, data: D}}'" for n in with_scale)
                + ".",
            )
        written = given["scale"] if isinstance(given["scale"], dict) else {}
        options = {"kind": name, **written}
        rest = {key: value for key, value in given.items() if key != "scale"}
        return rest | {"testbed": _checked(options)}


def _checked(options: dict[str, Any]) -> Any:
    """The options that the file has at ``scale``, with errors at that key."""
    try:
        return find_testbed(options["kind"]).options_type.model_validate(options)
    except ValidationError as error:
        first = error.errors()[0]
        where = [str(key) for key in first["loc"]]
        unknown = first["type"] == "extra_forbidden"
        message = f"there is no option '{where[-1]}'" if unknown else first["msg"]
        raise complaint(message, "scale", *where) from None


def deprecations(located: Located) -> list[str]:
    """Notes on deprecated keys of a study file."""
    found = []
    if isinstance(located.data, dict) and "scale" in located.data:
        found.append("'scale' is deprecated: write its options as 'testbed: {kind: NAME, ...}'")
    return found


def catalogue_names(kind: str) -> list[str]:
    """Names of the entries of a kind: ``studies``, ``clusters``, ``bundles`` or ``parts``."""
    folder = resources.files("windtunnel.catalogue").joinpath(kind)
    return sorted(
        e.name.removesuffix(".yaml") for e in folder.iterdir() if e.name.endswith(".yaml")
    )


def catalogue_text(kind: str, name: str) -> str:
    """Text of a catalogue entry.

    Raises
    ------
    DescriptionError
        If there is no entry with that name.
    """
    names = catalogue_names(kind)
    if name not in names:
        raise DescriptionError(
            f"the catalogue has no '{name}' among its {kind}",
            remedy=f"use one of: {', '.join(names)}.",
        )
    return resources.files("windtunnel.catalogue").joinpath(kind, f"{name}.yaml").read_text()


def refuse_unknown(source: str | Path, kind: str, noun: str) -> None:
    """Raise an error for a name that is neither a file nor an entry of the catalogue.

    Raises
    ------
    DescriptionError
        The name is empty; or it has no ``/`` and no ``.yaml``, and there is no such file.
    """
    if not isinstance(source, str):
        return
    if not source:
        raise DescriptionError(
            f"the name of the {noun} is empty",
            remedy="specify a file; 'windtunnel catalogue list' lists those of the catalogue",
        )
    path = Path(source)
    named = "/" not in source and not source.endswith((".yaml", ".yml"))
    if not named or path.exists() or path.is_symlink():
        return
    near = nearest(source, catalogue_names(kind))
    meant = f"did you mean '{near}'? " if near else ""
    raise DescriptionError(
        f"there is no file and no {noun} of the catalogue named '{source}'",
        remedy=f"{meant}'windtunnel catalogue list' lists all",
    )


def written(source: str | Path) -> Located:
    """A study as its file or the catalogue has it, not validated.

    Raises
    ------
    DescriptionError
        If there is no such study, or it is no YAML file.
    """
    if isinstance(source, str) and source in catalogue_names("studies"):
        return load_text(catalogue_text("studies", source), f"catalogue:studies/{source}.yaml")
    refuse_unknown(source, "studies", "study")
    return load_yaml(Path(source))


def testbed_of(study: Located) -> dict[str, Any]:
    """The testbed of a study with its ``kind`` and its options as written, complete or not."""
    data = study.data
    testbed = data.get("testbed", DEFAULT) if isinstance(data, dict) else DEFAULT
    return dict(testbed) if isinstance(testbed, dict) else {"kind": str(testbed)}


def load_study(source: str | Path, *, any_testbed: bool = False) -> tuple[StudyFile, Located]:
    """A study from a file, or from the catalogue by name.

    ``any_testbed`` ignores the testbed of the study.

    Raises
    ------
    DescriptionError
        If the file is invalid, with file, line and key.
    """
    located = written(source)
    if any_testbed and isinstance(located.data, dict):
        rest = {k: v for k, v in located.data.items() if k not in ("testbed", "scale")}
        located = replace(located, data=rest)
    return validate(StudyFile, located), located


@contextmanager
def blame(located: Located, *loc: str) -> Iterator[None]:
    """Add the place ``loc`` to a DescriptionError raised within that has no file."""
    try:
        yield
    except DescriptionError as error:
        if error.file is not None:
            raise
        named = error.key and error.key != loc[-1]
        message = f"{error.key}: {error.message}" if named else error.message
        raise located.error(message, *loc, remedy=error.remedy) from error


def part(located: Located, *loc: str) -> Located:
    """The part of a file below ``loc``, with its line numbers."""
    data: Any = located.data
    for key in loc:
        data = data[key]
    lines = {k[len(loc) :]: line for k, line in located.lines.items() if k[: len(loc)] == loc}
    return Located(dict(data or {}), located.name, lines, located.text)


class BundleLine(Closed):
    """One setting of a bundle, with its reason."""

    value: str | int | float | bool
    reason: str


class Bundle(Closed):
    """A named, documented set of Hadoop settings."""

    bundle: str
    about: str
    settings: dict[str, BundleLine]


def load_bundle(name: str) -> Bundle:
    """A bundle of the catalogue; DescriptionError if there is none with that name."""
    text = catalogue_text("bundles", name)
    return validate(Bundle, load_text(text, f"catalogue:bundles/{name}.yaml"))
