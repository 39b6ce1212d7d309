"""``storage-checks``: tests of the behaviour of files on each level of storage of a study."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windtunnel.cli.options import Changes, Hadoop, load, refuse_both
from windtunnel.errors import NotRealisableError, UsageError

if TYPE_CHECKING:
    from windtunnel.cluster import Cluster
    from windtunnel.engines.storage_checks.run import Column
    from windtunnel.study.plan import Plan


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        name="storage-checks",
        epilog="Example: windtunnel storage-checks hdfs-or-cephfs --level 'local folder'",
    )(storage_checks)


def storage_checks(
    study: Annotated[
        str,
        typer.Argument(
            help="Study file, or name of a study in the catalogue, whose treatments have the "
            "levels of storage."
        ),
    ] = "hdfs-or-cephfs",
    level: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Test only this level or treatment; repeatable; default: one treatment of each "
            "storage.",
            show_default=False,
        ),
    ] = None,
    set_: Changes = None,
    hadoop: Hadoop = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a table in Markdown instead of text.")
    ] = False,
) -> None:
    """Test about fifty behaviours of files on each level of storage of a study.

    A cluster is started for each level. The answers are yes (as on a local POSIX file system), no,
    or differs, with what was observed.
    """
    refuse_both({"--json": as_json, "--markdown": markdown})
    columns = _columns(load(study, set_, hadoop), level or [])
    if as_json:
        json.dump(to_json(columns), sys.stdout, indent=1)
        print()
        return
    for line in markdown_lines(columns) if markdown else text_lines(columns):
        print(line)


def answers(study: str) -> dict[str, Any]:
    """The answers for each level of storage of a study, as ``--json`` prints them."""
    return to_json(_columns(load(study, None, None), []))


def _columns(plan: Plan, wanted: Sequence[str]) -> list[Column]:
    return [
        column
        for name, cluster in _levels(plan, wanted).items()
        for column in _test(plan, name, cluster)
    ]


def _levels(plan: Plan, wanted: Sequence[str]) -> dict[str, Cluster]:
    """Name -> cluster of each storage, in the order of the treatments."""
    found: dict[str, Cluster] = {}
    for treatment in plan.treatments:
        labels = [str(label) for label in treatment.levels.values()]
        name = ", ".join(labels) or plan.base.name
        if wanted and not {name, treatment.id, *labels} & {*wanted}:
            continue
        cluster = plan.cluster_of(treatment)
        if all(cluster.fingerprint() != other.fingerprint() for other in found.values()):
            found[name] = cluster
    if not found:
        known = sorted({str(one) for t in plan.treatments for one in t.levels.values()})
        raise UsageError(
            f"no treatment of {plan.name} has the level {', '.join(wanted)}",
            remedy=f"its levels are: {', '.join(known)}.",
        )
    return found


def _test(plan: Plan, name: str, cluster: Cluster) -> list[Column]:
    from rich.console import Console

    from windtunnel.engines.storage_checks.run import run_checks
    from windtunnel.testbeds import cluster_testbed
    from windtunnel.testbeds.hadoop_cluster import HadoopDeployment

    logs = tempfile.TemporaryDirectory(prefix="windtunnel-storage-checks-")
    with logs as folder, Console(stderr=True).status(f"{name}: starting") as line:
        bed = cluster_testbed(plan.testbed_options, Path(folder), line.update)
        if problems := bed.check(cluster).impossible:
            raise NotRealisableError(
                f"{name}: {'; '.join(problems)}", remedy="select other levels with --level."
            )
        with bed.deploy(cluster) as running:
            line.update(f"{name}: testing")
            if not isinstance(running, HadoopDeployment):
                raise NotRealisableError(
                    f"the testbed '{plan.testbed}' starts no Hadoop",
                    remedy="use a study on another testbed: see 'windtunnel catalogue testbeds'.",
                )
            return run_checks(running, name, running.registration.folder)


def to_json(columns: Sequence[Column]) -> dict[str, Any]:
    """All answers as data."""
    from windtunnel.engines.storage_checks.behaviours import BEHAVIOURS

    return {
        "behaviours": dict(BEHAVIOURS),
        "columns": [
            {
                "level": column.level,
                "through": column.through,
                "missing": column.missing,
                "answers": {
                    name: {"answer": answer.word, "note": answer.note}
                    for name, answer in column.answers.items()
                },
            }
            for column in columns
        ],
    }


def markdown_lines(columns: Sequence[Column]) -> Iterator[str]:
    """A table of all answers, then the observations behind those that are not "yes"."""
    from windtunnel.engines.storage_checks.behaviours import BEHAVIOURS

    shown = [column for column in columns if column.answers]
    heads = [_cell(_title(column)) for column in shown]
    yield f"| behaviour | {' | '.join(heads)} |"
    yield f"| --- |{' --- |' * len(shown)}"
    for name, words in BEHAVIOURS.items():
        row = [_marked(column.answers[name].word) for column in shown]
        yield f"| {words} | {' | '.join(row)} |"
    yield ""
    yield from (f"- {_cell(line)}" for line in _observed(columns))


def text_lines(columns: Sequence[Column]) -> Iterator[str]:
    """The same as :func:`markdown_lines`, for a terminal."""
    from windtunnel.engines.storage_checks.behaviours import BEHAVIOURS

    shown = [column for column in columns if column.answers]
    width = max(map(len, BEHAVIOURS.values()))
    for number, column in enumerate(shown, 1):
        counts = _counts(column.answers)
        yield f"[{number}] {_title(column)}: {counts}"
    yield " " * width + "".join(f"  {f'[{number}]':7}" for number in range(1, len(shown) + 1))
    for name, words in BEHAVIOURS.items():
        row = "".join(f"  {column.answers[name].word:7}" for column in shown)
        yield f"{words:{width}}{row}".rstrip()
    yield from _observed(columns)


def _counts(answers: Mapping[str, Any]) -> str:
    words = [answer.word for answer in answers.values()]
    return ", ".join(f"{words.count(word)} {word}" for word in ("yes", "differs", "no"))


def _observed(columns: Sequence[Column]) -> Iterator[str]:
    from windtunnel.engines.storage_checks.behaviours import BEHAVIOURS

    for column in columns:
        if column.missing:
            yield f"{_title(column)}: not tested: {column.missing}"
        for name, answer in column.answers.items():
            if answer.note:
                yield f"{_title(column)}: {BEHAVIOURS[name]}: {answer.word}, {answer.note}"


def _title(column: Column) -> str:
    return f"{column.level} ({column.through})"


def _marked(word: str) -> str:
    return word if word == "yes" else f"**{word}**"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
