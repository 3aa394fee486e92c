from __future__ import annotations

from html.parser import HTMLParser

from tests.inspected import chunked, hostile, prose


class Tags(HTMLParser):
    """Gathers the elements and attributes of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_what_a_document_says_is_escaped() -> None:
    """Only the elements of the table itself come out of a hostile document."""
    chunks = chunked(hostile(), key="<script>alert(1)</script>.md", max_tokens=60)
    for shown in (chunks._repr_html_(), chunks.document._repr_html_()):
        found = Tags(shown)
        assert found.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
        assert found.attributes <= {"dir", "style", "scope"}


def test_nothing_of_it_reaches_a_terminal_as_a_control() -> None:
    """Text forms hold printable characters and line ends only."""
    chunks = chunked(hostile(), key="bell\x07\x1b[2J.md", max_tokens=60)
    for shown in (repr(chunks), repr(chunks.document)):
        assert shown.replace("\n", "").isprintable()


def test_many_chunks_are_cut_with_a_word() -> None:
    """A long table ends after a hundred rows and says how many are left."""
    chunks = chunked(prose(120, 6), max_tokens=60)
    assert len(chunks) > 200
    assert chunks._repr_html_().count("<tr>") == 101
    assert f"{len(chunks) - 100:,} more" in chunks._repr_html_()
    assert f"{len(chunks) - 100:,} more" in repr(chunks)
