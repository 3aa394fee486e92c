"""Where code comes apart: at definitions, then at blank lines, then at any line.

Lines are judged by their own words, their indentation and the line before, without a
parser: one rule set serves languages of braces, of indentation and of ``end``, and
broken or partial code has its places, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chunking.model import Block

__all__ = ["code_file", "is_fence", "line_costs", "read_info"]

_TAB = 4
_DEEPEST = 4
_JUDGED_CHARS = 300
"""A line is known by its beginning."""

_DEFINITION = 0.0
_BLANK = 0.25
_PLAIN = 0.6
_DEPTH = 0.15
_CLOSING = 2.5
_ATTACHED = 8.0
_FENCE = 50.0

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|abstract|final|async|await"
    r"|pub(?:\([^)]{0,40}\))?|unsafe|extern(?:\s+\"C\")?|inline|constexpr|virtual|override|sealed"
    r"|partial|open|data|local|declare|suspend|friend|synchronized|native|strictfp|pure"
    r"|recursive|create(?:\s+or\s+replace)?)\s+){0,6}"
)
_KEYWORDS = (
    r"(?:class|interface|struct|enum|trait|impl|mod|module|namespace|package|func|function|fn|fun"
    r"|def|defp|defmodule|defmacro|defn|sub|union|protocol|extension|object|record|macro_rules!"
    r"|type|template|contract|procedure|trigger|view|table|instance|theorem|lemma|let\s+rec"
    r"|describe|subroutine|program)\b"
)
_DEFINES = re.compile(
    rf"[ \t]*(?:{_MODIFIERS}{_KEYWORDS}(?!\s*[=:,)\].])"
    r"|(?:export\s+)?(?:const|let|var)\s+[\w$]+\s*=\s*(?:async\s*)?(?:function\b|\(|class\b)"
    r"|\(def[a-z]*\b)",
    re.IGNORECASE,
)
_CALLABLE = re.compile(r"[A-Za-z_][\w:*&<>,~\[\] \t]{0,120}\([^;={}]{0,240}\)[\w \t]{0,40}\{?\s*\Z")
"""A function without a keyword, as in C or a shell; at the left margin only."""
_SECTION = re.compile(r"\[{1,2}[^\]\n]{1,80}\]{1,2}\s*\Z|(?:[.#@]?[\w-][^{};=()]{0,120})\{\s*\Z")
"""A table of a configuration file, or a rule of a style sheet; at the left margin only."""
_COMMENT = re.compile(
    r"[ \t]*(?:#(?!include|define|if|el|end)|//|/\*|\*(?=[ /\n]|\Z)|--|;;|%|<!--)"
)
_DECORATOR = re.compile(
    r"[ \t]*(?:@(?!import|charset|media|font|supports|keyframes|use\b|include)[\w.]|#!?\["
    r"|\[\[?[A-Z]\w*[\](]|template\s*<)"
)
_CLOSES = re.compile(
    r"[ \t]*(?:[)\]}]|end\b|fi\b|done\b|esac\b|else\b|elif\b|elsif\b|elseif\b|except\b|catch\b"
    r"|finally\b|rescue\b|ensure\b|then\b|</)"
)
_FENCES = ("```", "~~~")


def is_fence(text: str, at: int) -> bool:
    """Return whether the line at a position opens or closes a fenced block."""
    return text.startswith(_FENCES, at)


def line_costs(text: str, starts: Sequence[int], end: int) -> list[float]:
    """Return what a cut before each line of a code block costs; the first is never one.

    ``starts``: the starts of its visible lines; a blank line belongs to the line before.
    Least before a definition at the left margin, whose decorators and comments stay
    with it; more the deeper the line stands, and most next to a fence.
    """
    lines = [text[a:b] for a, b in zip(starts, [*starts[1:], end], strict=True)]
    firsts = [line.split("\n", 1)[0][:_JUDGED_CHARS] for line in lines]
    depths = [_depth(line) for line in firsts]
    kinds = [_kind(line, depth) for line, depth in zip(firsts, depths, strict=True)]
    apart = [False, *(line.count("\n") > 1 for line in lines)]
    attached = [False] * (len(lines) + 1)
    for i, kind in enumerate(kinds):
        attached[i + 1] = kind == "decorator" or (kind == "comment" and not apart[i + 1])
    leads = _leads(kinds, attached)
    costs = []
    for i in range(len(lines)):
        if i and "fence" in (kinds[i], kinds[i - 1]):
            costs.append(_FENCE)
        elif attached[i]:
            costs.append(_ATTACHED)
        else:
            costs.append(_cost(leads[i], depths[i], apart=apart[i]))
    return costs


def _leads(kinds: Sequence[str], attached: Sequence[bool]) -> list[str]:
    """Return for each line the kind of what it leads to: itself, or what it is attached to."""
    leads = list(kinds)
    for i in range(len(kinds) - 2, -1, -1):
        if attached[i + 1]:
            leads[i] = leads[i + 1]
    return leads


def _depth(line: str) -> int:
    indented = line[: len(line) - len(line.lstrip(" \t"))]
    return min(_DEEPEST, len(indented.replace("\t", " " * _TAB)) // _TAB or bool(indented))


def _kind(line: str, depth: int) -> str:
    if line.startswith(_FENCES):
        return "fence"
    if _DECORATOR.match(line):
        return "decorator"
    if _COMMENT.match(line):
        return "comment"
    if _CLOSES.match(line):
        return "closing"
    if _DEFINES.match(line) or (not depth and (_CALLABLE.match(line) or _SECTION.match(line))):
        return "definition"
    return "plain"


def _cost(kind: str, depth: int, *, apart: bool) -> float:
    if kind == "closing":
        return _CLOSING
    base = _DEFINITION if kind == "definition" else _BLANK if apart else _PLAIN
    return base + _DEPTH * depth


_INFO_LANGUAGE = re.compile(r"\{?\s*\.?([A-Za-z][\w+#.-]*)(?![\w+#.-]|\s*=)")
_INFO_NAME = re.compile(
    r"(?:^|[\s{,])(?:title|file_?name|file|name|caption|path)\s*[=:]\s*"
    r"(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\s,}\"']+))",
    re.IGNORECASE,
)
_FILE = re.compile(r"(?:[\w.@~-]+[/\\])*(?:[\w@-][\w.@-]*\.[A-Za-z]\w{0,9}|Dockerfile|Makefile)\Z")
_CAPTION_FILE = re.compile(
    r"(?:(?<=\A)|(?<=[\s\"'`(\u201c\u201e:]))((?:[\w.@~-]{1,60}[/\\]){0,12}"
    r"[\w@-][\w.@-]{0,80}\.[A-Za-z]\w{0,9})(?=[\s\"'`),:;\u201d]|\.?\Z)"
)
_DOMAINS = frozenset({"com", "org", "net", "io", "dev", "de", "dk", "eu", "uk", "g"})
_LONGEST_CAPTION = 300


def read_info(info: str) -> tuple[str | None, str | None]:
    """Return language and file name from what stands behind an opening fence.

    Known forms: ``python``, ``python title="a.py"``, ``{.python filename="a.py"}``,
    ``js:src/a.js``, ``python src/a.py``, ``src/a.py``.
    """
    info = info.strip()
    head, _, rest = info.partition(" ")
    named = _INFO_NAME.search(info)
    name = next(filter(None, named.groups()), None) if named else None
    language, _, after = head.partition(":")
    if after and not name and "=" not in after:
        name = after
    if not name and not head.startswith("{"):
        words = [head, *rest.split()]
        name = next((word for word in words if _is_file(word)), None)
        if name == head:
            return None, name
    found = _INFO_LANGUAGE.match(info if head.startswith("{") else language)
    return (found[1].lower() if found else None), name


def code_file(text: str, blocks: Sequence[Block], block: Block) -> str | None:
    """Return the file that a code block is said to be from: by its fence or its caption.

    The caption stands next to the block; a line in front that is nothing but a path
    is one, too.
    """
    if block.kind == "code" and is_fence(text, block.start):
        # The first line alone: a long block is looked at once for each of its chunks.
        line_end = text.find("\n", block.start, block.end)
        first = text[block.start : block.end if line_end == -1 else line_end]
        _, name = read_info(first.lstrip("`~"))
        if name:
            return name
    before = blocks[block.index - 1] if block.index else None
    after = blocks[block.index + 1] if block.index + 1 < len(blocks) else None
    for near in (before, after):
        if near is None or near.end - near.start > _LONGEST_CAPTION:
            continue
        line = text[near.start : near.end].strip()
        if near.kind == "caption":
            found = (match[1] for match in _CAPTION_FILE.finditer(line))
            name = next(filter(_is_file, found), None)
        elif near is before and near.kind == "paragraph":
            bare = line.rstrip(":").strip("`")
            name = bare if _is_file(bare) else None
        else:
            name = None
        if name:
            return name
    return None


def _is_file(word: str) -> bool:
    return bool(_FILE.match(word)) and word.rsplit(".", 1)[-1].lower() not in _DOMAINS
