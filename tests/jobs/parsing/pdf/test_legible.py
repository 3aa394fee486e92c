"""Text layers that mean what they show, and those that do not."""

from __future__ import annotations

import pytest

from jobs.parsing.pdf.legible import MAX_ILLEGIBLE, illegible_share

ENGLISH = (
    "The ferry leaves the quay at nine and comes back at one. Tickets are sold on board, and "
    "children below the age of six travel free of charge when they are with a grown person. "
    "Bicycles may be taken where there is room for them; dogs must be kept on a short lead. "
    "In heavy weather the captain decides whether the ship will sail."
)
GERMAN = (
    "Die Fähre verlässt den Kai um neun Uhr und kehrt um eins zurück. Fahrkarten werden an "
    "Bord verkauft, und Kinder unter sechs Jahren fahren in Begleitung eines Erwachsenen "
    "kostenlos mit. Fahrräder dürfen mitgenommen werden, solange Platz vorhanden ist."
)
POLISH = (
    "Prom odpływa z nabrzeża o dziewiątej i wraca o pierwszej. Bilety sprzedaje się na "
    "pokładzie, a dzieci poniżej szóstego roku życia podróżują bezpłatnie pod opieką osoby "
    "dorosłej. Rowery można zabrać, jeżeli starczy dla nich miejsca na pokładzie."
)
WELSH = (
    "Mae'r fferi yn gadael y cei am naw ac yn dod yn ôl am un. Gwerthir tocynnau ar y llong, "
    "a chaiff plant dan chwech oed deithio am ddim pan fyddant gydag oedolyn. Gellir mynd â "
    "beiciau lle bo lle iddynt, a rhaid cadw cŵn ar dennyn byr bob amser ar y llong hon."
)
RUSSIAN = "Паром отходит от причала в девять и возвращается в час дня. " * 5
CODE = "for (int i = 0; i < n; ++i) { buf[i] = tmp[i] ^ key[i % len]; } /* xor */\n" * 6
HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n" * 6
TABLE = "GDP CPI PPI 2019 12.5 13.1 Q1 Q2 Q3 Q4 NZD SGD THB CHF kg mm km/h\n" * 8
DNA = "ACGTTGCAACGGTATCCGATGCAT " * 20


def shifted(text: str, by: int) -> str:
    """Return the text with each letter moved along the alphabet."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    moved = letters[by:] + letters[:by]
    return text.translate(str.maketrans(letters + letters.upper(), moved + moved.upper()))


@pytest.mark.parametrize(
    "text", ["", "Short.", ENGLISH, GERMAN, POLISH, WELSH, RUSSIAN, CODE, HEX, TABLE, DNA]
)
def test_sound_text_is_legible(text: str) -> None:
    """Whatever the language, and where there is none."""
    assert illegible_share(text) <= MAX_ILLEGIBLE


@pytest.mark.parametrize("by", range(1, 26))
def test_a_shifted_alphabet_is_not(by: int) -> None:
    """Each letter is another, by any number of places."""
    assert illegible_share(shifted(ENGLISH, by)) == 1.0


def test_glyph_numbers_taken_for_codes_are_not() -> None:
    """As many producers number the glyphs of a subset: from the space on, by 29."""
    text = "".join(chr(ord(c) - 29) if "!" < c < "\x7f" else c for c in ENGLISH)
    assert illegible_share(text) > MAX_ILLEGIBLE


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"(cid:{ord(c)})" for c in ENGLISH),
        "".join(f"/g{ord(c)}" for c in ENGLISH),
        "".join(f"GLYPH<c={ord(c)},font=/AB+C>" for c in ENGLISH),
        "".join(chr(0xE000 + ord(c)) for c in ENGLISH),
        "".join(chr(0xF000 + ord(c)) for c in ENGLISH),
        "".join(chr(ord(c) % 32 or 1) for c in ENGLISH),
        "\ufffd" * 50,
        GERMAN.replace("e", "ä").encode().decode("cp1252"),
        GERMAN.replace("e", "é").encode().decode("latin-1"),
    ],
    ids=[
        "cid",
        "glyph",
        "GLYPH",
        "private",
        "symbol",
        "control",
        "replacement",
        "cp1252",
        "latin-1",
    ],
)
def test_what_has_no_meaning_is_not(text: str) -> None:
    """Glyph names, characters without a meaning, UTF-8 taken for another encoding."""
    assert illegible_share(text) > MAX_ILLEGIBLE


@pytest.mark.parametrize(
    "text",
    [
        f"{ENGLISH} {ENGLISH} (cid:3)",
        f"{GERMAN} Ã¤",
        f"{ENGLISH} \ue000",
        f"{ENGLISH} /g12",
        "\uf0a7 A point.\n\uf0a7 Another point.\n\uf0b7 A last.",
    ],
)
def test_a_stray_sign_is_nothing(text: str) -> None:
    """The rest is worth more than OCR of the page."""
    assert illegible_share(text) <= MAX_ILLEGIBLE
