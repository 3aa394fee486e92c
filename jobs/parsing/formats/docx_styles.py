"""What the styles of a Word document make of its paragraphs: headings, captions, code, hiding.

A property is looked for in the paragraph, then down the chain of styles that its own is
based on (ECMA-376 part 1, 17.7.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lxml import etree

__all__ = ["ParagraphKind", "Styles", "W", "is_on", "value_of"]

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DEEPEST_BASE = 20
_LEVELS = 9
_HEADING = "heading "
_CODE = frozenset(
    (
        *("code", "code block", "code listing", "html preformatted", "macro", "plain code"),
        *("preformatted", "preformatted text", "source code", "verbatim"),
    )
)


@dataclass(frozen=True, slots=True)
class ParagraphKind:
    """What a paragraph is by its style; ``level`` of a heading counts from 1."""

    kind: Literal["title", "heading", "caption", "code", "text"]
    level: int = 0


class Styles:
    """The styles part of one package, or none."""

    def __init__(self, root: etree._Element | None) -> None:
        self._styles: dict[str, etree._Element] = {}
        self._default: str | None = None
        self._kinds: dict[str | None, ParagraphKind] = {}
        self._hidden: dict[str | None, bool] = {}
        for style in root.iter(f"{W}style") if root is not None else ():
            identifier = style.get(f"{W}styleId") or ""
            self._styles[identifier] = style
            if style.get(f"{W}type") == "paragraph" and style.get(f"{W}default") in ("1", "true"):
                self._default = identifier

    def chain(self, style_id: str | None) -> list[etree._Element]:
        """Return a style and those that it is based on, nearest first."""
        found: list[etree._Element] = []
        while style_id in self._styles and len(found) < _DEEPEST_BASE:
            found.append(self._styles[style_id])
            style_id = value_of(found[-1], "basedOn")
        return found

    def style_of(self, paragraph: etree._Element) -> str | None:
        """Return the id of a paragraph's style, the default one if it names none."""
        return value_of(paragraph, "pPr/pStyle") or self._default

    def kind(self, paragraph: etree._Element) -> ParagraphKind:
        """Tell what a paragraph is."""
        own = _level(value_of(paragraph, "pPr/outlineLvl"))
        if own is not None:
            return ParagraphKind("heading", own) if own <= _LEVELS else ParagraphKind("text")
        style_id = self.style_of(paragraph)
        if style_id not in self._kinds:
            self._kinds[style_id] = self._kind(style_id)
        return self._kinds[style_id]

    def hides(self, properties: etree._Element | None, style_id: str | None) -> bool:
        """Tell whether run properties, or the style they name or stand in, hide the text."""
        if properties is not None:
            own = properties.find(f"{W}vanish")
            if own is not None:
                # A style separator hides a paragraph's mark, never its text (17.3.2.36).
                return is_on(own) and properties.find(f"{W}specVanish") is None
            style_id = value_of(properties, "rStyle") or style_id
        if style_id not in self._hidden:
            self._hidden[style_id] = self._style_hides(style_id)
        return self._hidden[style_id]

    def _style_hides(self, style_id: str | None) -> bool:
        for style in self.chain(style_id):
            found = style.find(f"{W}rPr/{W}vanish")
            if found is not None:
                return is_on(found) and style.find(f"{W}rPr/{W}specVanish") is None
        return False

    def _kind(self, style_id: str | None) -> ParagraphKind:
        chain = self.chain(style_id)
        names = list(self._names(chain)) or [(style_id or "").lower()]
        if names[0] == "title":
            return ParagraphKind("title")
        for style, name in zip(chain, names, strict=False):
            level = _level(value_of(style, "pPr/outlineLvl"))
            if level is not None:
                return (
                    ParagraphKind("heading", level) if level <= _LEVELS else ParagraphKind("text")
                )
            number = name.removeprefix(_HEADING)
            if name.startswith(_HEADING) and number.isdecimal():
                return ParagraphKind("heading", min(max(int(number), 1), _LEVELS))
        if "caption" in names[:2]:
            return ParagraphKind("caption")
        return ParagraphKind("code" if _CODE & set(names) else "text")

    @staticmethod
    def _names(chain: list[etree._Element]) -> Iterator[str]:
        for style in chain:
            name = value_of(style, "name") or style.get(f"{W}styleId") or ""
            yield " ".join(name.lower().split())


def value_of(element: etree._Element, path: str) -> str | None:
    """Return the ``w:val`` of the element below that a path of local names leads to."""
    found = element.find("/".join(W + step for step in path.split("/")))
    return found.get(f"{W}val") if found is not None else None


def is_on(element: etree._Element) -> bool:
    """Return the value of an on-off property (17.17.4), which is on where it has none."""
    return element.get(f"{W}val") not in ("0", "false", "off", "none")


def _level(outline: str | None) -> int | None:
    """Return the level, from 1, of an outline value; 10 for body text; None without one."""
    if outline is None or not (outline.isascii() and outline.isdigit()):
        return None
    return min(int(outline), _LEVELS) + 1
