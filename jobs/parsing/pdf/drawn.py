"""What a page draws beside its letters: rules, shaded areas and images.

Rules come as strokes and, from many programs, as thin filled rectangles or as the edges
between shaded cells; here all are frames, thin ones for rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from jobs.parsing.pdf.geometry import Frame, turn

__all__ = ["NOTHING", "STRAIGHT", "THICKEST_RULE", "Drawn", "drawn_of"]

STRAIGHT = 0.5
"""Points by which a rule may be out of the straight."""

THICKEST_RULE = 3.0
_SHORTEST_RULE = 4.0
_MAX_SHAPES = 20_000
"""Above, a page is a drawing, and its rules are not looked at."""
_LIGHTEST = 250
"""Of 255: what is filled lighter than this is no shading, but paper."""

Shape = tuple[Frame, tuple[int, int, int]]
"""The frame of a painted path and the colour it is filled with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Frames of the horizontal and vertical rules, the shaded areas and the images of a page."""

    horizontal: tuple[Frame, ...] = ()
    vertical: tuple[Frame, ...] = ()
    shaded: tuple[Frame, ...] = ()
    images: tuple[Frame, ...] = ()

    def turned(self, width: float, height: float, degrees: int) -> Drawn:
        """Return what is drawn on the page turned back by ``degrees``, a quarter or more."""
        if not degrees:
            return self

        def all_turned(frames: Iterable[Frame]) -> tuple[Frame, ...]:
            return tuple(turn(frame, width, height, degrees) for frame in frames)

        rules = all_turned(self.horizontal), all_turned(self.vertical)
        across, along = rules[::-1] if degrees % 180 else rules
        return replace(
            self,
            horizontal=across,
            vertical=along,
            shaded=all_turned(self.shaded),
            images=all_turned(self.images),
        )


NOTHING = Drawn()


def drawn_of(
    strokes: Iterable[Frame], shapes: Iterable[Shape], images: Iterable[Frame], page: Frame
) -> Drawn:
    """Sort what a page draws: ``strokes`` are axis-parallel lines, ``shapes`` painted paths."""
    rules: dict[bool, list[Frame]] = {True: [], False: []}
    shaded = []
    outlined = set()
    for frame in strokes:
        outlined.add((round(frame.left), round(frame.top), round(frame.right)))
        if max(frame.width, frame.height) >= _SHORTEST_RULE:
            rules[frame.width >= frame.height].append(frame)
    for i, (frame, colour) in enumerate(shapes):
        if i >= _MAX_SHAPES:
            return Drawn(images=tuple(images))
        thin, long = sorted((frame.width, frame.height))
        if thin > THICKEST_RULE:
            # The colour of a path that is only stroked is there, too, but does not show.
            top_edge = (round(frame.left), round(frame.top), round(frame.right))
            if min(colour) < _LIGHTEST and _is_area(frame, page) and top_edge not in outlined:
                shaded.append(frame)
        elif long >= _SHORTEST_RULE and long > 2 * thin and min(colour) < _LIGHTEST:
            rules[frame.width >= frame.height].append(frame)
    return Drawn(
        horizontal=tuple(dict.fromkeys(rules[True])),
        vertical=tuple(dict.fromkeys(rules[False])),
        shaded=tuple(dict.fromkeys(shaded)),
        images=tuple(images),
    )


def _is_area(frame: Frame, page: Frame) -> bool:
    return frame.width * frame.height < page.width * page.height * 0.8
