"""Facts about HTML elements: which break a line, which no reader sees."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser

from lxml import etree

from jobs.parsing.formats.archive import replace_entities

__all__ = [
    "BLOCKS",
    "HIDDEN",
    "INFO",
    "KNOWN",
    "NOTE_TYPES",
    "code_info",
    "code_language",
    "declared_charset",
    "is_hidden",
    "is_note_mark",
    "is_of_type",
    "parse_markup",
]

HIDDEN = frozenset(
    (
        *("script", "style", "template", "noscript", "head", "iframe", "object", "embed"),
        *("audio", "video", "canvas", "annotation", "annotation-xml", "datalist"),
        *("frameset", "noframes", "rp"),
    )
)
BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "button", "caption", "center"),
        *("dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption"),
        *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup"),
        *("hr", "html", "legend", "li", "listing", "main", "menu", "nav", "ol", "optgroup"),
        *("option", "p", "plaintext", "pre", "section", "select", "summary", "table", "tbody"),
        *("td", "textarea", "tfoot", "th", "thead", "tr", "ul", "xmp"),
    )
)
_INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "area", "b", "base", "basefont", "bdi", "bdo", "big", "blink"),
        *("br", "cite", "code", "col", "colgroup", "data", "del", "dfn", "em", "font", "i", "img"),
        *(
            "input",
            "svg",
            "ins",
            "kbd",
            "label",
            "link",
            "map",
            "mark",
            "math",
            "meta",
            "meter",
            "nobr",
        ),
        *("output", "param", "picture", "progress", "q", "rt", "ruby", "s", "samp", "small"),
        *("source", "span", "strike", "strong", "sub", "sup", "time", "title", "track", "tt"),
        *("u", "var", "wbr"),
    )
)
KNOWN = HIDDEN | BLOCKS | _INLINE
"""Names of HTML elements; any other ``<name>`` in prose is a placeholder that a reader sees."""

INFO = "data-fence-info"
"""The attribute of a ``pre`` that holds the info string of a Markdown fence."""

_MARK_CHARS = 5
_LINKS = ("a", "{http://www.w3.org/1999/xhtml}a")
_EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
_PAGE_BREAK = frozenset({"pagebreak", "doc-pagebreak"})
_NOTE_REFERENCE = frozenset({"noteref", "doc-noteref"})
NOTE_TYPES = frozenset({"footnote", "endnote", "rearnote", "doc-footnote", "doc-endnote"})
"""Roles and EPUB types of elements that hold a note."""
_FILE_NAMES = ("data-filename", "data-file", "data-file-name", "data-path", "data-title")

_SHOWN_TWICE = frozenset({"katex-html", "MathJax_Preview", "MJX_Assistive_MathML"})
"""Classes of spans that repeat a formula for the screen or for a screen reader."""
_NO_DISPLAY = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_LANGUAGE = re.compile(r"^(?:language|lang|highlight-source|highlight|brush)[-:](.+)$")
_NO_LANGUAGE = frozenset({"default", "none", "text", "plain", "plaintext", "notranslate", "output"})
_META_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""")


def is_hidden(element: etree._Element, tag: str) -> bool:
    """Return whether a reader of the page does not see the element.

    The ``hidden`` attribute is not looked at: it marks text that a script shows on
    demand (tabs, variants of a help page), and text lost is worse than text too much.
    """
    if tag in HIDDEN or (tag == "span" and element.get("class") in _SHOWN_TWICE):
        return True
    if is_of_type(element, _PAGE_BREAK):
        return True
    style = element.get("style")
    return style is not None and _NO_DISPLAY.search(style) is not None


def is_note_mark(element: etree._Element) -> bool:
    """Return whether a raised link, or a link said to be one, leads to a note of its own.

    Not where its text has brackets already.
    """
    if element.tag in _LINKS:
        link = element if is_of_type(element, _NOTE_REFERENCE) else None
        parent = element.getparent()
        if link is None or (parent is not None and is_note_mark(parent)):
            return False
    else:
        links = list(element)
        alone = len(links) == 1 and not (element.text or "").strip()
        link = links[0] if alone and links[0].tag in _LINKS else None
    if link is None:
        return False
    text = "".join(link.itertext()).strip()
    return "#" in (link.get("href") or "") and text.isalnum() and len(text) <= _MARK_CHARS


def is_of_type(element: etree._Element, types: frozenset[str]) -> bool:
    """Return whether an element's role or EPUB type is one of some."""
    said = element.get("role") or element.get(_EPUB_TYPE) or element.get("epub:type")
    return said is not None and not types.isdisjoint(said.lower().split())


def code_language(element: etree._Element) -> str | None:
    """Return the language that class names on a ``pre``, its child or two parents declare."""
    near = [element, *element.iterchildren("{*}code"), *_parents(element, 2)]
    for node in near:
        for name in (node.get("class") or "").replace("brush: ", "brush:").split():
            found = _LANGUAGE.match(name)
            if found and found[1] not in _NO_LANGUAGE:
                return found[1].lower()
    return None


def code_info(element: etree._Element, language: str | None) -> str | None:
    """Return the info string of a fence around a ``pre``: language, and file where it is named."""
    info = element.get(INFO)
    if info:
        return str(info)
    for node in (element, *element.iterchildren("{*}code"), *_parents(element, 2)):
        for attribute in _FILE_NAMES:
            name = (node.get(attribute) or "").replace('"', "").strip()
            if name:
                return f'{language or ""} title="{name}"'.strip()
    return None


def declared_charset(data: bytes) -> str | None:
    """Return the charset that a page's first kilobytes declare."""
    found = _META_CHARSET.search(data[:4096])
    return found[1].decode("ascii") if found else None


def parse_markup(text: str) -> tuple[etree._Element | None, bool]:
    """Return the root element of HTML or XHTML text, and whether its nesting had to go.

    The root is None if there is no element. Nothing is fetched and no entity of the
    document's own is expanded. The parser stops at some 2,000 nested elements, so
    markup that is deeper keeps its text and its breaks only.
    """
    data = text.encode("utf-8", errors="replace")
    if "http://www.w3.org/1999/xhtml" in text[:2048]:
        strict = etree.XMLParser(
            encoding="utf-8", resolve_entities=False, no_network=True, huge_tree=True
        )
        try:
            root = etree.fromstring(data, strict)
        except etree.XMLSyntaxError:
            pass
        else:
            replace_entities(root, keep=True)
            return root, False
    root, too_deep = _parse_html(data)
    if too_deep:
        flat = _Flat()
        flat.feed(text)
        flat.close()
        root, _ = _parse_html("".join(flat.parts).encode("utf-8", errors="replace"))
    return root, too_deep


def _parse_html(data: bytes) -> tuple[etree._Element | None, bool]:
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        root = None
    limit = etree.ErrorTypes.ERR_RESOURCE_LIMIT
    return root, any(entry.type == limit for entry in parser.error_log)


class _Flat(HTMLParser):
    """Writes markup again with no element open: a block's border is a rule."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = ["<body>"]
        self._hidden: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in ("script", "style", "template"):
            self._hidden = tag
        elif tag in BLOCKS:
            self.parts.append("<hr>")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = None
        elif tag in BLOCKS:
            self.parts.append("<hr>")

    def handle_data(self, data: str) -> None:
        if self._hidden is None:
            self.parts.append(escape(data))


def _parents(element: etree._Element, n: int) -> list[etree._Element]:
    return [parent for parent, _ in zip(element.iterancestors(), range(n), strict=False)]
