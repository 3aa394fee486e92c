"""AsciiDoc as docling reads it best: macros become their texts, directives go.

docling leaves macros as they are written and knows neither definition lists nor attributes.
Rules: a link, cross reference or button is its text, or its target where it has none; a
footnote stands in parentheses where it is; an attribute that the document sets stands
where it is named; of conditional text both ways are kept; nothing is included.
"""

from __future__ import annotations

import re

__all__ = ["plain_macros"]

_ATTRIBUTE = re.compile(r":([\w-]+):(?:[ \t]+(.*))?")
_REFERENCE = re.compile(r"(?<![\\$])\{([\w-]{1,60})\}")
_DIRECTIVE = re.compile(r"(?:ifdef|ifndef|ifeval|endif)::[^\[\s]*\[(.*)\]\s*")
_FENCE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|`{3,}|/{4,})(?:\w*)\s*")
_CONTENT = r"\[((?:[^\]\\]|\\.){0,2000})\]"
_FOOTNOTE = re.compile(r"[ \t]?footnote(?:ref)?:[\w-]{0,60}" + _CONTENT)
_SHOWN = re.compile(
    r"(?:kbd|btn|menu|pass|stem|latexmath|asciimath|indexterm2?):[^\s\[]{0,200}" + _CONTENT
)
_LINK = re.compile(r"(?<![\w/])(?:link:|xref:|mailto:)([^\s\[]{1,2000})" + _CONTENT)
_URL = re.compile(r"(?<![\w/:])((?:https?|ftp|irc)://[^\s\[\]<>]{1,2000})" + _CONTENT)
_INNER = re.compile(r"<<#?([^,>\n]{1,500})(?:,([^>\n]{0,1000}))?>>")
_IMAGE = re.compile(r"image::?([^\s\[:][^\[\n]{0,2000})" + _CONTENT)
_TERM = re.compile(r"(?P<term>[^\s:][^\n]{0,500}?)(?P<marks>:{2,4}|;;)(?:[ \t]+(?P<text>.*))?")
_QUOTE = re.compile(r"\[(?:quote|verse)(?:#[\w-]*)?,[ \t]*([^\]]{1,1000})\]\s*")
_OPTION = re.compile(r"[\w-]+=")


def plain_macros(text: str) -> str:
    """Return the text with macros, attributes and directives resolved outside of code."""
    attributes: dict[str, str] = {}
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.fullmatch(line)
        if fence:
            fence = "" if line.rstrip() == fence else fence
            lines.append(line)
            continue
        if found:
            fence = found[1]
            lines.append(line)
            continue
        lines += _plain(line, attributes)
    return "\n".join(lines)


def _plain(line: str, attributes: dict[str, str]) -> list[str]:
    directive = _DIRECTIVE.fullmatch(line)
    if directive:
        return [directive[1]] if directive[1] and not line.startswith("ifeval") else []
    attribute = _ATTRIBUTE.fullmatch(line)
    if attribute:
        attributes[attribute[1]] = (attribute[2] or "").strip()
        return [line]
    if line.startswith(("//", " ")):
        return [line]
    quote = _QUOTE.fullmatch(line)
    if quote:
        return ["", f"\N{EM DASH} {quote[1]}", "", "[quote]"]
    shown = _resolved(line, attributes)
    if line.startswith("image::"):
        return ["", shown, ""]
    term = _TERM.fullmatch(shown)
    if term and "::" not in term["term"]:
        depth = "*" * max(len(term["marks"]) - 1, 1)
        rest = [f"{depth}* {term['text']}"] if term["text"] else []
        return [f"{depth} {term['term']}", *rest]
    return [shown]


def _resolved(line: str, attributes: dict[str, str]) -> str:
    if "{" in line:
        line = _REFERENCE.sub(lambda m: attributes.get(m[1], m[0]), line)
    if "[" in line:
        line = _IMAGE.sub(lambda m: _first(m[2]), line)
        line = _FOOTNOTE.sub(lambda m: f" ({m[1]})" if m[1] else "", line)
        line = _SHOWN.sub(r"\1", line)
        line = _LINK.sub(lambda m: _first(m[2]) or m[1], line)
        line = _URL.sub(lambda m: _first(m[2]) or m[1], line)
    if "<<" in line:
        line = _INNER.sub(lambda m: (m[2] or m[1]).strip(), line)
    return line


def _first(content: str) -> str:
    """Return the text of a macro's brackets, without the options behind it."""
    if content.startswith('"'):
        return content[1:].partition('"')[0]
    parts = content.split(",")
    kept = [part for part in parts if not _OPTION.match(part.strip())]
    text = content if len(kept) == len(parts) else next(iter(kept), "")
    return text.removesuffix("^").strip()
