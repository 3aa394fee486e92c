"""How documents and chunks show themselves: HTML in a notebook, text in a terminal.

What documents say is escaped, and what would be invisible or act is shown as a sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from jobs.visible import visible, visible_line

if TYPE_CHECKING:
    from jobs.notebook.values import Chunks, ChunkView, ParsedText

__all__ = [
    "chunks_table",
    "chunks_text",
    "document_line",
    "document_table",
    "ends",
    "facts",
    "pages",
    "path",
]

_ROWS = 100
_TEXT_CHARS = 600
_LINE_CHARS = 100
_SEPARATOR = " \u203a "


def facts(document: ParsedText) -> dict[str, str]:
    """Return what is known of a document, in words; unknown facts are left out."""
    value = document.document
    outcome = document.parsed.outcome
    known = {
        "title": value.title,
        "format": document.format,
        "language": value.language,
        "pages": None if value.n_pages is None else f"{value.n_pages:,}",
        "characters": f"{len(value.text):,}",
        "blocks": f"{len(value.blocks):,}",
        "status": None if outcome.status == "ok" else outcome.status,
        "lost": outcome.error_message,
        "warnings": "; ".join(outcome.warnings),
    }
    return {name: visible_line(text) for name, text in known.items() if text}


def ends(view: ChunkView) -> str:
    """Return why a chunk ends, with what decided it, where known."""
    parts = [str(view.reason)]
    if view.distance is not None:
        parts.append(f"distance {view.distance:.3f}")
    if view.threshold is not None:
        parts.append(f"threshold {view.threshold:.3f}")
    return ", ".join(parts)


def path(view: ChunkView) -> str:
    """Return the heading path on one line."""
    return _SEPARATOR.join(visible_line(name) for name in view.heading_path)


def pages(view: ChunkView) -> str:
    """Return the page, or the first and last one; empty where there are none."""
    if view.page_start is None:
        return ""
    if view.page_end in (None, view.page_start):
        return f"page {view.page_start}"
    return f"pages {view.page_start}\u2013{view.page_end}"


def document_line(document: ParsedText) -> str:
    """Return a document's facts on one line."""
    known = ", ".join(f"{name} {text}" for name, text in facts(document).items())
    return f"<{visible_line(document.key)}: {known}>"


def document_table(document: ParsedText) -> str:
    """Return a document's facts as an HTML table."""
    rows = (
        f"<tr><th scope='row'>{name}</th><td dir='auto'>{escape(text)}</td></tr>"
        for name, text in facts(document).items()
    )
    caption = escape(visible_line(document.key))
    return f"<table><caption>{caption}</caption><tbody>{''.join(rows)}</tbody></table>"


def chunks_text(chunks: Chunks) -> str:
    """Return one line per chunk, under a line that says what they are."""
    lines = [_headline(chunks)]
    for view in chunks[:_ROWS]:
        text = visible_line(view.text, _LINE_CHARS)
        lines.append(f"{view.index:>5}  {view.n_tokens:>5} tokens  {ends(view)}  {text}")
    return "\n".join([*lines, *_rest(chunks)])


def _headline(chunks: Chunks) -> str:
    name = visible_line(chunks.document.key)
    cap = chunks.settings.max_tokens
    return f"{len(chunks):,} chunks of {name}, at most {cap:,} tokens each"


def _rest(chunks: Sequence[ChunkView]) -> list[str]:
    return [f"... and {len(chunks) - _ROWS:,} more"] if len(chunks) > _ROWS else []


def chunks_table(chunks: Chunks) -> str:
    """Return the first chunks as an HTML table, long texts cut."""
    head = "".join(
        f"<th scope='col'>{name}</th>" for name in ("#", "tokens", "ends", "headings", "text")
    )
    rows = "".join(_row(view) for view in chunks[:_ROWS])
    rest = "".join(f"<p>{line}</p>" for line in _rest(chunks))
    return (
        f"<table><caption>{escape(_headline(chunks))}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{rest}"
    )


def _row(view: ChunkView) -> str:
    text = view.text if len(view.text) <= _TEXT_CHARS else f"{view.text[:_TEXT_CHARS]}\u2026"
    cells = [
        *(_cell(fact) for fact in (str(view.index), str(view.n_tokens), ends(view), path(view))),
        _cell(visible(text), "white-space: pre-wrap; overflow-wrap: anywhere; min-width: 20em"),
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _cell(text: str, more: str = "") -> str:
    style = f"vertical-align: top; text-align: start; {more}".strip()
    return f"<td dir='auto' style='{style}'>{escape(text)}</td>"
