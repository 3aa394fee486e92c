"""Markdown: CommonMark with tables and strikethrough, through its HTML.

markdown-it-py turns it into HTML, which :mod:`jobs.parsing.formats.html` reads.
docling's own reader is not used: it splits words at emphasis, renumbers lists, drops
the language of code and takes front matter for a heading. Rules: YAML, TOML or JSON front
matter is metadata; formulas stay as they are written, those in ``$$`` and in an equation
environment are blocks; a footnote stands where it is written, with its mark; ``<name>``
in prose that is no HTML element stays as it is written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from chunking.code import read_info
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.converted import Converted, Source
from jobs.parsing.formats.front_matter import split_front_matter
from jobs.parsing.formats.html import add_html
from jobs.parsing.formats.markdown_rules import add_rules
from jobs.parsing.formats.markup import INFO, KNOWN
from jobs.parsing.text import decode, decode_warnings

__all__ = ["add_markdown", "read"]

_NESTING = 2_000
_FRAMES_PER_LEVEL = 6
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)")
_OPEN_BRACKETS = 100
"""More brackets of one paragraph that never close cost the parser a recursion each."""
_MARKER_RUN = re.compile(r"^([ \t]*)(?:[-*+>] ?){20,}(?=[^-*+> \t\n])", re.MULTILINE)


def read(source: Source) -> Converted:
    """Read a Markdown file."""
    text = decode(source.path.read_bytes())
    builder = DocumentBuilder()
    builder.warnings += decode_warnings(text)
    body, builder.metadata = split_front_matter(text)
    builder.title = builder.metadata.get("title")
    add_markdown(builder, body)
    return Converted(document=builder.build(), parser="markdown", warnings=tuple(builder.warnings))


def add_markdown(builder: DocumentBuilder, text: str) -> None:
    """Add the blocks of Markdown text."""
    parser = _parser()
    if any(part.count("[") - part.count("]") > _OPEN_BRACKETS for part in text.split("\n\n")):
        parser.disable(["link", "image"])
    with _deep_recursion():
        html = parser.render(_MARKER_RUN.sub(r"\1- ", text))
    add_html(builder, f"<body>{html}</body>", head=False)


class _Renderer(RendererHTML):
    """HTML, but a tag that names no HTML element is text, and what a fence says is kept."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Render a fenced block with its language and its info string."""
        del options, env
        token = tokens[idx]
        info = unescapeAll(token.info).strip()
        language, _ = read_info(info)
        name = f' class="language-{escape(language)}"' if language else ""
        return f'<pre {INFO}="{escape(info)}"><code{name}>{escape(token.content)}</code></pre>\n'

    def html_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Render inline HTML, or escape a placeholder such as ``<name>``."""
        del options, env
        content = tokens[idx].content
        tag = _TAG.match(content)
        return escape(content) if tag and tag[1].lower() not in KNOWN else content


def _parser() -> MarkdownIt:
    options: Mapping[str, Any] = {"html": True, "maxNesting": _NESTING}
    parser = MarkdownIt("commonmark", options, renderer_cls=_Renderer)
    add_rules(parser.enable(["table", "strikethrough"]))
    return parser


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Allow the parser one level of recursion per level of nesting."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _NESTING * _FRAMES_PER_LEVEL + limit))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
