"""``predict`` and ``fit``: the physics model."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windtunnel.cli.options import (
    as_run,
    assignments,
    check_chart,
    points_of,
    print_found,
    refuse_without_valid,
)
from windtunnel.errors import FitFileError, ResultsError, UsageError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from windtunnel.analysis.prediction.points import Found
    from windtunnel.model.fit import Fit

WORKLOAD_PATH = "workloads."
INSTEAD = {"size": "rows", "rows": "size"}
"""Parameters of which one replaces the other."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: windtunnel predict cisco-2014/test9 terasort")(predict)
    app.command(epilog="Example: windtunnel fit published:cisco-2014 --out fit.json")(fit)
    app.command(
        epilog="Example: windtunnel whatif published:cisco-2014 --set 'hosts.worker.count=10'"
    )(whatif)
    app.command(epilog="Example: windtunnel accuracy")(accuracy)


FitFile = Annotated[
    Path | None,
    typer.Option(
        "--fit", metavar="FILE", help="Fit to predict with; default: that of published studies."
    ),
]


def predict(
    cluster: Annotated[
        str | None,
        typer.Argument(
            help="Cluster file, cluster of the catalogue, or STUDY/TREATMENT of a published study.",
            show_default=False,
        ),
    ] = None,
    workloads: Annotated[
        list[str] | None, typer.Argument(help="Workloads: terasort, pi ...", show_default=False)
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change a value of the cluster, or a parameter: workloads.terasort.size=2TB.",
            show_default=False,
        ),
    ] = None,
    results: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="RESULTS",
            help="Predict all treatments of a results folder, or published:NAME.",
            show_default=False,
        ),
    ] = None,
    fit_file: FitFile = None,
    this_machine: Annotated[
        bool,
        typer.Option(
            "--this-machine",
            help="The hosts are processes that share this machine, as on the testbed 'local'.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Predict times of workloads on a described cluster, with intervals and bottlenecks."""
    from windtunnel.report.predictions import as_text

    if results is not None:
        if cluster is not None or changes or this_machine:
            raise UsageError(
                "--for takes clusters and parameters from the results",
                remedy="remove the cluster, the workloads, --set and --this-machine.",
            )
        found = _for_results(results, fit_of(fit_file))
    elif cluster is None or not workloads:
        raise UsageError(
            "a cluster and at least one workload are required",
            remedy="for example: windtunnel predict cisco-2014/test9 terasort",
        )
    else:
        found = _for_cluster(
            cluster, workloads, changes or [], fit_of(fit_file), this_machine=this_machine
        )
    print_found(found, as_text(found), as_json=as_json)


def fit(
    results: Annotated[list[str], typer.Argument(help="Results folders, or published:NAME.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File of the fit.")],
    only: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Use only these treatments: one id in each line."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Use only this number of treatments.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of --sample.")] = 1,
    from_scratch: Annotated[
        bool,
        typer.Option("--from-scratch", help="Start from the priors, not from the included fit."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Fit the constants of the physics model to results."""
    from windtunnel.analysis.prediction.points import chosen
    from windtunnel.analysis.prediction.sampling import sampled
    from windtunnel.model.fit import Prior
    from windtunnel.model.fit import fit as fitted
    from windtunnel.model.store import record, shipped_fit, write_fit
    from windtunnel.published import open_results
    from windtunnel.report.predictions import fit_text

    if only is not None and sample is not None:
        raise UsageError("--only and --sample exclude each other", remedy="keep one of them.")
    opened = {one: open_results(one) for one in results}
    folders = [points_of(one) for one in opened.values()]
    _notes(folders)
    points = [point for found in folders for point in found.points]
    if not points:
        for name, one in opened.items():
            refuse_without_valid(name, one)
        raise ResultsError(
            "no time in these results can be predicted by the model",
            remedy="the model knows TeraSort's phases, WordCount, Pi, TestDFSIO, PUT and GET, on a "
            "described cluster.",
        )
    if only is not None:
        points = chosen(points, _lines(only))
    if sample is not None:
        points = sampled(points, sample, seed)
    prior = Prior.before_any_data() if from_scratch else Prior.of_new_cluster(shipped_fit())
    made = fitted(points, prior, origin=", ".join(results))
    write_fit(made, out)
    found = record(made).model_dump(mode="json", by_alias=True)
    print_found(found, fit_text(made), as_json=as_json)
    print(f"wrote {out}", file=sys.stderr)


def whatif(
    results: Annotated[str, typer.Argument(help="Results folder, or published:NAME.")],
    changes: Annotated[
        list[str],
        typer.Option("--set", metavar="PATH=VALUE", help="A change of the cluster; repeatable."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Fit the model to measured results, change the cluster, and predict the new times."""
    from windtunnel.analysis.prediction.whatif import what_if
    from windtunnel.published import open_results
    from windtunnel.report.predictions import what_if_text

    pairs = dict(assignments(changes))
    own = next((path for path in pairs if path.startswith(WORKLOAD_PATH)), None)
    if own is not None:
        raise UsageError(
            f"--set {own}: whatif changes the cluster only; the measured times are those of their "
            "own data",
            remedy="use 'windtunnel predict' with --set workloads.NAME.PARAMETER=VALUE.",
        )
    opened = open_results(results)
    refuse_without_valid(results, opened)
    found = points_of(opened)
    _notes([found])
    made = what_if(opened, found, pairs, as_run(opened.study))
    print_found(made, what_if_text(made), as_json=as_json)


def accuracy(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    chart: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write predicted against published as SVG."),
    ] = None,
) -> None:
    """Test the physics model on the published studies: fit a part, predict the rest."""
    from windtunnel.analysis.prediction.accuracy import STUDIES, assess
    from windtunnel.published import open_results
    from windtunnel.report.accuracy import accuracy_text, write_chart

    check_chart(chart)
    points = [
        point for name in STUDIES for point in points_of(open_results(f"published:{name}")).points
    ]

    def progress(done: int, total: int, name: str) -> None:
        print(f"split {done + 1} of {total}: {name}", file=sys.stderr)

    found = assess(points, progress)
    if chart is not None:
        write_chart(found, chart)
        print(f"wrote {chart}", file=sys.stderr)
    print_found(found, accuracy_text(found), as_json=as_json)


def fit_of(path: Path | None) -> Fit:
    """The fit of a file; without one, the fit of the published studies."""
    from windtunnel.model.store import read_fit, shipped_fit

    if path is None:
        return shipped_fit()
    try:
        return read_fit(path)
    except ResultsError as error:
        raise FitFileError(error.message, remedy=error.remedy) from error


def _for_cluster(
    source: str, workloads: list[str], changes: list[str], fit: Fit, *, this_machine: bool
) -> dict[str, Any]:
    from windtunnel.analysis.prediction.described import (
        check_values,
        phases_of,
        predict_workloads,
        unread,
    )
    from windtunnel.cli.predict_checks import refuse
    from windtunnel.cluster import apply_overrides
    from windtunnel.errors import DescriptionError
    from windtunnel.published.clusters import find_cluster, parameters_for

    described = find_cluster(source)
    given: dict[str, dict[str, Any]] = {name: parameters_for(described, name) for name in workloads}
    for name, parameters in given.items():
        phases_of(name, parameters)
    own = split_changes(changes, given)
    cluster = apply_overrides(described.cluster, own)
    try:
        check_values(cluster)
        refuse(cluster, given)
    except DescriptionError as error:
        if described.source is None or error.key in own:
            raise
        raise described.source.placed(error) from None
    found = predict_workloads(described.name, cluster, given, fit, this_machine=this_machine)
    return found | {"no_effect": unread(described.cluster, own, given)}


def split_changes(changes: list[str], given: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The changes of the cluster; those of ``workloads.NAME.`` are made in ``given``.

    Raises
    ------
    UsageError
        If a change has no value, or is for a workload that is not in ``given``.
    """
    pairs = assignments(changes)
    for path, value in pairs:
        if path.startswith(WORKLOAD_PATH):
            name, _, parameter = path.removeprefix(WORKLOAD_PATH).partition(".")
            if name not in given:
                raise UsageError(
                    f"--set {path}: the workload '{name}' is not predicted",
                    remedy=f"the workloads are: {', '.join(given)}.",
                )
            given[name][parameter] = _parameter(name, parameter, value)
            given[name].pop(INSTEAD.get(parameter, ""), None)
    return {path: value for path, value in pairs if not path.startswith(WORKLOAD_PATH)}


def _parameter(workload: str, name: str, value: Any) -> Any:
    """A parameter of the command line, checked by the type that the workload gives it.

    Raises
    ------
    DescriptionError
        If the workload has no such parameter, or the value is not valid.
    """
    from pydantic import TypeAdapter, ValidationError

    from windtunnel.cluster.schema_paths import suggest
    from windtunnel.errors import DescriptionError
    from windtunnel.workloads import find_workload

    if not name:
        raise DescriptionError(
            "the name of a parameter is missing",
            key=f"{WORKLOAD_PATH}{workload}",
            remedy=f"write {WORKLOAD_PATH}{workload}.PARAMETER=VALUE.",
        )
    key = f"{WORKLOAD_PATH}{workload}.{name}"
    known = find_workload(workload).parameters_type.model_fields
    if name not in known:
        raise DescriptionError(
            f"the workload '{workload}' has no parameter '{name}'",
            key=key,
            remedy=f"{suggest(name, list(known), 'parameter')}.",
        )
    field = known[name]
    kind: Any = (
        Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    )
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise DescriptionError(
            _said(error.errors()[0]), key=key, remedy=f"for example: --set {key}={_example(name)}"
        ) from None


def _said(details: ErrorDetails) -> str:
    """What is wrong with a parameter, with the value that was given."""
    from windtunnel.cluster.validation_messages import shown

    given, least = shown(details["input"]), details.get("ctx", {}).get("gt")
    if details["type"] == "greater_than" and least == 0:
        return f"must be at least 1, not {given}"
    if details["type"] in ("int_type", "int_parsing", "int_from_float"):
        return f"must be a whole number, not {given}"
    return details["msg"].removeprefix("Value error, ")


def _example(parameter: str) -> str:
    """A value of a parameter of a workload."""
    examples = {"size": "1TB", "file_size": "1GB", "rows": "10000000000", "engine": "mapreduce"}
    counts = {"maps": "120", "reduces": "96", "files": "10", "streams": "1"}
    replicas = "3" if "replication" in parameter else "true"
    return {**examples, **counts, "samples_per_map": "1000000"}.get(parameter, replicas)


def _for_results(source: str, fit: Fit) -> dict[str, Any]:
    from windtunnel.analysis.prediction.compared import predict_results
    from windtunnel.published import open_results

    opened = open_results(source)
    refuse_without_valid(source, opened)
    found = points_of(opened)
    _notes([found])
    if not found.points:
        raise ResultsError(
            f"{source} has no times that the model can predict"
            + (f": {'; '.join(found.skipped)}" if found.skipped else ""),
            remedy="the model knows TeraSort's phases, WordCount, Pi, TestDFSIO, PUT and GET, on a "
            "described cluster with a known size of the data.",
        )
    return predict_results(source, found, fit)


def _notes(folders: list[Found]) -> None:
    for found in folders:
        for line in found.skipped:
            print(f"not used: {line}", file=sys.stderr)


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(
            f"--only {path} cannot be read: {why}", remedy="specify a text file of treatments."
        ) from error
    # a list that a spreadsheet wrote has quotes around names with commas
    lines = [line.strip().strip('"') for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]
