"""The command line: commands, parsing and printing; the work is done elsewhere.

A command imports what does its work when it runs: numbers, tables and charts take seconds
to import, and ``--help``, ``version`` and ``plan`` need none of them (tests/cli/test_start.py).
"""

from __future__ import annotations

import errno
import gc
import os
import sys
import time
import traceback

import typer

from windtunnel.cli import about, calibrate, clusters, compare, planning, power, published, studies
from windtunnel.errors import (
    InterruptedStudyError,
    ResultsError,
    StorageFullError,
    UsageError,
    WindtunnelError,
)
from windtunnel.hosts.remains import state_root

UNEXPECTED = 70
_UMASK = 0o022

app = typer.Typer(
    name="windtunnel",
    help="Find out what matters in a Hadoop cluster.",
    epilog="Exit codes: 0 done, 2 usage, 3 bad description, 4 cannot be realised, 5 set-up, "
    "6 results folder, 7 deployment, 8 study stopped, 9 no space left, "
    "10 not comparable, 11 worse, 70 unexpected, "
    "130 interrupted.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (studies, planning, calibrate, compare, power, published, clusters, about):
    module.register(app)


def main() -> None:
    """Run the command line; every error becomes one message and its exit code."""
    # Matrices are small here: threads would wait for each other longer than they compute.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.umask(os.umask(_UMASK) | _UMASK)  # whatever the user's is: others may not write what we do
    # Records live until the end: looking for garbage among them every 700 finds none, a tenth
    # of the time of a large report.
    gc.set_threshold(50_000, 20, 20)
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Carry out a command line; returns the exit code."""
    try:
        code = app(args=arguments, standalone_mode=False, prog_name="windtunnel")
        return code if isinstance(code, int) else 0
    except WindtunnelError as error:
        print(error.render(), file=sys.stderr)
        return error.exit_code
    except typer.Exit as error:
        return error.exit_code
    except typer.TyperException as error:
        # All but the base class show themselves, with the usage of the command.
        getattr(error, "show", _nothing)()
        return UsageError.exit_code
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        return InterruptedStudyError.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except Exception as error:
        known = _storage(error)
        if known is None:
            return _unexpected(error)
        print(known.render(), file=sys.stderr)
        return known.exit_code


def _storage(error: Exception) -> WindtunnelError | None:
    """A failed write outside the results folder (logs, state) as an error with a remedy."""
    if not isinstance(error, OSError) or error.errno is None:
        return None
    what = f"{error.filename or 'a file'}: {error.strerror}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFullError(what, remedy="free some space and run the same command again.")
    if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        return ResultsError(what, remedy="give folders that you may write to.")
    return None


def _nothing() -> None:
    """What an error without words of its own shows."""


def _unexpected(error: Exception) -> int:
    """Report a bug of ours: the traceback goes into a file."""
    file = state_root() / f"error-{time.strftime('%Y%m%d-%H%M%S')}.txt"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(traceback.format_exception(error)))
        where = f"the details are in {file}; please report them."
    except OSError:
        where = "please report it."
    print(f"unexpected error: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"  what to do: this is a fault of Windtunnel's; {where}", file=sys.stderr)
    return UNEXPECTED


if __name__ == "__main__":
    main()
