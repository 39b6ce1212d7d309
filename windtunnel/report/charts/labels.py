"""Labels of points in a crowded chart: only those that cover nothing are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

FONT_SIZE = 11
# px of a character and of a line at FONT_SIZE: those of a wide sans-serif font (DejaVu Sans)
CHARACTER = 6.6
LINE = 14.0
GAP = 9.0  # px from a point to its label
Align = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in px; y grows downwards, as in SVG."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether both rectangles have a part in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def inside(self, other: Box) -> bool:
        """Whether the whole rectangle lies in another one."""
        return (
            other.left <= self.left
            and self.right <= other.right
            and other.top <= self.top
            and self.bottom <= other.bottom
        )


@dataclass(frozen=True, slots=True)
class Label:
    """A text at a point, in px: where it starts (or ends, if aligned to the right), its middle."""

    text: str
    x: float
    y: float
    align: Align


def place(
    points: Sequence[tuple[float, float, str]], taken: Sequence[Box], frame: Box
) -> list[Label]:
    """Labels of points ``(x, y, text)`` in px, in the order of importance.

    A label is omitted if each of its positions meets a box that is taken, meets an earlier
    label, or leaves the frame.
    """
    used = list(taken)
    placed = []
    for x, y, text in points:
        for label in _positions(x, y, text):
            box = _box(label)
            if box.inside(frame) and not any(box.meets(other) for other in used):
                used.append(box)
                placed.append(label)
                break
    return placed


def _positions(x: float, y: float, text: str) -> Iterator[Label]:
    """Below on the left first: a Pareto front of two minima has nothing there."""
    for down in (GAP, 0.0, 2.0 * GAP, -GAP):
        yield Label(text, x - GAP, y + down, "right")
    for down in (GAP, 0.0, 2.0 * GAP, -GAP):
        yield Label(text, x + GAP, y + down, "left")


def _box(label: Label) -> Box:
    width = CHARACTER * len(label.text)
    left = label.x if label.align == "left" else label.x - width
    return Box(left, label.y - LINE / 2.0, left + width, label.y + LINE / 2.0)
