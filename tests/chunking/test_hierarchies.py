"""``fixed``, ``recursive`` and ``structural``: sizes, separator hierarchies, sections."""

from __future__ import annotations

import re

import pytest

from chunking.chunker import choose_strategy
from chunking.model import Document
from chunking.separators import find_separators
from chunking.settings import ChunkingSettings
from tests.chunking.laws import violations
from tests.chunking.making import HEADER, ROWS, built, chunked, texts
from tests.chunking.strategies import ADDITIVE, DocumentBuilder

RAIN = "It rained all day. "


def checked(document: Document, chosen: ChunkingSettings) -> list[str]:
    """Return the texts of a document's chunks, which keep every law."""
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    return texts(document, chunks)


def plain(text: str) -> Document:
    """Return a document whose blocks are the paragraphs of a raw text."""
    return built(*[("paragraph", part) for part in re.split(r"\n{2,}", text.strip())])


@pytest.mark.parametrize("target", [150, 300, 600])
def test_fixed_sizes_in_characters(target: int) -> None:
    """Chunks are filled up to the target in characters, never beyond it, and none is small."""
    document = built(("paragraph", " ".join(f"Ship {i} left the quay." for i in range(300))))
    chosen = ChunkingSettings(boundaries="fixed", target_chars=target, min_tokens=5)
    sizes = [len(text) for text in checked(document, chosen)]
    assert len(sizes) > 5
    assert max(sizes) <= target
    assert min(sizes[:-1]) > target - 30


def test_the_cap_in_tokens_holds_under_a_target_in_characters() -> None:
    """A target that the cap does not allow is cut by the cap; the minimum holds, too."""
    document = built(("paragraph", RAIN * 200))
    high = checked(document, ChunkingSettings(boundaries="fixed", target_chars=100_000))
    assert {ADDITIVE.count([text])[0] for text in high[:-2]} == {197}
    low = checked(document, ChunkingSettings(boundaries="fixed", target_chars=1))
    assert min(ADDITIVE.count(low)) >= 40


def test_a_target_in_characters_holds_with_overlap() -> None:
    """What is repeated counts as characters of the chunk."""
    document = built(("paragraph", " ".join(f"Ship {i} left the quay." for i in range(200))))
    chosen = ChunkingSettings(
        boundaries="fixed", target_chars=300, min_tokens=5, overlap=2, overlap_unit="sentences"
    )
    found = checked(document, chosen)
    assert max(map(len, found)) <= 300
    assert all(len(text) > 250 for text in found[:-1])


def test_recursive_keeps_what_fits() -> None:
    """A paragraph under the cap is whole although the target is smaller; a larger one is cut."""
    fits = " ".join(f"Ship {i} left the quay." for i in range(24))
    large = " ".join(f"Boat {i} left the quay." for i in range(80))
    document = built(*[("paragraph", fits)] * 4, ("paragraph", large), ("paragraph", fits))
    found = checked(document, ChunkingSettings(boundaries="recursive"))
    assert sum(fits in text for text in found) == 5
    assert all(text.endswith("quay.") for text in found)


def test_recursive_prefers_line_ends_to_sentence_ends() -> None:
    """In a large paragraph of lines, a chunk ends with a line."""
    lines = "\n".join("The tide came in. The boats went out. The quay was wet." for _ in range(60))
    found = checked(built(("paragraph", lines)), ChunkingSettings(boundaries="recursive"))
    assert len(found) > 4
    assert all(text.endswith("wet.") and text.startswith("The tide") for text in found)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("alpha beta gamma; delta, " * 200, (";", ",")),
        ("alpha beta gamma delta " * 200, ("alpha", "beta", "gamma", "delta")),
        ("x" * 5000, ("x",)),
    ],
)
def test_what_has_no_sentences_is_cut_at_clauses_then_words(
    text: str, end: tuple[str, ...]
) -> None:
    """The next separator of the hierarchy is taken where the one before does not occur."""
    found = checked(built(("paragraph", text.strip())), ChunkingSettings(boundaries="recursive"))
    assert len(found) > 2
    assert all(part.endswith(end) for part in found[:-1])


MARKDOWN = "\n\n".join(
    f"# Part {i}\n\n{RAIN * 4}\n\n## Of ship {i}\n- left {i}\n- came {i}\n\n"
    f"```py\n# about f{i}\ndef f{i}(x):\n\n    return x\n```\n\n| a | b |\n|---|---|\n| {i} | 2 |"
    for i in range(20)
)


def test_raw_markdown_is_cut_at_its_sections() -> None:
    """Named, the hierarchy reads headings, fences, lists and tables of plain text."""
    document = plain(MARKDOWN)
    chosen = ChunkingSettings(boundaries="recursive", separators="markdown", min_tokens=60)
    found = checked(document, chosen)
    assert len(found) > 10
    assert sum(text.startswith(("# Part", "## Of")) for text in found) > 0.9 * len(found)
    for text in found:
        assert not re.search(r"^#{1,6} .*\Z", text.rsplit("\n", 1)[-1])
        assert text.count("```") % 2 == 0
        assert not text.endswith(("| a | b |", "|---|---|"))


def test_a_comment_in_raw_code_is_no_section() -> None:
    """Inside a fence, lines of code have the places of code, in Markdown as by name."""
    code = "\n\n".join(f"# about f{i}\ndef f{i}(x):\n\n    return x * {i}" for i in range(60))
    fenced = plain(f"Words.\n\n```py\n{code}\n```\n\nMore words.")
    for document, name in ((fenced, "markdown"), (plain(code), "code")):
        chosen = ChunkingSettings(boundaries="recursive", separators=name)
        found = checked(document, chosen)
        assert len(found) > 5
        assert all(text.startswith("# about f") for text in found[1:])


HTML = "\n".join(
    f"<section><h2>Part {i}</h2>\n<p>{RAIN * 4}</p>\n<ul><li>a. {i}</li>"
    f"<li class='x. Y'>b</li></ul>"
    f"<!-- no. Sentence. -->\n<p>{RAIN * 3}</p></section>"
    for i in range(20)
)  # fmt: skip


def test_raw_html_is_cut_at_its_sections_and_never_in_a_tag() -> None:
    """Named, the hierarchy reads sections, headings and blocks; a tag is never parted."""
    chosen = ChunkingSettings(boundaries="recursive", separators="html", min_tokens=80)
    found = checked(plain(HTML), chosen)
    assert len(found) > 8
    assert sum(text.startswith("<section>") for text in found) > 0.9 * len(found)
    for text in found:
        assert text.count("<") == text.count(">")
        assert not text.endswith("</h2>")


@pytest.mark.parametrize("name", ["markdown", "html", "code"])
@pytest.mark.parametrize("unit", ["<", "<!--", "<p", "`" * 3 + "\n", "# \n", "|\n", "- ", "\n"])
def test_separators_are_found_in_one_pass(name: str, unit: str) -> None:
    """Marks lie inside the text, closed spans are disjoint, whatever is repeated in it."""
    text = unit * 20_000
    marks, closed = find_separators(text, name)
    assert all(0 <= at < len(text) for at in marks)
    assert closed == sorted(closed)
    assert len(closed) % 2 == 0


def sections(*sizes: tuple[str, int, int]) -> Document:
    """Return a document of headings with their level and number of sentences below."""
    builder = DocumentBuilder()
    for name, level, n in sizes:
        builder.heading(name, level=level)
        if n:
            builder.add("paragraph", (RAIN * n).strip())
    return builder.build()


def test_small_sections_are_merged_with_their_siblings() -> None:
    """Sections of one parent go together before those of two parents do."""
    document = sections(
        ("A", 1, 1), ("A1", 2, 5), ("A2", 2, 5), ("B", 1, 1), ("B1", 2, 5), ("B2", 2, 5),
        ("C", 1, 1), ("C1", 2, 5), ("C2", 2, 5), ("D", 1, 1), ("D1", 2, 5), ("D2", 2, 5),
    )  # fmt: skip
    found = checked(document, ChunkingSettings(boundaries="structural"))
    assert [text[:1] for text in found] == ["A", "B", "C", "D"]


def test_sections_of_the_right_size_are_chunks() -> None:
    """A section between minimum and cap stands alone; a large one is split, its heading kept."""
    document = sections(("A", 1, 22), ("B", 1, 22), ("C", 1, 100), ("D", 1, 22))
    units, chunks = chunked(document, ChunkingSettings(boundaries="structural"))
    assert not violations(
        document, units, chunks, ChunkingSettings(boundaries="structural"), ADDITIVE.count
    )
    names = [chunk.heading_path[-1] for chunk in chunks]
    assert names[:2] == ["A", "B"]
    assert names[-1] == "D"
    assert set(names[2:-1]) == {"C"}
    assert len(names) > 5
    assert {chunk.prefix for chunk in chunks[3:-1]} == {"C\n"}


def test_auto_goes_by_structure_and_content() -> None:
    """With vectors prose is optimal, tables and code recursive; without, headings decide."""
    prose = sections(("A", 1, 22), ("B", 1, 22))
    bare = built(*[("paragraph", RAIN)] * 30)
    table = built(("paragraph", "Ships."), ("table", "\n".join([HEADER, *ROWS])))
    chosen = ChunkingSettings(boundaries="auto")
    assert choose_strategy(prose, chosen, vectors=True) == "optimal"
    assert choose_strategy(table, chosen, vectors=True) == "recursive"
    assert choose_strategy(prose, chosen, vectors=False) == "structural"
    assert choose_strategy(bare, chosen, vectors=False) == "recursive"
