"""Footnotes: small letters at the foot of a column, below a rule or begun by a marker."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from jobs.parsing.pdf.blocks import Block, Vocabulary
from jobs.parsing.pdf.geometry import Frame
from jobs.parsing.pdf.lines import Line

__all__ = ["with_footnotes"]

_MARKER = re.compile(
    r"(?:\(?(?P<number>\d{1,3})[.)]?|[*\u2217\u2020\u2021\u00a7\u00b6#]{1,3}|[a-z][.)]?)\s*"
    r"(?=[^\W\d_]|[\"\u201c\u201e(])"
)
_LONE_MARKER = re.compile(r"\d{1,3}|[*\u2217\u2020\u2021\u00a7\u00b6#]{1,3}")
_SMALLER = 0.94
"""Of the body's letters: what a footnote measures at most, unless a rule sets it apart."""
_NOT_LARGER = 1.03
_LOWER_PART = 0.45
_MAX_RULE_SHARE = 0.6
_MIN_RULE = 20.0
_MAX_STEP = 3
"""Between the numbers of footnotes of one page."""
_MARGIN = 4.0
_INDENT_EM = 4.0
_MIN_CHARS = 25
"""Of a note without a marker: fewer are a label in a drawing."""
_CONTENTS = re.compile(r"[^\W\d_].*\s\d{1,3}$")


def with_footnotes(
    blocks: Sequence[Block],
    rules: Sequence[Frame],
    size: tuple[float, float],
    vocabulary: Vocabulary,
    body: float,
) -> list[Block]:
    """Mark the footnotes among the blocks of one page of ``size``, each a block of its own."""
    width, height = size
    separators = [
        rule
        for rule in rules
        if _MIN_RULE <= rule.width <= _MAX_RULE_SHARE * width and rule.middle > _LOWER_PART * height
    ]
    blocks = _with_markers(blocks, _LOWER_PART * height)
    texts = [block for block in blocks if block.kind not in ("header", "footer")]
    frames = {id(block): block.frames()[0][1] for block in texts}
    notes: set[int] = set()
    for block in sorted(texts, key=lambda each: -frames[id(each)].top):
        frame = frames[id(block)]
        below = [
            other
            for other in texts
            if frames[id(other)].top > frame.top and _share_column(frame, frames[id(other)])
        ]
        if (
            block.kind in ("text", "list_item")
            and frame.top > _LOWER_PART * height
            and all(id(other) in notes for other in below)
            and _is_note(block, frame, separators, body)
        ):
            notes.add(id(block))
    marked: list[Block] = []
    for block in blocks:
        if id(block) not in notes:
            marked.append(block)
            continue
        for note in _notes(block, vocabulary):
            last = marked[-1] if marked else None
            if last is not None and last.kind == "footnote" and _goes_on(last, note):
                marked[-1] = _with_more(last, note, vocabulary)
            else:
                marked.append(note)
    return marked


def _with_markers(blocks: Sequence[Block], top: float) -> list[Block]:
    """Put a raised marker that stands as a block of its own before its note."""
    joined: list[Block] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if last is None or block.kind != "text" or not _is_marker(last, block, top):
            joined.append(block)
            continue
        joined[-1] = replace(
            block,
            text=f"{last.text} {block.text}",
            lines=last.lines + block.lines,
            pages=last.pages + block.pages,
        )
    return joined


def _is_marker(mark: Block, block: Block, top: float) -> bool:
    a, b = mark.lines[-1].frame, block.lines[0].frame
    return (
        _LONE_MARKER.fullmatch(mark.text) is not None
        and a.top > top
        and a.right <= b.left + block.size
        and min(a.bottom, b.bottom) > max(a.top, b.top)
    )


def _goes_on(note: Block, block: Block) -> bool:
    """Tell whether a block without a marker, or with a number out of turn, is more of a note."""
    below = block.lines[0].frame.top - note.lines[-1].frame.bottom
    if not -block.size < below < block.size:
        return False
    marker, before = _MARKER.match(block.text), _MARKER.match(note.text)
    if marker is None or before is None:
        return marker is None
    if marker["number"] is None or before["number"] is None:
        return False
    return int(marker["number"]) <= int(before["number"]) or (
        int(marker["number"]) > int(before["number"]) + _MAX_STEP
    )


def _with_more(note: Block, block: Block, vocabulary: Vocabulary) -> Block:
    return replace(
        note,
        text=vocabulary.join(note.text, block.text),
        lines=note.lines + block.lines,
        pages=note.pages + block.pages,
    )


def _is_note(block: Block, frame: Frame, rules: Sequence[Frame], body: float) -> bool:
    """Tell a note: below a rule if its column has one, else small and with a marker."""
    beside = [rule for rule in rules if abs(rule.left - frame.left) <= _INDENT_EM * block.size]
    marked = bool(block.marker or _MARKER.match(block.text))
    if _CONTENTS.search(block.text) and len(block.lines) == 1:
        return False
    if any(rule.middle <= frame.top + _MARGIN for rule in beside):
        if marked:
            return block.size <= body * _NOT_LARGER
        return block.size <= body * _SMALLER and len(block.text) >= _MIN_CHARS
    return marked and not beside and block.size <= body * _SMALLER


def _share_column(a: Frame, b: Frame) -> bool:
    return min(a.right, b.right) > max(a.left, b.left)


def _notes(block: Block, vocabulary: Vocabulary) -> list[Block]:
    """Cut a block where the next number begins a line: one footnote each."""
    if block.marker:
        return [replace(block, kind="footnote", text=f"{block.marker} {block.text}", marker="")]
    groups: list[list[int]] = []
    number = None
    for i, line in enumerate(block.lines):
        match = _MARKER.match(line.text)
        found = int(match["number"]) if match and match["number"] else None
        symbol = match is not None and not line.text[0].isalnum()
        if not groups or symbol or (found is not None and found == (number or 0) + 1 and number):
            groups.append([])
        number = found if found is not None and len(groups[-1]) == 0 else number
        groups[-1].append(i)
    if len(groups) == 1:
        return [replace(block, kind="footnote")]
    return [
        replace(
            block,
            kind="footnote",
            lines=tuple(block.lines[i] for i in group),
            pages=tuple(block.pages[i] for i in group),
            text=_joined([block.lines[i] for i in group], vocabulary),
        )
        for group in groups
    ]


def _joined(lines: Sequence[Line], vocabulary: Vocabulary) -> str:
    text = lines[0].text
    for line in lines[1:]:
        text = vocabulary.join(text, line.text)
    return text
