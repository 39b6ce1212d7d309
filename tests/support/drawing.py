"""One engine for the charts of all tests of a process: a start of it takes seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windtunnel.report.chart_process import Drawer

if TYPE_CHECKING:
    from windtunnel.report.charts.parts import Drawing


class DrawerHere(Drawer):
    """A drawer without a process of its own: the same code draws the same charts here."""

    def __enter__(self) -> DrawerHere:
        """Start nothing."""
        self._requested: list[Drawing] = []
        return self

    def __exit__(self, *_: object) -> None:
        """End nothing."""

    def draw(self, drawing: Drawing) -> None:
        """Keep one more drawing."""
        self._requested.append(drawing)

    def results(self) -> list[str]:
        """All SVG elements, in the order of the requests."""
        from windtunnel.report.svg import svg

        return [svg(drawing) for drawing in self._requested]
