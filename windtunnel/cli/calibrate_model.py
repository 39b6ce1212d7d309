"""``calibrate`` on a testbed without limited resources: it fits the physics model."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
import sys
from pathlib import Path

from windtunnel.cli.options import DEFAULT_FOLDER, load, points_of, print_found
from windtunnel.errors import ResultsError, UsageError
from windtunnel.testbeds import DEFAULT

FIT_FILE = "fit.json"


def calibrate_model(
    testbed: str,
    study: str,
    again: list[str],
    *,
    results: Path | None,
    out: Path | None,
    changes: list[str] | None,
    hadoop: str | None,
    permit_open: bool,
    as_json: bool,
) -> None:
    """Run or resume a study, fit the constants of the model to it, and print them.

    Parameters
    ----------
    again:
        The command that resumes the calibration, without its options.

    Raises
    ------
    UsageError
        If the study is for another testbed.
    ResultsError
        If the model cannot use any of its times.
    """
    from windtunnel.cli.studies import conduct
    from windtunnel.hosts.isolation.policy import FLAG
    from windtunnel.model.fit import Prior, fit
    from windtunnel.model.store import record, shipped_fit, write_fit
    from windtunnel.report.predictions import fit_text
    from windtunnel.results.folder import read_results

    plan = load(study, changes, hadoop)
    if plan.testbed != testbed:
        raise UsageError(
            f"study '{plan.name}' runs on the testbed '{plan.testbed}', not on '{testbed}'",
            remedy=f"specify a study for the testbed '{testbed}'.",
        )
    folder = results or DEFAULT_FOLDER / plan.name
    words = [*again, "--results", str(folder)]
    words += [word for change in changes or [] for word in ("--set", change)]
    words += [*(["--hadoop", hadoop] if hadoop else []), *([FLAG] if permit_open else [])]
    conduct(plan, folder, words, retry_invalid=True, permit_open=permit_open)
    found = points_of(read_results(folder))
    if not found.points:
        raise ResultsError(
            f"no time in {folder} can be predicted by the model",
            remedy="see its report for invalid trials: windtunnel report " + str(folder),
        )
    made = fit(found.points, Prior.of_new_cluster(shipped_fit()), origin=str(folder))
    file = out or folder / FIT_FILE
    write_fit(made, file)
    data = record(made).model_dump(mode="json", by_alias=True)
    print_found(data, fit_text(made), as_json=as_json)
    print(f"wrote {file}", file=sys.stderr)
    shared = ", hosts: this machine" if testbed == DEFAULT else ""
    print(f"to predict with it: testbed: {{kind: modelled, fit: {file}{shared}}}", file=sys.stderr)
