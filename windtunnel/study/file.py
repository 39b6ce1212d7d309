"""The study file: a question as YAML. Typed, closed, errors with file, line and key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from windtunnel.cluster import Located, load_text, load_yaml, validate
from windtunnel.cluster import blame as complaint
from windtunnel.errors import DescriptionError
from windtunnel.study.closed import Closed
from windtunnel.study.designs import Design
from windtunnel.study.faults import Faults
from windtunnel.study.protocol import Protocol
from windtunnel.testbeds import SCALED
from windtunnel.testbeds.scaled.scale import Scale


def label_of(value: object) -> str:
    """Name of a level: the value as YAML writes it (``true``, ``256``, ``64 MiB``)."""
    return str(value).lower() if isinstance(value, bool) else str(value)


Overrides = dict[str, Any]
Levels = list[Any] | dict[str, Overrides]


class StudyFile(Closed):
    """A study: factors x workloads + protocol + baseline."""

    study: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = Field(
        description="Name of the study."
    )
    question: str = Field("", description="What the study is to find out, in a sentence.")
    cluster: str = Field(description="Name in the catalogue, or path of a cluster file.")
    testbed: str = Field("local", description="Where the cluster becomes measurable.")
    scale: Scale | None = Field(
        None,
        description="With the testbed `scaled`: how much slower and smaller the model is. "
        "`windtunnel plan STUDY --propose` proposes one.",
    )
    set: Overrides = Field(
        default_factory=dict, description="Changes of the cluster that all treatments share."
    )
    workloads: dict[str, dict[str, Any]] = Field(
        min_length=1, description="What is run, with its parameters."
    )
    factors: dict[str, Levels] = Field(
        default_factory=dict,
        description="Path -> list of values, or name -> label -> what that level sets.",
    )
    fault: Faults = Field(
        (),
        description="What breaks during every trial: one fault or a list. A level of a factor "
        "may set it instead: `{fault: ...}`.",
    )
    baseline: dict[str, Annotated[str, BeforeValidator(label_of)]] = Field(
        default_factory=dict, description="Level of each factor that effects are counted from."
    )
    design: Design = Field(
        "full-factorial",
        description="Which combinations of levels become treatments: a name, or "
        "{kind: NAME, ...} with the design's options.",
        validate_default=True,
    )
    protocol: Protocol = Field(
        default_factory=lambda: Protocol.model_validate({}),
        description="How the trials are run.",
    )

    @model_validator(mode="after")
    def _scale_of_a_model(self) -> StudyFile:
        if self.scale is not None and self.testbed != SCALED:
            raise complaint(
                f"the testbed '{self.testbed}' runs at full size",
                "scale",
                remedy=f"remove the scale, or write 'testbed: {SCALED}'.",
            )
        return self


def catalogue_names(kind: str) -> list[str]:
    """Names of the catalogue's entries of a kind: ``studies``, ``clusters``, ``bundles``."""
    folder = resources.files("windtunnel.catalogue").joinpath(kind)
    return sorted(
        e.name.removesuffix(".yaml") for e in folder.iterdir() if e.name.endswith(".yaml")
    )


def catalogue_text(kind: str, name: str) -> str:
    """Text of a catalogue entry.

    Raises
    ------
    DescriptionError
        If there is none of that name.
    """
    names = catalogue_names(kind)
    if name not in names:
        raise DescriptionError(
            f"the catalogue has no '{name}' among its {kind}",
            remedy=f"it has: {', '.join(names)}.",
        )
    return resources.files("windtunnel.catalogue").joinpath(kind, f"{name}.yaml").read_text()


def load_study(source: str | Path) -> tuple[StudyFile, Located]:
    """A study from a file, or from the catalogue by name.

    Raises
    ------
    DescriptionError
        With file, line and key of what is wrong.
    """
    if isinstance(source, str) and source in catalogue_names("studies"):
        located = load_text(catalogue_text("studies", source), f"catalogue:studies/{source}.yaml")
    else:
        located = load_yaml(Path(source))
    return validate(StudyFile, located), located


@contextmanager
def blame(located: Located, *loc: str) -> Iterator[None]:
    """Give a DescriptionError raised within, if it names no file, the place ``loc``."""
    try:
        yield
    except DescriptionError as error:
        if error.file is not None:
            raise
        message = f"{error.key}: {error.message}" if error.key else error.message
        raise located.error(message, *loc, remedy=error.remedy) from error


def part(located: Located, *loc: str) -> Located:
    """The part of a file below ``loc``, with its own lines."""
    data: Any = located.data
    for key in loc:
        data = data[key]
    lines = {k[len(loc) :]: line for k, line in located.lines.items() if k[: len(loc)] == loc}
    return Located(dict(data or {}), located.name, lines, located.text)


class BundleLine(Closed):
    """One setting of a bundle, with the reason why it is set."""

    value: str | int | float | bool
    reason: str


class Bundle(Closed):
    """A named, documented set of Hadoop settings."""

    bundle: str
    about: str
    settings: dict[str, BundleLine]


def load_bundle(name: str) -> Bundle:
    """A bundle of the catalogue; DescriptionError if there is none of that name."""
    text = catalogue_text("bundles", name)
    return validate(Bundle, load_text(text, f"catalogue:bundles/{name}.yaml"))
