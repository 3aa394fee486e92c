from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.parsing.text import clean, decode, decode_warnings, split_paragraphs

DANISH = "Rødgrød med fløde – 30 € til „Ærø“"
RUSSIAN = "Паром отходит в полдень от северного причала и возвращается вечером. " * 3
JAPANESE = "フェリーは正午に北埠頭を出発します。夕方には戻ります。" * 6


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
)
def test_western_text_decodes(encoding: str) -> None:
    """With or without a mark, Unicode encodings and Windows-1252 are told apart."""
    text = f"{DANISH}, and some more plain text."
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (JAPANESE, "shift_jis"), (JAPANESE, "euc_jp")],
)
def test_dense_legacy_encodings_are_detected(text: str, encoding: str) -> None:
    """Text in another script is not read as Windows-1252."""
    assert decode(text.encode(encoding)) == text


def test_declared_encoding_is_used_unless_wrong() -> None:
    """A declaration counts where UTF-8 fails; one that the bytes contradict does not."""
    assert (
        decode("za\u017c\u00f3\u0142\u0107".encode("cp1250"), "windows-1250")
        == "za\u017c\u00f3\u0142\u0107"
    )
    assert decode(DANISH.encode("cp1252"), "utf-8") == DANISH
    assert decode(DANISH.encode(), "iso-8859-1") == DANISH
    assert decode(b"plain", "no-such-encoding") == "plain"


def test_a_false_mark_of_utf16_is_not_believed() -> None:
    """Bytes that begin like UTF-16 but are plain ASCII are read as what they are."""
    assert "First line is plain" in decode(b"\xff\xfeFirst line is plain\nSecond line too\n")


def test_line_ends_become_one_kind() -> None:
    """CRLF and CR are line ends; separators of other kinds stay characters."""
    assert decode(b"a\r\nb\rc\nd\xe2\x80\xa8e\x0bf\x0cg") == "a\nb\nc\nd\u2028e\x0bf\x0cg"


def test_damage_is_counted() -> None:
    """A little damage in UTF-8 becomes replacement characters, and is said."""
    text = decode("æøå æøå æøå ".encode() + b"\xff" + "æøå".encode())
    assert text.count("\ufffd") == 1
    assert decode_warnings(text) == ("1 characters could not be decoded and became U+FFFD",)
    assert decode_warnings("whole") == ()


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_decode(data: bytes) -> None:
    """No bytes raise, and the result is valid Unicode without carriage returns."""
    text = clean(decode(data))
    text.encode("utf-8")
    assert "\r" not in text


@settings(deadline=None)
@given(st.text(max_size=200))
def test_paragraphs_lose_nothing_but_blanks(text: str) -> None:
    """All characters that are not blank are in the paragraphs, in order."""
    parts = split_paragraphs(text)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(part == part.strip() and part for part in parts)


def test_mixed_encodings_keep_their_plain_lines() -> None:
    """ASCII lines survive when other lines of the file are in three encodings."""
    data = b"First line: " + "blåbær\n".encode() + b"Second: bl\xe5b\xe6r\n"
    assert decode(data + "Third: blåbær\n".encode("utf-16-le")).startswith("First line: bl")
