"""Frames in points, and what turning a page does to them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Frame", "turn"]


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
    """Return a frame of a page of ``width`` x ``height``, turned back by ``degrees``."""
    left, top, right, bottom = frame.left, frame.top, frame.right, frame.bottom
    if degrees == 90:  # noqa: PLR2004 - quarter turns
        return Frame(left=height - bottom, top=left, right=height - top, bottom=right)
    if degrees == 180:  # noqa: PLR2004 - quarter turns
        return Frame(
            left=width - right, top=height - bottom, right=width - left, bottom=height - top
        )
    if degrees == 270:  # noqa: PLR2004 - quarter turns
        return Frame(left=top, top=width - right, right=bottom, bottom=width - left)
    return frame
