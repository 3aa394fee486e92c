"""Tagged and lightly marked up text: HTML, XML, Markdown, AsciiDoc."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Scores", "scores", "tagged_format"]

_PROLOG = re.compile(
    r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE\s+[^\[>]*(?:\[.*?\]\s*)?>)", re.DOTALL | re.IGNORECASE
)
_DOCTYPE = re.compile(r"<!DOCTYPE\s+([\w:.-]+)([^\[>]*)", re.IGNORECASE)
_ROOT = re.compile(r"<([A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)(?=[\s/>])")
_HTML_ANYWHERE = re.compile(r"<(?:!doctype\s+html|html|head|body|title|meta)\b", re.IGNORECASE)
_HTML_TAGS = frozenset(
    (
        "a",
        "abbr",
        "address",
        "article",
        "aside",
        "b",
        "base",
        "blockquote",
        "body",
        "br",
        "button",
        "center",
        "code",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "em",
        "fieldset",
        "figure",
        "font",
        "footer",
        "form",
        "frameset",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "header",
        "hr",
        "html",
        "i",
        "iframe",
        "img",
        "input",
        "li",
        "link",
        "main",
        "map",
        "meta",
        "nav",
        "noscript",
        "ol",
        "p",
        "pre",
        "script",
        "section",
        "small",
        "span",
        "strong",
        "style",
        "sub",
        "sup",
        "svg",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "title",
        "tr",
        "tt",
        "ul",
        "video",
    )
)
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)(?:\s[^<>]*)?/?>")
_MIN_TAGS = 3
_MIN_MARKDOWN = 2
_MAX_PROLOG_PARTS = 50
_JATS_DOCTYPE = re.compile(r"//(?:NLM|NISO)//|JATS|archivearticle|journalpublishing", re.IGNORECASE)
_JATS_BODY = re.compile(r"<(?:front|journal-meta|article-meta)\b")

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^`]*$")
_MARKDOWN = tuple(
    map(
        re.compile,
        (
            r"#{1,6}[ \t]+[^#\s].*",
            r".*!?\[[^\]\n]*\]\([^)\s]+(?:\s+\"[^\"]*\")?\).*",
            r"\s*\|?\s*:?-{3,}:?\s*(?:\|\s*:?-{3,}:?\s*)+\|?\s*",
            r" {0,3}\[[^\]\n]+\]:\s+\S+.*",
        ),
    )
)
"""Lines that only Markdown has."""
_ASCIIDOC = tuple(
    map(
        re.compile,
        (
            r"={1,6}[ \t]+[^=\s].*",
            r"\|={3,}\s*",
            r"(?:include|ifdef|ifndef|ifeval|endif|image|video|toc|kroki)::.*\[.*\]\s*",
            r":!?[A-Za-z][\w-]*!?:(?:[ \t].*)?",
            r"\[(?:source|NOTE|TIP|WARNING|IMPORTANT|CAUTION|quote|verse|%|\.|#|cols|\[)[^\]]*\]+\s*",
            r".*\b(?:xref|link|kbd|btn|menu|image|footnote|pass|stem):[^\s\[]*\[[^\]]*\].*",
            r".*<<[\w#./-]+(?:,[^>\n]*)?>>.*",
            r".*https?://[^\s\[]+\[[^\]\n]*[^\W\d][^\]\n]*\].*",
        ),
    )
)
"""Lines that only AsciiDoc has."""
_SHARED = tuple(
    map(
        re.compile,
        (
            r".*(?<![\w*])\*\*[^\s*][^*\n]*\*\*(?![\w*]).*",
            r".*(?<!`)`[^`\s][^`\n]*`(?!`).*",
        ),
    )
)
"""Lines that both have, and plain text seldom."""
_BULLET = re.compile(r"(?: {2,}|\t+)?[-*+][ \t]+\S.*")
_MIN_BULLET_SHARE = 0.5
_LINES_PER_SIGN = 400
"""A text needs one sign of its markup for this many lines: a stray one proves nothing."""
_MAX_LINES = 4000
_MAX_LINE = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Lines of a text that only Markdown, only AsciiDoc, or both would have; bullets apart."""

    markdown: int
    asciidoc: int
    shared: int
    bullets: int
    lines: int

    def best(self) -> str | None:
        """Return ``md`` or ``adoc``, or None where there is too little markup to tell."""
        needed = 1 + self.lines // _LINES_PER_SIGN
        if self.asciidoc >= needed and self.asciidoc > self.markdown:
            return "adoc"
        if self.markdown + self.shared >= needed:
            return "md"
        return "md" if self.bullets > self.lines * _MIN_BULLET_SHARE else None


def tagged_format(start: str) -> str | None:
    """Return ``html``, ``xml_jats`` or ``xml`` for a text that begins with markup, else None."""
    if not start.startswith("<"):
        return None
    position = 0
    for _ in range(_MAX_PROLOG_PARTS):
        part = _PROLOG.match(start, position)
        if part is None:
            break
        position = part.end()
    doctype = _DOCTYPE.search(start, 0, position)
    root = _ROOT.match(start, position)
    name = root[2].lower() if root else ""
    if doctype and doctype[1].lower() == "html":
        return "html"
    if name == "html":
        return "html"
    if start.startswith("<?xml") or doctype or (root and (root[1] or name not in _HTML_TAGS)):
        return _xml_format(start, name, doctype) if root or start.startswith("<?xml") else None
    return "html" if _is_html(start) else None


def _xml_format(start: str, name: str, doctype: re.Match[str] | None) -> str:
    told = doctype is not None and bool(_JATS_DOCTYPE.search(doctype[2]))
    if name == "article" and (told or _JATS_BODY.search(start)):
        return "xml_jats"
    return "xml"


def _is_html(start: str) -> bool:
    """Tell HTML without a head from Markdown that begins with a tag."""
    if _HTML_ANYWHERE.search(start[:2000]):
        return True
    if scores(start).markdown >= _MIN_MARKDOWN:
        return False
    tags = [name.lower() for name in _TAG.findall(start)]
    return sum(name in _HTML_TAGS for name in tags) >= _MIN_TAGS


def scores(text: str) -> Scores:
    """Count the lines that show a markup, code blocks left out."""
    lines = [line[:_MAX_LINE] for line in text.splitlines()[:_MAX_LINES]]
    fenced = _fenced(lines)
    prose = [
        line
        for i, line in enumerate(lines)
        if line.strip() and not fenced[i] and not _is_comment(lines, i)
    ]
    return Scores(
        markdown=_count(prose, _MARKDOWN) + any(fenced) + _has_front_matter(lines),
        asciidoc=_count(prose, _ASCIIDOC),
        shared=_count(prose, _SHARED),
        bullets=_count(prose, (_BULLET,)),
        lines=len(prose),
    )


def _count(lines: list[str], patterns: tuple[re.Pattern[str], ...]) -> int:
    return sum(any(pattern.fullmatch(line) for pattern in patterns) for line in lines)


def _fenced(lines: list[str]) -> list[bool]:
    """Tell for each line whether it belongs to a fenced code block."""
    inside = [False] * len(lines)
    start, fence = 0, ""
    for i, line in enumerate(lines):
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and line.strip() == match[1]:
                inside[start : i + 1] = [True] * (i + 1 - start)
                fence = ""
        elif match and not (match[1][0] == "~" and i and lines[i - 1].strip()):
            start, fence = i, match[1]
    if fence.startswith("`"):
        inside[start:] = [True] * (len(lines) - start)
    return inside


def _has_front_matter(lines: list[str]) -> bool:
    return bool(lines) and lines[0].rstrip() == "---" and "---" in map(str.rstrip, lines[2:60])


def _is_comment(lines: list[str], i: int) -> bool:
    """Tell whether a ``#`` line is one of a run of comment lines, not a heading."""
    if not lines[i].startswith("#"):
        return False
    return any(0 <= j < len(lines) and lines[j].startswith("#") for j in (i - 1, i + 1))
