"""What follows from an audit: the balance of a cluster, advice and the study that measures it."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windtunnel.audit.audit import Audit, Subject
    from windtunnel.audit.configuration import Configuration


def print_balance(sources: Sequence[str], workloads: Sequence[str], *, as_json: bool) -> None:
    """Print the balance of clusters for some workloads, and several against the first of them."""
    from rich.console import Console

    from windtunnel.analysis.prediction.alternatives import alternatives
    from windtunnel.analysis.prediction.balance import balance
    from windtunnel.model.store import shipped_fit
    from windtunnel.published.clusters import find_cluster
    from windtunnel.report.balance import print_alternatives
    from windtunnel.report.balance import print_balance as print_tables

    clusters = {one.name: one.cluster for one in map(find_cluster, sources)}
    chosen = list(workloads) or ["terasort", "wordcount", "dfsio"]
    fit = shipped_fit()
    found = [balance(name, cluster, chosen, fit) for name, cluster in clusters.items()]
    compared = alternatives(clusters, chosen, fit) if len(clusters) > 1 else None
    if as_json:
        several = {"compared": compared, "balances": found}
        json.dump(found[0] if compared is None else several, sys.stdout, indent=1)
        print()
        return
    if compared is not None:
        print_alternatives(compared, Console())
    for one in found:
        print_tables(one, Console())


def write_advice(subject: Subject, made: Audit, folder: Path, present: dict[str, str]) -> None:
    """Write the advice and name the files."""
    from windtunnel.report import advice

    for path in advice.write_advice(advice.settled(subject, made), folder, present):
        print(f"wrote {path}", file=sys.stderr)


def settings_of_jobs(confs: Sequence[Configuration]) -> dict[str, str]:
    """The settings of jobs in force, which a study on another machine can have as well."""
    from windtunnel.audit.configuration import redacted
    from windtunnel.cluster.settings import affects, default_of

    if not confs:
        return {}
    return {
        one.name: confs[0].value(one.name)
        for one in confs[0].entries
        if one.name.startswith("mapreduce.")
        and default_of(one.name) is not None
        and affects(one.name) == "client"
        and redacted(one.name, one.value) == one.value
        and not one.name.startswith(("mapreduce.framework", "mapreduce.application"))
    }


def run_study(study: Path, results: Path, again: list[str]) -> None:
    """Run the study of the advice, print its report, and write what wins in it.

    ``again`` is the command that resumes the study, for messages.
    """
    from windtunnel.cli.options import load
    from windtunnel.cli.studies import conclude, conduct
    from windtunnel.report.proven import proofs, write_proven
    from windtunnel.results.folder import read_results
    from windtunnel.study.file import load_study

    if not study.is_file():
        print("no advice is about settings of jobs: there is nothing to measure", file=sys.stderr)
        return
    conduct(load(str(study), None, None), results, again, retry_invalid=True)
    conclude(results)
    factors = load_study(study)[0].factors
    advised = {c: levels["advised"] for c, levels in factors.items() if isinstance(levels, dict)}
    found = proofs(read_results(results), advised)
    for one in found:
        print(one.words)
    for path in write_proven(found, study.parent):
        print(f"wrote {path}", file=sys.stderr)
