"""The page as text: what it holds, what it allows, how large it gets."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from jobs.inspection.page import FULL_ELEMENTS, GROUP, PLAIN_CHUNKS, render_page
from jobs.notebook import Chunks
from jobs.visible import visible
from tests.chunking.strategies import DocumentBuilder
from tests.inspected import chunked, hostile, prose, tables


class Reader(HTMLParser):
    """Counts elements and gathers attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag and its attributes."""
        self.tags[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data: str) -> None:
        """Note the text."""
        self.words.append(data)

    @property
    def text(self) -> str:
        """All text of the page."""
        return "".join(self.words)


def test_the_policy_allows_the_pages_own_style_and_script_only() -> None:
    """The hashes are those of what stands in the page; nothing else may load or run."""
    page = render_page(chunked(prose()))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    allowed = re.findall(r"&#39;sha256-([^&]*)&#39;", policy)
    blocks = [re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL) for tag in ("style", "script")]
    assert [len(found) for found in blocks] == [1, 1]
    assert allowed == [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for (text,) in blocks
    ]
    assert policy.startswith("default-src &#39;none&#39;; ")
    assert "unsafe" not in policy


@pytest.mark.parametrize("make", [prose, tables, hostile])
def test_nothing_in_it_names_another_place(make: object) -> None:
    """Links lead into the page; no element loads, submits or reacts by an attribute."""
    assert callable(make)
    reader = Reader(render_page(chunked(make(), key='"><b>&.md', max_tokens=90)))
    assert (
        reader.tags.keys() & {"img", "iframe", "object", "embed", "form", "base", "audio"} == set()
    )
    assert reader.tags["script"] == reader.tags["style"] == 1
    links = [value for _, name, value in reader.attributes if name in ("href", "src", "action")]
    assert [link for link in links if not (link or "").startswith("#")] == []
    assert [name for _, name, _ in reader.attributes if name.startswith("on")] == []
    assert [name for _, name, _ in reader.attributes if name in ("style", "srcdoc")] == []


def test_ids_are_unique_and_links_have_targets() -> None:
    """Every link, label and description leads to the one element of that id."""
    reader = Reader(render_page(chunked(tables(), max_tokens=60)))
    ids = [value for _, name, value in reader.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for _, name, value in reader.attributes:
        assert value is not None or name in ("hidden", "checked")
        if name == "href":
            assert (value or "")[1:] in ids
        elif name in ("aria-labelledby", "aria-describedby"):
            assert set((value or "").split()) <= set(ids)


def _long(n_sections: int, n_sentences: int) -> Chunks:
    return chunked(prose(n_sections, n_sentences), max_tokens=40, min_tokens=0, vectors="none",
                   boundaries="recursive")  # fmt: skip


def test_a_long_document_stays_light_and_whole() -> None:
    """Elements have a bound that the number of chunks does not move, and no text is lost."""
    sizes = []
    for n_sections in (700, 1400):
        chunks = _long(n_sections, 20)
        assert len(chunks) > PLAIN_CHUNKS + FULL_ELEMENTS // 20
        reader = Reader(render_page(chunks))
        assert reader.tags["article"] < len(chunks)
        sizes.append(reader.tags.total())
        text = reader.text
        at = 0
        for view in chunks:
            for line in visible(view.text).split("\n"):
                at = text.index(line, at) + len(line)
    assert max(sizes) < FULL_ELEMENTS + 10 * PLAIN_CHUNKS + 10_000
    assert sizes[1] - sizes[0] < 5 * (700 * 20 * 2) / GROUP + 500


def test_a_huge_table_is_bounded_too() -> None:
    """Cells count as elements: a table of many rows is drawn as text after some thousand."""
    builder = DocumentBuilder()
    builder.table(
        ["| a | b | c |\n| --- | --- | --- |", *(f"| {i} | x | y |" for i in range(30_000))]
    )
    reader = Reader(render_page(chunked(builder.build(), vectors="none", boundaries="fixed")))
    assert reader.tags["td"] < FULL_ELEMENTS
    assert reader.tags.total() < FULL_ELEMENTS + 10 * PLAIN_CHUNKS + 10_000
    assert "| 29999 | x | y |" in reader.text


def test_one_long_line() -> None:
    """A line of a megabyte is drawn, in chunks below the cap."""
    builder = DocumentBuilder()
    builder.add("paragraph", "abc" * 350_000)
    chunks = chunked(builder.build(), vectors="none", boundaries="fixed", max_tokens=400)
    text = Reader(render_page(chunks)).text
    assert text.count("abcabc") >= 350_000 // 2 - len(chunks)


def test_a_document_without_text() -> None:
    """Has a page that says so."""
    page = render_page(chunked(DocumentBuilder().build()))
    assert "no text, so there are no chunks" in page


@pytest.mark.parametrize(
    "chunking",
    [
        {"boundaries": "fixed", "vectors": "none"},
        {"threshold_type": "gradient"},
        {"boundaries": "optimal", "vectors": "blend"},
        {"boundaries": "structural"},
        {"max_tokens": 5000, "target_tokens": 5000},
    ],
)
def test_every_strategy_has_a_page(chunking: dict[str, object]) -> None:
    """With or without distances, threshold, or more than one chunk."""
    chunks = chunked(tables(), **chunking)
    reader = Reader(render_page(chunks))
    assert reader.tags["article"] == len(chunks)
    for view in chunks:
        assert view.reason in reader.text
