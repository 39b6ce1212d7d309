"""A separate process draws the charts while the analysis runs.

Vega's engine takes more than a second to start and holds Python's lock while it draws. The
process ends at the end of its input, so it also ends when the parent process is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from windtunnel.hosts.supervisor import python_path

if TYPE_CHECKING:  # the import loads Altair; the process has to start before that
    from windtunnel.report.charts.parts import Drawing


class Drawer:
    """Accepts drawings without waiting, and returns their SVG in the same order at the end."""

    def __enter__(self) -> Drawer:
        """Start the process; it loads its libraries while the caller continues."""
        self._requested: list[Drawing] = []
        self._lines: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "windtunnel.report.chart_process"],
            env=os.environ | {"PYTHONPATH": python_path()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        # a thread reads all the time, so that no side waits for space in a pipe
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.kill()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        self._process.wait()

    def draw(self, drawing: Drawing) -> None:
        """Request one more drawing."""
        assert self._process.stdin is not None
        self._requested.append(drawing)
        # if the process has died, results() draws the missing ones and so raises the error
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(drawing) + "\n")
            self._process.stdin.flush()

    def results(self) -> list[str]:
        """All SVG elements, in the order of the requests."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._reader.join()
        drawn = [json.loads(line) for line in self._lines]
        return drawn + [_svg(drawing) for drawing in self._requested[len(drawn) :]]

    def _read(self) -> None:
        assert self._process.stdout is not None
        self._lines.extend(line for line in self._process.stdout if line.endswith("\n"))


def _svg(drawing: Drawing) -> str:
    from windtunnel.report.svg import svg

    return svg(drawing)


def main() -> None:
    """Draw each line of the input, until its end."""
    import vl_convert

    from windtunnel.report.svg import svg

    vl_convert.vega_to_svg({"$schema": "https://vega.github.io/schema/vega/v5.json", "marks": []})
    for line in sys.stdin:
        sys.stdout.write(json.dumps(svg(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
