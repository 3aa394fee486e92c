"""The terminal view: chunks in order, in two colours, each with size, end and text.

Without a terminal there are no colours and lines are not wrapped. What the document
says is never read as markup, and nothing of it reaches the terminal as a control.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from jobs.inspection.facts import furniture, repeated_tokens, setting_lines, strategy
from jobs.notebook.display import ends, facts, pages, path
from jobs.notebook.values import Chunks, ChunkView
from jobs.visible import visible, visible_line

__all__ = ["show"]

_BAR = 20
_COLOURS = ("cyan", "green")
_INSIDE = 20
_FURNITURE = 10
_PREFIX_LINE = "prefix \u2502 "
_TEXT_LINE = "\u2502 "


def show(chunks: Chunks, console: Console) -> None:
    """Print the document's facts, then every chunk."""
    for line in _head(chunks):
        console.print(line, soft_wrap=True)
    before = None
    for view in chunks:
        for line in _chunk(chunks, before, view, console):
            console.print(line, soft_wrap=True)
        before = view


def _head(chunks: Chunks) -> Iterator[Text]:
    document = chunks.document
    yield Text(visible_line(document.key), style="bold")
    yield _pairs(facts(document))
    settings = setting_lines(chunks)
    yield _pairs({"strategy": strategy(chunks) or "none", **settings})
    shown, more = furniture(chunks, _FURNITURE)
    if shown:
        rest = f" and {more:,} more" if more else ""
        listed = "; ".join(f"{text} ({count}\u00d7)" for text, count in shown)
        yield _pairs({"furniture": f"{listed}{rest}"})
    inside = document.members
    if inside:
        listed = "; ".join(
            visible_line(f"{m.plan.source_key} ({m.outcome.status})") for m in inside[:_INSIDE]
        )
        rest = f" and {len(inside) - _INSIDE:,} more" if len(inside) > _INSIDE else ""
        yield _pairs({"inside, documents of their own": f"{listed}{rest}"})
    if not len(chunks):
        yield Text("no text, so no chunks")


def _pairs(named: dict[str, str]) -> Text:
    line = Text("  ")
    for i, (name, value) in enumerate(named.items()):
        line.append("  \u00b7  " if i else "", style="dim")
        line.append(f"{name} ", style="dim").append(value)
    return line


def _chunk(
    chunks: Chunks, before: ChunkView | None, view: ChunkView, console: Console
) -> Iterator[Text]:
    colour = _COLOURS[view.index % len(_COLOURS)]
    yield Text("")
    yield _title(view, chunks.settings.max_tokens, repeated_tokens(before, view), colour)
    if view.heading_path:
        yield Text(path(view), style="bold")
    for line in _wrapped(view.prefix.removesuffix("\n"), console, _PREFIX_LINE):
        yield Text(_PREFIX_LINE, style="dim").append(line.plain, style="italic dim")
    for line in _wrapped(view.text, console, _TEXT_LINE):
        yield Text(_TEXT_LINE, style=colour).append(line.plain, style=colour)
    yield Text(f"\u2514 ends: {ends(view)}", style="dim")


def _title(view: ChunkView, cap: int, repeated: int, colour: str) -> Text:
    filled = min(max(round(_BAR * view.n_tokens / cap), 1), _BAR)
    parts = [
        view.boundaries,
        view.kind.replace("_", " "),
        view.code_language or "",
        pages(view),
        f"repeats {repeated} tokens of the chunk before" if repeated else "",
    ]
    title = Text(f"#{view.index}  ", style=f"bold {colour}")
    title.append(f"{view.n_tokens:,}/{cap:,} tokens ")
    title.append("\u2588" * filled, style=colour).append("\u2591" * (_BAR - filled), style="dim")
    return title.append("  " + " \u00b7 ".join(visible(part) for part in parts if part))


def _wrapped(text: str, console: Console, lead: str) -> Iterator[Text]:
    """Yield the lines of a text, wrapped to what is left of a terminal beside ``lead``."""
    if not text:
        return
    for line in visible(text).split("\n"):
        plain = Text(line.expandtabs(4))
        if console.is_terminal and line:
            yield from plain.wrap(console, max(console.width - len(lead), 20))
        else:
            yield plain
