"""A user's function between parser and chunker: it may clean text and add metadata.

Named in ``parser.hook`` as ``module:function``, it is called with a :class:`Draft` of each
document, inside the child process that parsed it and under the same limits::

    def tidy(draft):
        draft.metadata["team"] = "legal"
        draft.parts = [part for part in draft.parts if "Cookie settings" not in part.text]
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chunking.errors import ConfigError, DocumentError
from chunking.model import Block, BlockKind, Document
from jobs.config import Config
from jobs.parsing.text import clean, clean_metadata, split_paragraphs

__all__ = ["Draft", "Hook", "Part", "apply_hook", "fix_hook", "load_hook"]

_DIGEST_CHARS = 16
_LEAST_LINES = 2
"""Of code, its fences; of a table, its header and delimiter line."""


@dataclass(slots=True, kw_only=True, eq=False)
class Part:
    """One block of a document; only ``text`` may be changed.

    A table's text is its Markdown lines, header and delimiter line first; that of code
    stands between its fences; that of a list item begins with its marker. ``level`` is
    that of a heading, or the depth of a list item. ``page`` counts from 1.
    """

    kind: BlockKind
    text: str
    level: int | None = None
    heading_path: tuple[str, ...] = ()
    page: int | None = None


@dataclass(slots=True, kw_only=True)
class Draft:
    """A parsed document, for a hook to change in place.

    ``parts`` may lose some of its members; the order stays. ``title`` and ``metadata``
    may be set. ``key`` and ``format`` are told, not taken back.
    """

    key: str
    format: str
    title: str | None
    language: str | None
    metadata: dict[str, str]
    parts: list[Part]


Hook = Callable[[Draft], object]


def load_hook(name: str) -> Hook:
    """Return the function that ``module:function`` names.

    Raises:
        ConfigError: it cannot be imported, or is none.
    """
    module, _, function = name.partition(":")
    try:
        hook: Hook | None = getattr(importlib.import_module(module), function, None)
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        msg = (
            f"parser.hook: the module {module} cannot be imported ({reason}); "
            "install it, or name its folder in PYTHONPATH"
        )
        raise ConfigError(msg) from error
    if not callable(hook):
        msg = f"parser.hook: the module {module} has no function {function}"
        raise ConfigError(msg)
    return hook


def fix_hook(config: Config) -> Config:
    """Return the configuration with the hook's version: by its file's content if not given.

    So documents are read again after the file has changed.

    Raises:
        ConfigError: the hook cannot be loaded.
    """
    parser = config.parser
    if parser.hook is None:
        return config
    load_hook(parser.hook)
    if parser.hook_version is not None:
        return config
    file = getattr(importlib.import_module(parser.hook.partition(":")[0]), "__file__", None)
    content = Path(file).read_bytes() if file else b""
    version = hashlib.sha256(content).hexdigest()[:_DIGEST_CHARS]
    parser = parser.model_copy(update={"hook_version": version})
    return config.model_copy(update={"parser": parser})


def apply_hook(hook: Hook, document: Document, *, name: str, key: str, format: str) -> Document:  # noqa: A002 - the column's name
    """Return the document as the hook leaves it; ``name`` is the hook's, for messages.

    Raises:
        DocumentError: ``internal``: the hook raised, or left something that is no
            document of these blocks.
    """
    parts = [_part(document, block) for block in document.blocks]
    draft = Draft(
        key=key,
        format=format,
        title=document.title,
        language=document.language,
        metadata=dict(document.metadata),
        parts=list(parts),
    )
    try:
        if hook(draft) is not None:
            msg = "a hook changes its draft and returns nothing"
            raise TypeError(msg)  # noqa: TRY301 - told like what the hook itself raises
        return _changed(document, parts, draft)
    except MemoryError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        msg = f"parser.hook {name}: {reason}"
        raise DocumentError(msg, kind="internal", stage="parse") from error


def _part(document: Document, block: Block) -> Part:
    return Part(
        kind=block.kind,
        text=document.text[block.start : block.end],
        level=block.level,
        heading_path=block.heading_path,
        page=block.page_start,
    )


def _changed(document: Document, parts: Sequence[Part], draft: Draft) -> Document:
    kept = _positions(parts, draft.parts)
    texts: list[str] = []
    blocks: list[Block] = []
    renamed: dict[str, str] = {}
    position, last = 0, -1
    for index, part in enumerate(parts):
        block = document.blocks[index]
        before = document.text[block.start : block.end]
        text = _tidy(block.kind, part.text, before) if index in kept else ""
        if block.kind in ("title", "heading"):
            renamed[before] = text
        if not text:
            continue
        gap = _gap(document, last, index)
        start = position + len(gap)
        position = start + len(text)
        texts += (gap, text)
        path = (renamed.get(heading, heading) for heading in block.heading_path)
        blocks.append(
            replace(
                block,
                index=len(blocks),
                start=start,
                end=position,
                heading_path=tuple(filter(None, path)),
                row_starts=_row_starts(text, start) if block.kind == "table" else (),
            )
        )
        last = index
    return replace(
        document,
        text="".join(texts),
        blocks=tuple(blocks),
        title=" ".join(clean(draft.title or "").split()) or None,
        metadata=clean_metadata(draft.metadata),
    )


def _positions(parts: Sequence[Part], left: Sequence[Part]) -> set[int]:
    place = {id(part): index for index, part in enumerate(parts)}
    kept = [place.get(id(part), -1) for part in left]
    if -1 in kept or any(a >= b for a, b in itertools.pairwise(kept)):
        msg = "parts may be changed and left out, not added, doubled or moved"
        raise ValueError(msg)
    return set(kept)


def _tidy(kind: BlockKind, text: str, before: str) -> str:
    """Return a part's text as the canonical text may hold it; blank: it is left out."""
    if text == before:
        return text
    text = clean(text)
    if kind == "code":
        if not text.strip():
            return ""
        lines = text.strip("\n").split("\n")
        ticks = before[: len(before) - len(before.lstrip("`"))]
        if len(lines) < _LEAST_LINES or lines[-1] != ticks or not lines[0].startswith(ticks):
            msg = "code must stay between its fences"
            raise ValueError(msg)
        return "\n".join(lines)
    if kind == "table":
        return _table(text)
    indent = text[: len(text) - len(text.lstrip(" "))] if kind == "list_item" else ""
    prose = "\n".join(split_paragraphs(text)).strip()
    if kind in ("title", "heading"):
        return " ".join(prose.split())
    return indent + prose if prose else ""


def _table(text: str) -> str:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        return ""
    rows_only = all(line.startswith("|") and line.endswith("|") for line in lines)
    if not rows_only or len(lines) < _LEAST_LINES or set(lines[1]) - set("|-: "):
        msg = "a table must stay Markdown lines: a header, a delimiter line, rows"
        raise ValueError(msg)
    return "\n".join(lines)


def _row_starts(text: str, start: int) -> tuple[int, ...]:
    """Return where the rows of a table begin; the delimiter line belongs to the header."""
    starts, position = [], start
    for line in text.split("\n"):
        starts.append(position)
        position += len(line) + 1
    return (starts[0], *starts[2:])


def _gap(document: Document, last: int, index: int) -> str:
    """Return what separates two blocks that were not neighbours before, or were."""
    if last < 0:
        return ""
    between = document.blocks[last : index + 1]
    gaps = {document.text[a.end : b.start] for a, b in itertools.pairwise(between)}
    return "\n" if gaps == {"\n"} else "\n\n"
