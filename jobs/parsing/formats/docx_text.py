"""The text of one Word paragraph, and what is anchored in it.

Rules: insertions and the new place of a move are text, deletions and the old place are
not; of a field its result is text, not its instruction; hidden text is left out; a
note's reference is its number in brackets; an equation is LaTeX between ``$``; ruby
stands in parentheses behind its base.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from docling.backend.docx.latex.omml import oMath2Latex
from lxml import etree

from jobs.parsing.formats import symbols
from jobs.parsing.formats.docx_numbering import roman
from jobs.parsing.formats.docx_styles import Styles, W
from jobs.parsing.formats.drawings import ALTERNATE, Drawn, branch, read_drawing

__all__ = ["Line", "Notes", "ParagraphReader", "mark_is_deleted"]

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_DEEPEST = 60
_BAD_MATH = (
    *(AttributeError, IndexError, KeyError, LookupError, NotImplementedError, RuntimeError),
    *(RecursionError, TypeError, ValueError),
)
"""What docling's reader of equations raises for one that it does not know."""


@dataclass(slots=True)
class Line:
    """A paragraph's text; ``formula`` where it is one displayed equation and nothing else."""

    parts: list[str] = field(default_factory=list)
    drawn: Drawn = field(default_factory=Drawn)
    formulas: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text, its outer blanks kept."""
        return "".join(self.parts)

    @property
    def formula(self) -> str | None:
        """The LaTeX of a paragraph that holds equations only."""
        rest = [part for part in self.parts if part.strip()]
        alone = bool(self.formulas) and len(rest) == len(self.formulas)
        return " \\\\\n".join(self.formulas) if alone else None


@dataclass(slots=True)
class Notes:
    """Numbers footnotes and endnotes in the order of their references."""

    footnotes: list[str] = field(default_factory=list)
    endnotes: list[str] = field(default_factory=list)
    marks: dict[tuple[str, str], str] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def refer(self, kind: str, identifier: str, *, custom: bool) -> str:
        """Return the mark of a reference: ``[2]``, ``[ii]``; none where the author has set one."""
        key = (kind, identifier)
        if key in self.marks:
            return self.marks[key]
        order = self.footnotes if kind == "footnote" else self.endnotes
        order.append(identifier)
        if custom:
            self.marks[key] = ""
            return ""
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        self.marks[key] = f"[{number if kind == 'footnote' else roman(number)}]"
        return self.marks[key]


class ParagraphReader:
    """Reads paragraphs of one part; deep nesting is cut short, its text kept."""

    def __init__(self, styles: Styles, notes: Notes) -> None:
        self._styles = styles
        self._notes = notes
        self._line = Line()
        self._style: str | None = None
        self._open_fields: list[bool] = []
        self.hidden = False
        self._readers: dict[str, Callable[[etree._Element, int], None]] = {
            **dict.fromkeys(_TRANSPARENT, self._children),
            f"{W}r": self._run,
            f"{W}t": self._text,
            f"{W}sym": self._symbol,
            f"{W}fldChar": self._field,
            f"{W}ruby": self._ruby,
            f"{W}footnoteReference": self._note,
            f"{W}endnoteReference": self._note,
            ALTERNATE: self._alternate,
            f"{_M}oMath": self._equation,
            **dict.fromkeys((f"{W}drawing", f"{W}pict", f"{W}object"), self._drawing),
        }

    def read(self, paragraphs: Sequence[etree._Element]) -> Line:
        """Read a paragraph, or several whose marks between were deleted."""
        line = self._line = Line()
        for paragraph in paragraphs:
            self._style = self._styles.style_of(paragraph)
            self._open_fields = []
            self._children(paragraph, 0)
        return line

    def _children(self, node: etree._Element, depth: int) -> None:
        for child in node:
            self._node(child, depth)

    def _node(self, node: etree._Element, depth: int) -> None:
        fixed = _FIXED.get(node.tag)
        if fixed is not None:
            self._put(fixed)
            return
        reader = self._readers.get(node.tag)
        if reader is None:
            return
        if depth > _DEEPEST:
            self._put("".join(t.text or "" for t in node.iter(f"{W}t")))
        else:
            reader(node, depth + 1)

    def _put(self, text: str) -> None:
        if text and not any(self._open_fields):
            self._line.parts.append(text)

    def _run(self, node: etree._Element, depth: int) -> None:
        properties = node.find(f"{W}rPr")
        if self._styles.hides(properties, self._style):
            self.hidden = self.hidden or any(t.text for t in node.iter(f"{W}t"))
            # The marks of a field are needed whether seen or not.
            for mark in node.iterchildren(f"{W}fldChar"):
                self._field(mark, depth)
            return
        self._children(node, depth)

    def _text(self, node: etree._Element, _: int) -> None:
        text = node.text or ""
        if any("\uf000" <= character <= "\uf0ff" for character in text):
            text = symbols.symbols_in(text, _font(node.getparent()))
        self._put(text)

    def _symbol(self, node: etree._Element, _: int) -> None:
        code = node.get(f"{W}char") or ""
        try:
            number = int(code, 16)
        except ValueError:
            return
        self._put(symbols.symbol(number, node.get(f"{W}font") or ""))

    def _field(self, node: etree._Element, _: int) -> None:
        kind = node.get(f"{W}fldCharType")
        if kind == "begin":
            self._open_fields.append(True)
        elif self._open_fields and kind == "separate":
            self._open_fields[-1] = False
        elif self._open_fields and kind == "end":
            self._open_fields.pop()

    def _ruby(self, node: etree._Element, depth: int) -> None:
        base, above = node.find(f"{W}rubyBase"), node.find(f"{W}rt")
        if base is not None:
            self._children(base, depth)
        if above is not None and any(t.text for t in above.iter(f"{W}t")):
            self._put("(")
            self._children(above, depth)
            self._put(")")

    def _note(self, node: etree._Element, _: int) -> None:
        kind = etree.QName(node).localname.removesuffix("Reference")
        flag = node.get(f"{W}customMarkFollows")
        custom = flag is not None and flag not in ("0", "false", "off")
        self._put(self._notes.refer(kind, node.get(f"{W}id") or "", custom=custom))

    def _alternate(self, node: etree._Element, depth: int) -> None:
        for child in branch(node):
            self._node(child, depth)

    def _drawing(self, node: etree._Element, _: int) -> None:
        self._line.drawn += read_drawing(node)

    def _equation(self, node: etree._Element, _: int) -> None:
        latex = _latex(node)
        if not latex or any(self._open_fields):
            return
        before = self._line.parts[-1][-1:] if self._line.parts else ""
        self._put(f"{' ' if before and not before.isspace() else ''}${latex}$")
        self._line.formulas.append(latex)


_TRANSPARENT = (
    *(
        f"{W}{name}"
        for name in ("ins", "moveTo", "hyperlink", "smartTag", "customXml", "fldSimple")
    ),
    *(f"{W}{name}" for name in ("dir", "bdo", "sdt", "sdtContent", "rubyBase")),
    f"{_M}oMathPara",
)
_FIXED = {
    f"{W}tab": "\t",
    f"{W}ptab": "\t",
    f"{W}br": "\n",
    f"{W}cr": "\n",
    f"{W}noBreakHyphen": "-",
}


def mark_is_deleted(paragraph: etree._Element) -> bool:
    """Tell whether the end of a paragraph is a tracked deletion: the next one continues it."""
    return paragraph.find(f"{W}pPr/{W}rPr/{W}del") is not None


def _font(run: etree._Element | None) -> str:
    fonts = run.find(f"{W}rPr/{W}rFonts") if run is not None else None
    return (fonts.get(f"{W}ascii") or fonts.get(f"{W}hAnsi") or "") if fonts is not None else ""


def _latex(node: etree._Element) -> str:
    try:
        return " ".join(str(oMath2Latex(node)).split())
    except _BAD_MATH:
        return "".join(t.text or "" for t in node.iter(f"{_M}t")).strip()
