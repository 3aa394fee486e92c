"""Word documents, read from the parts of their package.

Read here and not by docling, whose reader counts lists and outlines from 1 whatever the
document says (docling-project/docling#2758), fails on XML comments and processing
instructions, parts words at links and formatting, and starts LibreOffice for a shape.
docling's reader of equations is used.

Rules: see :mod:`jobs.parsing.formats.docx_text` for a paragraph and
:mod:`jobs.parsing.formats.docx_body` for blocks. Footnotes, then endnotes stand at the
end, each behind its mark, then comments with their authors; each distinct line of headers
and footers is furniture, once. A number of a heading or list item is text, as Word shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lxml import etree

from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.converted import Converted, Source
from jobs.parsing.formats.archive import core_properties
from jobs.parsing.formats.docx_body import Shared, Story
from jobs.parsing.formats.docx_chunks import add_chunk
from jobs.parsing.formats.docx_numbering import Numbering
from jobs.parsing.formats.docx_styles import Styles, W
from jobs.parsing.formats.docx_text import Notes
from jobs.parsing.formats.ooxml import open_package
from jobs.parsing.formats.package import Package

__all__ = ["read"]

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MAIN = "word/document.xml"
_REFERENCES = (f"{W}headerReference", f"{W}footerReference")


def read(source: Source) -> Converted:
    """Read a DOCX file."""
    members = open_package(source)
    builder = DocumentBuilder()
    builder.title, builder.metadata = core_properties(members)
    whole = add_word(builder, members)
    return Converted(
        document=builder.build(),
        status="ok" if whole else "partial",
        parser="docx",
        warnings=tuple(builder.warnings),
    )


def add_word(builder: DocumentBuilder, members: Mapping[str, bytes], depth: int = 0) -> bool:
    """Add the blocks of a package; false where a file that stands in it could not be read.

    Raises:
        DocumentError: ``corrupt``; the main part is absent or not well-formed.
    """
    return _Word(builder, members, depth).run()


class _Word:
    def __init__(self, builder: DocumentBuilder, members: Mapping[str, bytes], depth: int) -> None:
        self._builder = builder
        self._depth = depth
        self._package = Package(members, builder.warn)
        self._main = self._package.main_part(_MAIN)
        self._parts = self._package.relationships(self._main)
        self._root = self._package.root(self._main)
        styles = Styles(self._part("styles"))
        titles = sum(
            styles.kind(paragraph).kind == "title" and any(t.text for t in paragraph.iter(f"{W}t"))
            for paragraph in self._root.iter(f"{W}p")
        )
        self._shared = Shared(
            builder=builder,
            package=self._package,
            styles=styles,
            numbering=Numbering(self._part("numbering"), styles),
            notes=Notes(),
            one_title=titles == 1,
            title_levels=int(titles > 1),
        )

    def run(self) -> bool:
        """Add body, notes, comments and running lines."""
        whole = True
        story = Story(self._shared, self._main)
        body = self._root.find(f"{W}body")
        for chunk in story.add(body) if body is not None else ():
            whole = add_chunk(self._builder, self._package, chunk.target, self._depth) and whole
        if story.hidden:
            self._builder.warn("hidden text was left out")
        self._builder.return_to(())
        self._add_notes()
        self._add_comments()
        self._add_running_lines()
        return whole

    def _part(self, kind: str) -> etree._Element | None:
        name = self._name(kind)
        return None if name is None else self._package.optional(name)

    def _name(self, kind: str) -> str | None:
        return next((rel.target for rel in self._parts.values() if rel.kind == kind), None)

    def _elements(self, kind: str, tag: str) -> Iterator[tuple[Story, etree._Element]]:
        """Yield the elements of a part that holds many small stories."""
        name, root = self._name(kind), self._part(kind)
        if name is None or root is None:
            return
        story = Story(self._shared, name)
        for element in root.iter(W + tag):
            yield story, element

    def _add_notes(self) -> None:
        notes = self._shared.notes
        for kind, order in (("footnote", notes.footnotes), ("endnote", notes.endnotes)):
            texts: dict[str, str] = {}
            wanted = frozenset(order)
            for story, element in self._elements(f"{kind}s", kind):
                identifier = element.get(f"{W}id") or ""
                if identifier in wanted:
                    texts[identifier] = "\n".join(story.lines(element))
            for identifier in order:
                mark = notes.marks[kind, identifier]
                if texts.get(identifier):
                    self._builder.add("footnote", f"{mark} {texts[identifier]}")

    def _add_comments(self) -> None:
        for story, element in self._elements("comments", "comment"):
            text = "\n".join(story.lines(element))
            author = " ".join((element.get(f"{W}author") or "").split())
            if text:
                self._builder.add("other", f"Comment by {author or 'unknown'}: {text}")

    def _add_running_lines(self) -> None:
        seen: set[str] = set()
        for reference in self._root.iter(*_REFERENCES):
            relationship = self._parts.get(reference.get(f"{_R}id") or "")
            name = relationship.target if relationship else ""
            root = self._package.optional(name) if name and name not in seen else None
            seen.add(name)
            if root is None:
                continue
            for line in Story(self._shared, name).lines(root):
                if line not in seen:
                    seen.add(line)
                    self._builder.furniture(line)
