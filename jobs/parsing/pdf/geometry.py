"""Frames in points, and what turning a page does to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Frame", "turn", "turn_back"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """An axis-parallel rectangle in points, from the top left of the page as it is read."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """Extent along the text."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Extent across the text: about the font's size."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """Vertical middle."""
        return (self.top + self.bottom) / 2

    @property
    def center(self) -> float:
        """Horizontal middle."""
        return (self.left + self.right) / 2

    def union(self, other: Frame) -> Frame:
        """Return the smallest frame around both."""
        return Frame(
            left=min(self.left, other.left),
            top=min(self.top, other.top),
            right=max(self.right, other.right),
            bottom=max(self.bottom, other.bottom),
        )

    def holds(self, other: Frame) -> bool:
        """Tell whether the middle of another frame lies in this one."""
        return self.left <= other.center <= self.right and self.top <= other.middle <= self.bottom


def turn(frame: Frame, width: float, height: float, degrees: int) -> Frame:
    """Return a frame of a page of ``width`` x ``height``, turned back by ``degrees``.

    Of other than quarter turns the origin stays where it is, and the frame is that around
    the turned one.
    """
    left, top, right, bottom = frame.left, frame.top, frame.right, frame.bottom
    if degrees == 0:
        return frame
    if degrees == 90:  # noqa: PLR2004 - quarter turns
        return Frame(left=height - bottom, top=left, right=height - top, bottom=right)
    if degrees == 180:  # noqa: PLR2004 - quarter turns
        return Frame(
            left=width - right, top=height - bottom, right=width - left, bottom=height - top
        )
    if degrees == 270:  # noqa: PLR2004 - quarter turns
        return Frame(left=top, top=width - right, right=bottom, bottom=width - left)
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    corners = [(x, y) for x in (left, right) for y in (top, bottom)]
    xs = [x * cosine - y * sine for x, y in corners]
    ys = [x * sine + y * cosine for x, y in corners]
    return Frame(left=min(xs), top=min(ys), right=max(xs), bottom=max(ys))


def turn_back(frame: Frame, width: float, height: float, degrees: int) -> Frame:
    """Undo :func:`turn` for the frame of a page of ``width`` x ``height``."""
    if degrees % 180 == 90:  # noqa: PLR2004 - quarter turns
        width, height = height, width
    return turn(frame, width, height, -degrees % 360)
