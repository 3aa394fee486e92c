from __future__ import annotations

from pathlib import Path

import pytest

from jobs.parsing.formats.asciidoc import plain_macros
from tests.jobs.parsing.made import read_text, texts


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("see link:http://x.y[the page,window=_blank].", "see the page."),
        ("xref:other.adoc#part[Part two] or <<part,that part>>", "Part two or that part"),
        ("<<part>>", "part"),
        ("https://x.y/z[Site^] https://x.y/plain", "Site https://x.y/plain"),
        ("xref:other.adoc[]", "other.adoc"),
        ("Words footnote:[A note.] on", "Words (A note.) on"),
        ("press kbd:[Ctrl] on btn:[OK], stem:[x^2]", "press Ctrl on OK, x^2"),
        ("arr[0] and std::vector", "arr[0] and std::vector"),
    ],
)  # fmt: skip
def test_macros_are_their_texts(line: str, text: str) -> None:
    """A macro is its text, or its target where it has none; other brackets stay."""
    assert plain_macros(line) == text


def test_a_document_with_macros_and_code(tmp_path: Path) -> None:
    """Attributes are resolved, code is not touched, terms and quotations are kept."""
    text = (
        "= Doc\n:boat: ferry\n\nThe {boat} and {unset}.\n\nimage::x.png[North quay]\n\n----\n"
        "link:x[y] {boat}\nifdef::a[]\n----\n\nifdef::a[]\nCond.\nendif::[]\n\nQuay:: Of stone.\n\n"
        "[quote, A. Pilot]\n____\nSail on.\n____\n"
    )
    assert texts(read_text(tmp_path, text, "adoc").document) == [
        "Doc", "The ferry and {unset}.", "North quay", "```\nlink:x[y] {boat}\nifdef::a[]\n```",
        "Cond.", "- Quay", "  - Of stone.", "\N{EM DASH} A. Pilot", "Sail on.",
    ]  # fmt: skip
