"""Which text format a text is in, told by what its author wrote.

Markup that only one format has decides; where a text carries none, it is plain text, and
nothing is lost by reading it so.
"""

from __future__ import annotations

import codecs
import re

from jobs.parsing import markup, tabular

__all__ = ["decode", "text_format"]

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE_BYTES = 1 << 14
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MAX_CONTROL_SHARE = 0.02
_MAX_NUL_SHARE = 0.5
_MIN_UTF16_NUL_SHARE = 0.7

_VTT = re.compile(r"WEBVTT(?:[ \t].*)?(?:\r?\n|$)")
_DOCLING_JSON = re.compile(r'"schema_name"\s*:\s*"DoclingDocument"')
_TEX = re.compile(
    r"^[ \t]*\\(?:documentclass|documentstyle|begin\{document\}|section\*?\{|chapter\*?\{)",
    re.MULTILINE,
)
_HEADER_LINE = re.compile(r"([!-9;-~]+):(?:[ \t].*|$)")
_MAIL_ENVELOPE = frozenset(
    {"from", "received", "return-path", "mime-version", "message-id", "delivered-to", "to"}
)
_MAIL_HEADERS = _MAIL_ENVELOPE | {
    "subject",
    "date",
    "cc",
    "bcc",
    "reply-to",
    "sender",
    "content-type",
    "content-transfer-encoding",
    "x-mailer",
    "in-reply-to",
    "references",
    "x-mozilla-status",
    "x-unsent",
}
_MIN_MAIL_HEADERS = 2


def decode(data: bytes) -> str | None:
    """Return the text of the start of a file, or None where it is not text.

    Only ASCII characters and line ends are relied on later, so an unknown 8-bit encoding
    is read as cp1252.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data.decode(encoding, errors="ignore")
    sample = data[:_SAMPLE_BYTES]
    unmarked = _utf16_without_bom(sample)
    if unmarked is not None:
        return data.decode(unmarked, errors="ignore")
    size = max(len(sample), 1)
    if len(_CONTROL.findall(sample)) / size > _MAX_CONTROL_SHARE:
        return None
    if sample.count(0) / size > _MAX_NUL_SHARE:
        return None
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def text_format(text: str, *, whole: bool) -> str:
    """Return the format of a text; ``whole`` tells that nothing was cut off its end."""
    start = text.lstrip("\ufeff \t\r\n\f\v\0")
    for file_format, matches in (
        ("rtf", start.startswith("{\\rtf")),
        ("vtt", bool(_VTT.match(text.lstrip("\ufeff")))),
        ("json_docling", start.startswith("{") and bool(_DOCLING_JSON.search(start))),
        ("eml", _is_mail(text)),
    ):
        if matches:
            return file_format
    tagged = markup.tagged_format(start)
    if tagged is not None:
        return tagged
    if _TEX.search(text) and "\\" in start[:2000]:
        return "tex"
    marked = markup.scores(text).best()
    if marked is None and tabular.is_table(text, whole=whole):
        return "csv"
    return marked or "txt"


def _utf16_without_bom(sample: bytes) -> str | None:
    pairs = len(sample) // 2
    if not pairs:
        return None
    if sample[1::2].count(0) / pairs > _MIN_UTF16_NUL_SHARE and not sample[::2].count(0):
        return "utf-16-le"
    if sample[::2].count(0) / pairs > _MIN_UTF16_NUL_SHARE and not sample[1::2].count(0):
        return "utf-16-be"
    return None


def _is_mail(text: str) -> bool:
    """Tell whether a text starts with mail headers, one of which only a mail has."""
    found: set[str] = set()
    lines = text.lstrip("\ufeff\r\n").splitlines()
    if lines and lines[0].startswith("From "):
        lines = lines[1:]
    for line in lines:
        if line[:1] in (" ", "\t") and found:
            continue
        match = _HEADER_LINE.fullmatch(line)
        if match is None:
            break
        found.add(match[1].lower())
    known = found & _MAIL_HEADERS
    return len(known) >= _MIN_MAIL_HEADERS and bool(known & _MAIL_ENVELOPE)
