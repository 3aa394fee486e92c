"""What writers put into Markdown beyond CommonMark: formulas, footnotes, definition lists.

Each rule looks ahead a bounded way, so that the parser stays linear. A footnote is read
here also because CommonMark takes ``[^1]: word`` for the address of a link and shows
nothing.
"""

from __future__ import annotations

import re
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

__all__ = ["add_rules"]

_INLINE = re.compile(r"\$(?=[^\s$])([^$\n`]{0,300}?)(?<=\S)\$(?!\d)")
_FOOTNOTE = re.compile(r"\[\^([^\]\s]{1,80})\]:[ \t]*")
_ENVIRONMENT = re.compile(
    r"\\begin\{((?:equation|align|gather|multline|eqnarray|math|displaymath)\*?)\}"
)
_DEFINITION = re.compile(r"\n[ \t]*:[ \t]+")
_INDENT = 4
_MOST_LINES = 200
"""Lines of a formula; what does not close within them is none."""


def add_rules(parser: MarkdownIt) -> None:
    """Add the rules to a parser."""
    parser.block.ruler.before("fence", "formula", _formula, {"alt": ["paragraph", "blockquote"]})
    parser.block.ruler.before("reference", "footnote", _footnote, {"alt": ["paragraph"]})
    parser.inline.ruler.before("escape", "formula", _inline_formula)
    parser.core.ruler.before("inline", "definitions", _definitions)


def _inline_formula(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the parser's form
    if state.src[state.pos] != "$":
        return False
    found = _INLINE.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        token = state.push("text", "", 0)
        token.content = found[0]
    state.pos = found.end()
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _formula(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    if state.is_code_block(start):
        return False
    first = _line(state, start)
    environment = _ENVIRONMENT.match(first)
    if first.startswith("$$"):
        close = "$$"
    elif environment:
        close = f"\\end{{{environment[1]}}}"
    else:
        return False
    last = start if close in first[2:] else _closing(state, start + 1, end, close)
    if last is None:
        return False
    if silent:
        return True
    lines = "\n".join(_line(state, number) for number in range(start, last + 1))
    token = state.push("html_block", "", 0)
    text = lines.strip().removeprefix("$$").removesuffix("$$").strip()
    token.content = f'<p class="formula">{escape(text)}</p>\n'
    token.map = [start, last + 1]
    state.line = last + 1
    return True


def _closing(state: StateBlock, start: int, end: int, close: str) -> int | None:
    """Return the line that closes a formula; a blank line ends the search."""
    for number in range(start, end):
        line = _line(state, number)
        if line.rstrip().endswith(close):
            return number
        if not line.strip() and close != "$$":
            return None
        if number - start > _MOST_LINES:
            return None
    return None


def _footnote(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    if state.is_code_block(start):
        return False
    found = _FOOTNOTE.match(_line(state, start))
    if found is None:
        return False
    if silent:
        return True
    lines = [f"[^{found[1]}]: {_line(state, start)[found.end() :]}"]
    number = start + 1
    while number < end:
        if state.isEmpty(number):
            following = number + 1
            goes_on = following < end and state.sCount[following] >= _INDENT
            if not goes_on or state.isEmpty(following):
                break
        elif _FOOTNOTE.match(_line(state, number)):
            break
        lines.append(_line(state, number))
        number += 1
    opening = state.push("paragraph_open", "p", 1)
    opening.attrs = {"class": "footnote"}
    opening.map = [start, number]
    inline = state.push("inline", "", 0)
    inline.content = "\n".join(lines)
    inline.map = [start, number]
    inline.children = []
    state.push("paragraph_close", "p", -1)
    state.line = number
    return True


def _definitions(state: StateCore) -> None:
    """Make a definition list of each paragraph of a term and lines that begin with a colon."""
    tokens: list[Token] = []
    source = state.tokens
    position = 0
    while position < len(source):
        token = source[position]
        inline = source[position + 1] if position + 2 < len(source) else None
        plain = token.type == "paragraph_open" and not token.attrs and not token.hidden
        if plain and inline is not None and _DEFINITION.search(inline.content):
            tokens += _definition_list(token, inline)
            position += 3
        else:
            tokens.append(token)
            position += 1
    state.tokens = tokens


def _definition_list(opening: Token, inline: Token) -> list[Token]:
    level = opening.level
    terms, *definitions = _DEFINITION.split(inline.content)
    parts = [("dt", term) for term in terms.split("\n")] + [("dd", text) for text in definitions]
    tokens = [Token("dl_open", "dl", 1, level=level, block=True)]
    for tag, text in parts:
        tokens += (
            Token(f"{tag}_open", tag, 1, level=level + 1, block=True),
            Token("inline", "", 0, level=level + 2, content=text, children=[], block=True),
            Token(f"{tag}_close", tag, -1, level=level + 1, block=True),
        )
    return [*tokens, Token("dl_close", "dl", -1, level=level, block=True)]
