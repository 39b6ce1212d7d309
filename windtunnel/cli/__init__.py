"""The command line: it parses arguments, calls the other packages and prints their results.

A command imports the modules that it calls when it runs. Libraries for numbers, tables and charts
take seconds to import, and ``--help``, ``version`` and ``plan`` do not need them
(tests/cli/test_start.py).
"""

from __future__ import annotations

import errno
import gc
import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import cache
from typing import Annotated

import typer

from windtunnel import durable
from windtunnel.cli import (
    about,
    allow,
    audit,
    bundle,
    calibrate,
    compare,
    import_history,
    inspect,
    interactive,
    planning,
    power,
    predict,
    published,
    reproduce,
    size,
    storage_checks,
    studies,
    validate,
)
from windtunnel.cli.streams import outlive_readers
from windtunnel.errors import (
    InterruptedStudyError,
    ResultsError,
    StorageFullError,
    UsageError,
    WindtunnelError,
    is_interrupt,
)
from windtunnel.hosts.leftovers import state_root

UNEXPECTED = 70
_UMASK = 0o022

app = typer.Typer(
    name="windtunnel",
    help="Measure which hardware and settings change the performance of a Hadoop cluster.",
    epilog="Exit codes: 0 success, 2 wrong usage, 3 invalid description, 4 not supported here, "
    "5 set-up failed, 6 unusable results folder, 7 deployment failed, 8 study stopped, "
    "9 no space left, 10 not comparable, 11 worse, 12 no access to the cluster, 13 not allowed, "
    "14 audit failed, 15 bundle not verified, "
    "70 internal error, 130 interrupted.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (
    studies,
    planning,
    calibrate,
    validate,
    compare,
    power,
    predict,
    size,
    published,
    audit,
    reproduce,
    bundle,
    import_history,
    inspect,
    interactive,
    storage_checks,
    allow,
    about,
):
    module.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        about.version()
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options that need no command."""


def main() -> None:
    """Run the command line; every error becomes one message and its exit code."""
    # The matrices are small: several threads would spend more time on waiting than on computing.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    outlive_readers()
    os.umask(os.umask(_UMASK) | _UMASK)  # other accounts must not write to files of Windtunnel
    # Records live until the process ends. The default threshold of 700 objects makes the garbage
    # collector scan them in vain, which takes a tenth of the time of a large report.
    gc.set_threshold(50_000, 20, 20)
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Execute a command line and return the exit code."""
    try:
        code = _command()(args=arguments, standalone_mode=False, prog_name="windtunnel")
        return code if isinstance(code, int) else 0
    except WindtunnelError as error:
        print(error.render(), file=sys.stderr)
        return error.exit_code
    except typer.Exit as error:
        return error.exit_code
    except typer.TyperException as error:
        # The subclasses print themselves and the usage of the command; the base class cannot.
        getattr(error, "show", _nothing)()
        return UsageError.exit_code
    except (Exception, KeyboardInterrupt) as error:
        if is_interrupt(error) or isinstance(error, typer.Abort):
            print("interrupted: the command was stopped", file=sys.stderr)
            return InterruptedStudyError.exit_code
        known = _storage(error)
        if known is None:
            return _unexpected(error)
        print(known.render(), file=sys.stderr)
        return known.exit_code


@cache
def _command() -> Callable[..., object]:
    """The parser of all commands, which is made of their signatures."""
    return typer.main.get_command(app)


def _storage(error: BaseException) -> WindtunnelError | None:
    """Convert a failed write outside the results folder (logs, state) to an error with a remedy."""
    if not isinstance(error, OSError) or error.errno is None:
        return None
    what = f"{error.filename or 'a file'}: {error.strerror}"
    if durable.is_full(error):
        return StorageFullError(what, remedy="free some space and run the same command again.")
    if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        return ResultsError(what, remedy="specify folders to which you have write permission.")
    return None


def _nothing() -> None:
    """Print nothing, for an error that has no message."""


def _unexpected(error: BaseException) -> int:
    """Report a bug in Windtunnel: the traceback is written to a file."""
    file = state_root() / f"error-{time.strftime('%Y%m%d-%H%M%S')}.txt"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(traceback.format_exception(error)))
        where = f"please report it with the traceback in {file}."
    except OSError:
        where = "please report it."
    print(f"unexpected error: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"  what to do: this is a bug in Windtunnel; {where}", file=sys.stderr)
    return UNEXPECTED


if __name__ == "__main__":
    main()
