"""Charts are drawn by a process of its own, beside the analysis.

Vega's engine takes more than a second to start and holds Python's lock while it draws. The
process ends when its input does, so also when the program that asked for it is killed.
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

if TYPE_CHECKING:  # it loads Altair, and the process should start before that
    from windtunnel.report.charts.parts import Drawing


class Drawer:
    """Takes drawings at once, gives their SVG in the same order at the end."""

    def __enter__(self) -> Drawer:
        """Start the process; it warms up while the caller goes on."""
        self._asked: list[Drawing] = []
        self._lines: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "windtunnel.report.drawer"],
            env=os.environ | {"PYTHONPATH": python_path()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        # read at all times: neither side may wait for the other to make room in a pipe
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
        """Ask for one more drawing."""
        assert self._process.stdin is not None
        self._asked.append(drawing)
        # if it has died, what is missing is drawn here, with the error that it met
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(drawing) + "\n")
            self._process.stdin.flush()

    def results(self) -> list[str]:
        """All SVG elements, in the order in which they were asked for."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._reader.join()
        drawn = [json.loads(line) for line in self._lines]
        return drawn + [_svg(drawing) for drawing in self._asked[len(drawn) :]]

    def _read(self) -> None:
        assert self._process.stdout is not None
        self._lines.extend(line for line in self._process.stdout if line.endswith("\n"))


def _svg(drawing: Drawing) -> str:
    from windtunnel.report.svg import svg

    return svg(drawing)


def main() -> None:
    """Draw what comes in, a line each, until there is no more."""
    import vl_convert

    from windtunnel.report.svg import svg

    vl_convert.vega_to_svg({"$schema": "https://vega.github.io/schema/vega/v5.json", "marks": []})
    for line in sys.stdin:
        sys.stdout.write(json.dumps(svg(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
