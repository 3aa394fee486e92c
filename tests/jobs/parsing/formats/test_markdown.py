from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.parsing.made import PHRASE, read_text, texts


def test_inline_markup_is_plain_text(tmp_path: Path) -> None:
    """Emphasis, links and code join; escapes are undone; hard breaks are kept."""
    markdown = "un**believ**able, [link](http://x) and `f( )` \\*x\\*.  \nnext\nsoft"
    assert texts(read_text(tmp_path, markdown, "md").document) == [
        "unbelievable, link and f( ) *x*.\nnext soft"
    ]


def test_front_matter_is_metadata(tmp_path: Path) -> None:
    """YAML fields are metadata, nested ones with dots; the title is the document's."""
    markdown = (
        "---\ntitle: Ferry plan\ntags: [sea, north]\ndate: 2024-02-29\nowner:\n  name: A\n---\n"
        "# Plan\n\nText.\n\n---\n\nAfter a rule."
    )
    document = read_text(tmp_path, markdown, "md").document
    assert document.title == "Ferry plan"
    assert document.metadata == {
        "title": "Ferry plan",
        "tags": "sea, north",
        "date": "2024-02-29",
        "owner.name": "A",
    }
    assert texts(document) == ["Plan", "Text.", "After a rule."]


@pytest.mark.parametrize(
    ("head", "metadata"),
    [
        ("+++\ntitle = 'T'\n+++\n", {"title": "T"}),
        ("---\ntitle: a: b: c\n---\n", {"title": "a: b: c"}),
        ("---\na: &x [1]\nb: *x\n---\n", {"a": "&x [1]", "b": "*x"}),
        ("---\n---\n", {}),
    ],
)
def test_odd_front_matter(tmp_path: Path, head: str, metadata: dict[str, str]) -> None:
    """TOML, broken YAML and YAML with aliases give what fields they can."""
    document = read_text(tmp_path, f"{head}Text.", "md").document
    assert document.metadata == metadata
    assert document.text == "Text."


def test_a_rule_is_no_front_matter(tmp_path: Path) -> None:
    """Text between two rules at the top stays text."""
    document = read_text(tmp_path, "---\n\nJust prose here.\n\n---\n\nMore.", "md").document
    assert texts(document) == ["Just prose here.", "More."]


def test_placeholders_are_seen(tmp_path: Path) -> None:
    """`<name>` that is no HTML element is text; real tags are markup."""
    markdown = "Call Vec<T> with <your-name> and <b>bold</b> text.\n\n<div>\n\ninner\n\n</div>"
    assert texts(read_text(tmp_path, markdown, "md").document) == [
        "Call Vec<T> with <your-name> and bold text.",
        "inner",
    ]


def test_tables_and_code(tmp_path: Path) -> None:
    """Cells keep escaped bars; fenced code keeps tabs, comments and its language."""
    markdown = "| a | b |\n|---|---|\n| x\\|y | **z** w |\n\n```sh\n# no heading\n\tls\n```\n"
    document = read_text(tmp_path, markdown, "md").document
    assert texts(document) == [
        "| a | b |\n| --- | --- |\n| x\\|y | z w |",
        "```sh\n# no heading\n\tls\n```",
    ]
    assert document.blocks[1].code_language == "sh"


@pytest.mark.parametrize(
    "markdown",
    [
        "- " * 300 + PHRASE,
        "> " * 300 + PHRASE,
        "[" * 5_000 + PHRASE,
        "![[](" * 2_000 + PHRASE,
        "*a **b " * 1_000 + PHRASE,
        "".join(f"{'  ' * depth}- level {depth}\n" for depth in range(100)) + f"\n{PHRASE}",
        "\n" * 100_000 + PHRASE,
    ],
)
def test_hostile_markdown_is_text(tmp_path: Path, markdown: str) -> None:
    """Runs of markers and brackets neither recurse without end nor lose the text."""
    assert PHRASE in read_text(tmp_path, markdown, "md").document.text


def test_deep_lists_lose_no_level(tmp_path: Path) -> None:
    """A list nested a hundred deep keeps every item and its depth."""
    markdown = "".join(f"{'  ' * depth}- level {depth}\n" for depth in range(100))
    document = read_text(tmp_path, markdown, "md").document
    assert [b.level for b in document.blocks] == list(range(1, 101))


@pytest.mark.parametrize(
    ("info", "language"),
    [
        ('python title="src/a.py"', "python"),
        ("js:src/app.js", "js"),
        ('{.rust filename="m.rs"}', "rust"),
        ("src/a.py", None),
        ("sh", "sh"),
        ("a &lt; b", "a"),
    ],
)
def test_fences_keep_what_they_say(tmp_path: Path, info: str, language: str | None) -> None:
    """The info string stays behind the opening fence; the language is read from it."""
    document = read_text(tmp_path, f"~~~{info}\nx = '<b>'\n~~~\n", "md").document
    assert document.text == f"```{info.replace('&lt;', '<')}\nx = '<b>'\n```"
    assert document.blocks[0].code_language == language


def test_formulas_stay_as_they_are_written(tmp_path: Path) -> None:
    """No emphasis is found in a formula; displayed ones are blocks; prices are no formulas."""
    text = (
        "Inline $a_1*b*c_1$ and $5 or *6* $7.\n\n$$\nx_1 = \\frac{1}{2} *y*\n$$\n\n"
        "\\begin{align}\na_1 &= b\n\\end{align}\n\n$$ z_2 $$\n\n$$ open\n\nafter\n"
    )
    document = read_text(tmp_path, text, "md").document
    assert texts(document) == [
        "Inline $a_1*b*c_1$ and $5 or 6 $7.",
        "x_1 = \\frac{1}{2} *y*",
        "\\begin{align} a_1 &= b \\end{align}",
        "z_2",
        "$$ open",
        "after",
    ]
    assert [b.kind for b in document.blocks][1:4] == ["formula"] * 3


def test_footnotes_are_kept_with_their_marks(tmp_path: Path) -> None:
    """A note of one word is no address of a link; its further paragraphs belong to it."""
    text = (
        "One[^a] two[^2].\n\n[^a]: https://example.org\n[^2]: First\n\n    second *part*.\n\nEnd\n"
    )
    document = read_text(tmp_path, text, "md").document
    assert texts(document) == [
        "One[^a] two[^2].", "[^a]: https://example.org", "[^2]: First second part.", "End",
    ]  # fmt: skip
    assert [b.kind for b in document.blocks][1:3] == ["footnote", "footnote"]


def test_definition_lists(tmp_path: Path) -> None:
    """A term and the lines that begin with a colon are a list; a ratio in prose is none."""
    text = "Quay\n: Of *stone*.\n: Long.\n\nA ratio\nof 3 : 4 is kept.\n"
    assert texts(read_text(tmp_path, text, "md").document) == [
        "- Quay", "  - Of stone.", "  - Long.", "A ratio of 3 : 4 is kept.",
    ]  # fmt: skip


def test_json_front_matter(tmp_path: Path) -> None:
    """An object above the body is metadata; one that is the whole text is text."""
    document = read_text(
        tmp_path, '{\n"title": "T",\n"tags": ["a", "b"]\n}\n\nBody.\n', "md"
    ).document
    assert (document.title, document.metadata, texts(document)) == (
        "T", {"tags": "a, b", "title": "T"}, ["Body."],
    )  # fmt: skip
    assert texts(read_text(tmp_path, '{"a": 1}\n', "md").document) == ['{"a": 1}']
