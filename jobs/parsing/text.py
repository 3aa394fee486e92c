r"""Bytes to text and text to clean text: the only place where characters are changed.

Stated rules: line ends become ``\n``; a leading BOM is dropped; NUL and lone
surrogates become U+FFFD; all else is kept to the character.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping

import charset_normalizer

__all__ = [
    "REPLACEMENT",
    "clean",
    "clean_metadata",
    "decode",
    "decode_warnings",
    "split_paragraphs",
]

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")
_ASCII = bytes(range(0x20, 0x7F)) + b"\t\n\r"
_SAMPLE_BYTES = 1 << 16
_TOLD_ALREADY = [
    *("utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be", "utf_7"),
]
"""Encodings that are not left to be guessed."""
_WESTERN_RUN = 3
"""Longest run of non-ASCII bytes that is ordinary in Western one-byte text."""


def clean(text: str) -> str:
    """Return the text with NUL and lone surrogates replaced by U+FFFD."""
    return _UNUSABLE.sub(REPLACEMENT, text)


def split_paragraphs(text: str) -> list[str]:
    """Return the pieces between blank lines, outer blanks trimmed, none blank."""
    return [piece for part in _BLANK_LINES.split(text) if (piece := part.strip())]


def decode(data: bytes, declared: str | None = None) -> str:
    r"""Return the text of bytes in an unknown encoding, with ``\n`` line ends.

    In this order: a byte-order mark; UTF-16 that shows by its NULs; UTF-8; UTF-8
    with a little damage (U+FFFD); the declared encoding; Windows-1252 where bytes
    above ASCII stand as sparsely as in Western text; what charset-normalizer finds.
    """
    text = _decode(data, declared)
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def decode_warnings(text: str) -> tuple[str, ...]:
    """Return a warning if the decoded text holds replacement characters."""
    count = text.count(REPLACEMENT)
    return (f"{count} characters could not be decoded and became U+FFFD",) if count else ()


def _decode(data: bytes, declared: str | None) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark) and not _contradicts(data, encoding):
            return data[len(mark) :].decode(encoding, errors="replace")
    wide = _utf16_without_mark(data)
    if wide:
        return data.decode(wide, errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    lenient = data.decode("utf-8", errors="replace")
    if len(_MULTIBYTE.findall(data)) > 2 * lenient.count(REPLACEMENT):
        return lenient
    return _decode_legacy(data, declared)


def _contradicts(data: bytes, encoding: str) -> bool:
    """Return whether bytes marked as UTF-16 are ASCII nearly all: half of it would be NUL."""
    sample = data[:_SAMPLE_BYTES]
    return encoding.startswith("utf-16") and len(sample.translate(None, _ASCII)) < len(sample) / 5


def _utf16_without_mark(data: bytes) -> str | None:
    """Return the byte order of UTF-16 that shows by NULs in both halves of the text."""
    sample = data[: _SAMPLE_BYTES & ~3]
    middle = len(sample) // 4 * 2
    halves = [half for half in (sample[:middle], sample[middle:]) if half]
    if not halves or b"\0" not in sample:
        return None
    if all(_nul_share(half, 1) > 0.4 and _nul_share(half, 0) < 0.05 for half in halves):  # noqa: PLR2004
        return "utf-16-le"
    if all(_nul_share(half, 0) > 0.4 and _nul_share(half, 1) < 0.05 for half in halves):  # noqa: PLR2004
        return "utf-16-be"
    return None


def _nul_share(sample: bytes, parity: int) -> float:
    return sample[parity::2].count(0) / (len(sample) / 2)


def _decode_legacy(data: bytes, declared: str | None) -> str:
    name = _codec(declared)
    if name not in (None, "utf-8", "ascii"):
        try:
            return data.decode(name or "")
        except UnicodeDecodeError:
            pass
    sample = data[:_SAMPLE_BYTES]
    runs = [len(run) for run in _HIGH_RUN.findall(sample)]
    dense = sum(run for run in runs if run > _WESTERN_RUN)
    if dense > 0.2 * sum(runs):
        best = charset_normalizer.from_bytes(sample, cp_exclusion=_TOLD_ALREADY).best()
        if best is not None:
            return data.decode(best.encoding, errors="replace")
    return data.decode("cp1252", errors="replace")


def _codec(name: str | None) -> str | None:
    """Return Python's name of a declared text encoding; Latin-1 means Windows-1252 (WHATWG)."""
    if not name:
        return None
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    if not getattr(info, "_is_text_encoding", True):
        return None
    return "cp1252" if info.name in ("iso8859-1", "ascii") else info.name


def clean_metadata(values: Mapping[str, object]) -> dict[str, str]:
    """Return metadata as a document holds it: trimmed texts by sorted keys, none blank."""
    cleaned = {clean(str(key)).strip(): clean(str(value)).strip() for key, value in values.items()}
    return {key: value for key, value in sorted(cleaned.items()) if key and value}
