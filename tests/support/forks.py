"""Child processes that can be killed with -9, started in milliseconds.

A process of its own imports everything once and forks at each request, so that a test can
afford a hundred deaths. The forked child calls ``function(*arguments)`` of a module.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from typing import Any


class Child:
    """A forked process."""

    def __init__(self, forks: Forks, pid: int) -> None:
        self.forks = forks
        self.pid = pid
        self.code: int | None = None

    def alive(self) -> bool:
        """Whether it still runs."""
        if self.code is None:
            self.code = self.forks.ask("poll", self.pid)
        return self.code is None

    def wait(self) -> int:
        """Wait for its end; the exit code, negative for a signal."""
        if self.code is None:
            self.code = self.forks.ask("wait", self.pid)
        assert self.code is not None
        return self.code

    def kill(self) -> int:
        """``kill -9``, if it still runs."""
        if self.alive():
            os.kill(self.pid, signal.SIGKILL)  # nobody else reaps it: the id is still its own
        return self.wait()


class Forks:
    """The test's end of the process that forks."""

    def __init__(self, *modules: str) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forks", *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, module: str, function: str, *arguments: Any) -> Child:
        """Fork a child that runs a function."""
        return Child(self, self.ask("start", module, function, *arguments))

    def ask(self, *order: Any) -> Any:
        """One order, one answer."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())

    def close(self) -> None:
        """End the server."""
        self._server.communicate()


@contextlib.contextmanager
def forks(*modules: str) -> Iterator[Forks]:
    """A server with some modules imported, ended afterwards."""
    server = Forks(*modules)
    try:
        yield server
    finally:
        server.close()


def _start(module: str, function: str, *arguments: Any) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.dup2(2, 1)  # what the child prints is no answer
        getattr(importlib.import_module(module), function)(*arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _serve(modules: list[str]) -> None:
    for module in modules:
        importlib.import_module(module)
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        answer: int | None
        if what == "start":
            answer = _start(*arguments)
        else:
            pid, status = os.waitpid(arguments[0], os.WNOHANG if what == "poll" else 0)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve(sys.argv[1:])
