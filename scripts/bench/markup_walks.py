"""The words of HTML and XML by a walk over lxml's tree, and of bytes by their encoding."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator

import lxml.etree
import lxml.html

__all__ = ["Element", "decoded", "html_text", "local_name", "parse_xml", "walk", "xml_text"]

Element = lxml.etree._Element  # noqa: SLF001 - lxml has no public name for it

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_INLINE = frozenset(
    {
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn"),
        *("em", "font", "i", "ins", "kbd", "label", "mark", "q", "rb", "ruby", "s", "samp"),
        *("small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    }
)
_UNSEEN = frozenset(
    {"script", "style", "template", "noscript", "object", "iframe", "datalist", "rp"}
)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_HEAD_SIZE = 4096


def decoded(data: bytes, charset: str | None = None) -> str:
    """Return bytes as text: by their byte order mark, as UTF-8, as declared, as cp1252."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    declared = _DECLARED.search(data[:_HEAD_SIZE])
    names = ["utf-8", charset, declared[1].decode("ascii") if declared else None]
    for name in filter(None, names):
        try:
            return data.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("cp1252", "replace")


def parse_xml(data: bytes) -> Element:
    """Return the root of an XML file, whose entities stay unresolved."""
    parser = lxml.etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=True, recover=True
    )
    root: Element = lxml.etree.fromstring(data, parser)
    return root


def local_name(element: Element) -> str:
    """Return an element's name without its namespace; empty for comments and the like."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def walk(
    root: Element,
    skip: Callable[[Element], bool],
    around: Callable[[Element], str],
    only: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """Yield all text below an element, and what stands ``around`` each element.

    What ``skip`` tells to is left out, and what lies in it; nothing recurses. ``only``:
    the elements whose text counts, where that of others is none.
    """
    stack: list[tuple[Element, bool]] = [(root, False)]
    while stack:
        element, done = stack.pop()
        left_out = not local_name(element) or skip(element)
        if not done and not left_out:
            yield around(element)
            if not only or local_name(element) in only:
                yield element.text or ""
            stack.append((element, True))
            stack.extend((child, False) for child in reversed(element))
            continue
        if done:
            yield around(element)
        if element is not root and not only:
            yield element.tail or ""


def html_text(text: str, *, title: bool = True) -> str:
    """Return the words that a page shows, its title first if asked for."""
    data = _DECLARATION.sub("", text).encode("utf-8", "replace")
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    if not data.strip():
        return ""
    root = lxml.html.document_fromstring(data, parser=parser)
    unseen = _is_unseen if title else _is_unseen_or_title
    return "".join(walk(root, unseen, _html_around))


def _is_unseen_or_title(element: Element) -> bool:
    return local_name(element) == "title" or _is_unseen(element)


def _is_unseen(element: Element) -> bool:
    name = local_name(element).lower()
    if name in _UNSEEN:
        return True
    parent = element.getparent()
    if parent is not None and local_name(parent) == "head" and name != "title":
        return True
    return "hidden" in element.attrib or bool(_HIDDEN.search(element.get("style", "")))


def _html_around(element: Element) -> str:
    return "" if local_name(element).lower() in _INLINE else "\n"


def xml_text(data: bytes) -> str:
    """Return all character data; elements beside each other are parted, those in text not."""
    return "".join(walk(parse_xml(data), lambda _: False, _xml_around))


def _xml_around(element: Element) -> str:
    parent = element.getparent()
    if parent is None:
        return "\n"
    tails = [parent.text, *(child.tail for child in parent)]
    return "" if any(tail and tail.strip() for tail in tails) else "\n"
