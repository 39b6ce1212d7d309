"""``bundle`` and ``verify``: results folders in one file, and its verification."""

from __future__ import annotations

# Imports inside functions: see windtunnel/cli/__init__.py.
from pathlib import Path
from typing import Annotated

import typer

from windtunnel.analysis.formatting import plural
from windtunnel.errors import BundleError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: windtunnel bundle my-results --out my-results.zip")(bundle)
    app.command(epilog="Example: windtunnel verify my-results.zip")(verify)


def bundle(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="Results folders, or a folder of results folders.", metavar="RESULTS..."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.zip", help="File of the bundle.")],
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="Remove the model of the CPU, the kernel, and the names of machine and account.",
        ),
    ] = False,
) -> None:
    """Write results, reports, settings, hashes and metadata to one file that 'verify' checks."""
    from windtunnel.bundle.archive import write_zip
    from windtunnel.bundle.contents import collect

    content = collect(results, redact=redact)
    sha256 = write_zip(content.files, out)
    size = out.stat().st_size / 1e6
    print(f"{out}: {len(content.files)} files, {size:.1f} MB, SHA-256 {sha256}")
    print(f"results: {', '.join(content.manifest.results)}")


def verify(
    file: Annotated[Path, typer.Argument(help="File that 'bundle' wrote.", metavar="BUNDLE")],
) -> None:
    """Check the files of a bundle and compute every number of its reports again, offline.

    Each difference is printed; the exit code is 15 if there is one.
    """
    from windtunnel.bundle.verify import SHOWN
    from windtunnel.bundle.verify import verify as verify_bundle

    found = verify_bundle(file)
    print(f"{file}: SHA-256 {found.sha256}")
    print(
        f"{found.files} files, {plural(len(found.manifest.results), 'results folder')}, "
        f"{found.numbers} numbers computed again"
    )
    for line in found.problems[:SHOWN]:
        print(f"different: {line}")
    if len(found.problems) > SHOWN:
        print(f"and {len(found.problems) - SHOWN} more")
    if found.problems:
        count = len(found.problems)
        raise BundleError(
            f"{file} is not verified: {count} difference{'' if count == 1 else 's'}",
            remedy="do not use these numbers; get the bundle again from its author.",
        )
    print("verified: every file and every number is as stated")
