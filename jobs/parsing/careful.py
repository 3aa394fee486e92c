"""Reading page by page, so that a page which ends the reader is known and can be left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

__all__ = ["AT_ONCE", "Pages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Which pages to leave out, and whom to tell before one is touched.

    ``announce``: takes the number (from 1) of the page that comes next, and 0 after the
    last; None where the document is read at once. ``skip``: pages that ended a reader.
    """

    announce: Callable[[int], None] | None = None
    skip: frozenset[int] = frozenset()

    def walk(self, numbers: Iterable[int]) -> Iterator[int]:
        """Yield pages that may be read, each announced."""
        for number in numbers:
            if number in self.skip:
                continue
            if self.announce is not None:
                self.announce(number)
            yield number
        if self.announce is not None:
            self.announce(0)


AT_ONCE = Pages()
"""All pages, as fast as may be: the rule."""
