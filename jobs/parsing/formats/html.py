"""HTML by its element tree: text to the character, lists, tables and headings in place.

Read here and not by docling, whose reader splits words at inline tags, renumbers
lists, drops a definition's own text around a nested list, puts the lead of a page
aside, and recurses once per nested element. Rules:

* what a browser does not show (scripts, templates, ``display: none``) is left out;
* the only ``h1`` is the title; of several, each is a heading of level 1;
* terms and definitions are list items, the definition one level deeper;
* a table inside which another stands, or without a header and with a heading or several
  paragraphs in a cell, is layout: its cells are read in order;
* a formula is its TeX between ``$`` where the page gives it; a ruby text stands in
  parentheses behind its base; a raised link to a note stands in brackets;
* in a table, headings and lists are the text of their cell; a cell that spans rows
  is repeated in each (when short), one that spans columns stands in its first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lxml import etree

from chunking.model import BlockKind
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.converted import Converted, Source
from jobs.parsing.formats.layout_tables import layout_tables
from jobs.parsing.formats.markup import (
    BLOCKS,
    KNOWN,
    NOTE_TYPES,
    code_info,
    code_language,
    declared_charset,
    is_hidden,
    is_note_mark,
    is_of_type,
    parse_markup,
)
from jobs.parsing.formats.mathml import math_text
from jobs.parsing.formats.spans import SpanGrid
from jobs.parsing.text import clean, decode, decode_warnings

__all__ = ["add_html", "read"]

_WHITE = re.compile(r"[ \t\n\r\f]+")
_AROUND_BREAK = re.compile(r" *\n *")
_SPACES = re.compile(r"  +")
_INTEGER = re.compile(r"\s*(-?[0-9]{1,9})\s*", re.ASCII)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_VERBATIM = frozenset({"pre", "listing", "xmp", "plaintext"})
_HELD = frozenset({*_HEADINGS, "figcaption"})
"""Elements that stay one block, whatever stands in them."""
_SHOWN_FIELDS = frozenset({"text", "submit", "button", "reset", "search", "email", "tel", "url"})
_PARAGRAPHS: dict[str, BlockKind] = {"footnote": "footnote", "formula": "formula"}
"""Classes of a paragraph that say what it is."""
_SOFT_HYPHEN = "\xad"
_META = ("author", "description", "keywords", "date", "dcterms.created", "dcterms.modified")


def read(source: Source) -> Converted:
    """Read an HTML page."""
    data = source.path.read_bytes()
    text = decode(data, declared_charset(data))
    builder = DocumentBuilder()
    builder.warnings += decode_warnings(text)
    add_html(builder, text)
    return Converted(document=builder.build(), parser="html", warnings=tuple(builder.warnings))


def add_html(builder: DocumentBuilder, text: str, *, head: bool = True, title: bool = True) -> None:
    """Add the blocks of HTML text; with ``head``, its title and metadata too.

    ``title``: whether its only ``h1`` is the document's title, not that of a part.
    """
    root, flattened = parse_markup(clean(text))
    if root is None:
        return
    if flattened:
        builder.warn("elements are nested too deep: structure was left out, text kept")
    if head:
        _read_head(builder, root)
    _Walk(builder, root, title=title).run()


def _read_head(builder: DocumentBuilder, root: etree._Element) -> None:
    for element in root.iter("{*}title"):
        if not builder.title and _name(element.getparent()) in ("head", "html", "body"):
            builder.title = _WHITE.sub(" ", "".join(element.itertext())).strip()
    for element in root.iter("{*}meta"):
        name = (element.get("name") or "").lower()
        content = element.get("content")
        if name in _META and content:
            builder.metadata.setdefault(name, _WHITE.sub(" ", content).strip())


@dataclass(slots=True)
class _List:
    list_id: int
    depth: int
    number: int | None
    item_depth: int = 1


@dataclass(slots=True)
class _Table:
    grid: SpanGrid = field(default_factory=SpanGrid)
    in_head: bool = False
    caption: str = ""


class _Walk:
    """One pass over the tree, without recursion; text gathers until a block ends."""

    def __init__(self, builder: DocumentBuilder, root: etree._Element, *, title: bool) -> None:
        self._builder = builder
        self._root = root
        self._buffer: list[str] = []
        self._pictures: list[str] = []
        self._verbatim = 0
        self._held = 0
        self._notes = 0
        self._lists: list[_List] = []
        self._n_lists = 0
        self._marker: tuple[str, int, int] | None = None
        self._tables: list[_Table | None] = []
        self._sections: list[tuple[tuple[int, str], ...]] = []
        self._one_h1 = title and sum(1 for _ in root.iter("{*}h1")) == 1
        self._layout = layout_tables(root)
        self._start: dict[str, Callable[[etree._Element], None]] = {
            "br": self._break, "img": self._picture, "ul": self._open_list, "ol": self._open_list,
            "menu": self._open_list, "dir": self._open_list, "dl": self._open_list,
            "li": self._open_item, "dt": self._open_item, "dd": self._open_item,
            "table": self._open_table, "tr": self._open_row, "thead": self._open_thead,
            "rt": self._open_ruby, "sup": self._open_mark, "a": self._open_mark,
            "input": self._field, "aside": self._open_aside,
            **dict.fromkeys(_VERBATIM, self._open_verbatim),
        }  # fmt: skip
        self._end: dict[str, Callable[[etree._Element], None]] = {
            "ul": self._close_list, "ol": self._close_list, "menu": self._close_list,
            "dir": self._close_list, "dl": self._close_list, "table": self._close_table,
            "li": self._close_item, "dt": self._close_item, "dd": self._close_item,
            "td": self._close_cell, "th": self._close_cell, "thead": self._close_thead,
            "caption": self._close_caption, "figcaption": self._close_caption,
            "rt": self._close_ruby, "sup": self._close_mark, "a": self._close_mark,
            "aside": self._close_aside, "p": self._close_paragraph,
            **dict.fromkeys(_HEADINGS, self._close_heading),
            **dict.fromkeys(_VERBATIM, self._close_verbatim),
        }  # fmt: skip

    def run(self) -> None:
        """Walk the tree and add its blocks."""
        walker = etree.iterwalk(self._root, events=("start", "end", "comment", "pi"))
        for event, element in walker:
            if event == "start":
                if self._enter(element):
                    walker.skip_subtree()
            elif event == "end":
                self._leave(element)
            else:
                self._text(element.tail)
        self._flush()

    def _enter(self, element: etree._Element) -> bool:
        """Open an element; True if it is not to be read."""
        tag = _name(element)
        if is_hidden(element, tag) or (tag == "a" and "headerlink" in (element.get("class") or "")):
            return True
        if tag in ("math", "svg"):
            self._drawn(element, tag)
            return True
        if tag in BLOCKS:
            self._flush()
        elif tag not in KNOWN and element.get("caption"):
            self._flush()
            self._builder.add("caption", element.get("caption") or "")
        self._held += tag in _HELD
        handler = self._start.get(tag)
        if handler:
            handler(element)
        self._text(element.text)
        return False

    def _leave(self, element: etree._Element) -> None:
        tag = _name(element)
        hidden = is_hidden(element, tag)
        handler = None if hidden else self._end.get(tag)
        if handler:
            handler(element)
        elif tag in BLOCKS and not hidden:
            self._flush()
        self._text(element.tail)

    def _text(self, text: str | None) -> None:
        if text:
            shown = text if self._verbatim else _WHITE.sub(" ", text).replace(_SOFT_HYPHEN, "")
            self._buffer.append(shown)

    def _break(self, _: etree._Element) -> None:
        self._buffer.append("\n")

    def _picture(self, element: etree._Element) -> None:
        description = _WHITE.sub(" ", element.get("alt") or "").strip()
        if description and self._table:
            self._buffer.append(f" {description} ")
        elif description:
            self._pictures.append(description)

    def _drawn(self, element: etree._Element, tag: str) -> None:
        """Add a formula, or the words in a drawing."""
        if tag == "math":
            self._buffer.append(math_text(element))
        for words in element.iter("{*}text") if tag == "svg" else ():
            self._buffer.append(f" {_WHITE.sub(' ', ''.join(words.itertext())).strip()} ")

    def _field(self, element: etree._Element) -> None:
        """Add what stands in a field or on a button."""
        if (element.get("type") or "text").lower() in _SHOWN_FIELDS and element.get("value"):
            self._buffer.append(f" {element.get('value')} ")

    def _open_ruby(self, _: etree._Element) -> None:
        self._buffer.append("(")

    def _close_ruby(self, _: etree._Element) -> None:
        self._buffer.append(")")

    def _open_mark(self, element: etree._Element) -> None:
        if is_note_mark(element):
            self._buffer.append("[")

    def _close_mark(self, element: etree._Element) -> None:
        if is_note_mark(element):
            self._buffer.append("]")

    def _open_aside(self, element: etree._Element) -> None:
        self._notes += is_of_type(element, NOTE_TYPES)

    def _close_aside(self, element: etree._Element) -> None:
        self._flush()
        self._notes -= is_of_type(element, NOTE_TYPES)

    def _close_paragraph(self, element: etree._Element) -> None:
        kind = _PARAGRAPHS.get(element.get("class") or "")
        if kind is None or self._table or self._verbatim or self._held or self._marker:
            self._flush()
        else:
            self._builder.add(kind, self._take())
            self._flush()

    @property
    def _table(self) -> _Table | None:
        return self._tables[-1] if self._tables else None

    def _take(self) -> str:
        text = "".join(self._buffer)
        self._buffer.clear()
        return _AROUND_BREAK.sub("\n", _SPACES.sub(" ", text)).strip(" \n")

    def _flush(self) -> None:
        """End the block that is being gathered; in a cell and in code, a line only."""
        if self._table or self._verbatim or self._held:
            if self._buffer and self._buffer[-1] != "\n":
                self._buffer.append("\n")
            return
        if self._buffer:
            self._emit(self._take())
        for description in self._pictures:
            self._builder.add("picture", description)
        self._pictures.clear()

    def _emit(self, text: str) -> None:
        if self._marker and text.strip():
            marker, depth, list_id = self._marker
            self._builder.list_item(text, marker=marker, depth=depth, list_id=list_id)
            self._marker = None
        else:
            self._builder.add("footnote" if self._notes else "paragraph", text)

    def _close_heading(self, element: etree._Element) -> None:
        self._held -= 1
        if self._table or self._verbatim or self._held:
            self._flush()
            return
        level = _HEADINGS[_name(element)]
        title = level == 1 and self._one_h1
        self._builder.heading(self._take(), level, title=title)
        self._flush()

    def _close_caption(self, element: etree._Element) -> None:
        self._held -= _name(element) in _HELD
        if _name(element) == "caption" and self._table:
            self._table.caption = self._take()
        elif self._table or self._verbatim or self._held:
            self._flush()
        else:
            self._builder.add("caption", self._take())

    def _open_verbatim(self, _: etree._Element) -> None:
        self._verbatim += 1

    def _close_verbatim(self, element: etree._Element) -> None:
        self._verbatim -= 1
        if self._verbatim or self._table:
            self._flush()
            return
        code = "".join(self._buffer).removeprefix("\n").replace("\r\n", "\n")
        self._buffer.clear()
        self._marker = None
        language = code_language(element)
        self._builder.code(code, language, info=code_info(element, language))

    def _open_list(self, element: etree._Element) -> None:
        if self._table:
            return
        depth = self._lists[-1].item_depth + 1 if self._lists else 1
        self._n_lists += not self._lists
        start = _integer(element.get("start"), 1) if _name(element) == "ol" else None
        self._lists.append(_List(self._n_lists, depth, start, depth))

    def _close_list(self, _: etree._Element) -> None:
        self._flush()
        if not self._table and self._lists:
            self._lists.pop()

    def _open_item(self, element: etree._Element) -> None:
        if self._table:
            return
        tag = _name(element)
        current = self._lists[-1] if self._lists else _List(0, 1, None)
        current.item_depth = current.depth + (tag == "dd")
        marker = "-"
        if current.number is not None and tag == "li":
            number = _integer(element.get("value"), current.number)
            current.number = number + 1
            marker = f"{number}."
        self._marker = (marker, current.item_depth, current.list_id)

    def _close_item(self, _: etree._Element) -> None:
        self._flush()
        if not self._table:
            self._marker = None

    def _open_table(self, element: etree._Element) -> None:
        layout = element in self._layout
        self._tables.append(None if layout else _Table())
        self._sections.append(self._builder.section())

    def _open_row(self, _: etree._Element) -> None:
        if self._table:
            self._table.grid.next_row(header=self._table.in_head)

    def _open_thead(self, _: etree._Element) -> None:
        if self._table:
            self._table.in_head = True

    def _close_thead(self, _: etree._Element) -> None:
        if self._table:
            self._table.in_head = False

    def _close_cell(self, element: etree._Element) -> None:
        table = self._table
        if table is None:
            self._flush()
            return
        table.grid.add(
            self._take(),
            columns=_integer(element.get("colspan"), 1),
            rows=_integer(element.get("rowspan"), 1),
            header=_name(element) == "th",
        )

    def _close_table(self, _: etree._Element) -> None:
        if not self._tables:
            return
        self._flush()
        table, section = self._tables.pop(), self._sections.pop()
        if table is None:
            self._builder.return_to(section)
            return
        stray = self._take()
        self._builder.add("caption", table.caption)
        self._builder.table(table.grid.rows(), header=table.grid.has_header)
        self._builder.add("paragraph", stray)


def _name(element: etree._Element | None) -> str:
    if element is None or not isinstance(element.tag, str):
        return ""
    return element.tag.rpartition("}")[2].lower()


def _integer(text: str | None, default: int) -> int:
    found = _INTEGER.fullmatch(text or "")
    return int(found[1]) if found else default
