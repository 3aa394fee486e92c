from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.parsing.made import PHRASE, block_of, read_text, texts


def test_inline_elements_never_part_words(tmp_path: Path) -> None:
    """Emphasis, links and code are one paragraph with the blanks of the source."""
    html = "<p>un<b>believ</b>able, <a href=x>link</a>\n and <code>f( )</code>.<br>next</p>"
    assert texts(read_text(tmp_path, html, "html").document) == [
        "unbelievable, link and f( ).\nnext"
    ]


def test_lists_keep_numbers_and_nesting(tmp_path: Path) -> None:
    """Start, value and depth are kept; further paragraphs of an item stand below it."""
    html = "<ol start=5><li>five<ul><li>in</ul><li value=9>nine<p>more</p></ol><ul><li>other</ul>"
    document = read_text(tmp_path, html, "html").document
    assert document.text == "5. five\n  - in\n9. nine\n\nmore\n\n- other"


def test_definitions_lose_nothing(tmp_path: Path) -> None:
    """A definition around a nested list keeps its own text, before and after it."""
    html = "<dl><dt>Quay<dd>Of stone.<dl><dt>Bollard<dd>A post.</dl>And more.</dl>"
    assert texts(read_text(tmp_path, html, "html").document) == [
        "- Quay",
        "  - Of stone.",
        "    - Bollard",
        "      - A post.",
        "And more.",
    ]


def test_spans_are_laid_out(tmp_path: Path) -> None:
    """A row span is repeated, a column span stands once, a giant span is bounded."""
    html = (
        "<table><tr><th colspan=2>A<th>B</tr><tr><td rowspan=2>x<td>1<td>2</tr>"
        "<tr><td colspan=9999999 rowspan=9999999>3</tr></table>"
    )
    assert texts(read_text(tmp_path, html, "html").document) == [
        "| A |  | B |\n| --- | --- | --- |\n| x | 1 | 2 |\n| x | 3 |  |"
    ]


def test_layout_tables_are_read_in_order(tmp_path: Path) -> None:
    """A table around tables is no table; its inner ones are, and headings end with it."""
    html = (
        f"<h1>Doc</h1><table><tr><td><h2>Side</h2>{PHRASE}<td><table><tr><th>K<th>V</tr>"
        "<tr><td>a<td>b</tr></table></table><p>after</p>"
    )
    document = read_text(tmp_path, html, "html").document
    assert texts(document, "table") == ["| K | V |\n| --- | --- |\n| a | b |"]
    assert block_of(document, PHRASE).heading_path == ("Doc", "Side")
    assert block_of(document, "after").heading_path == ("Doc",)


def test_code_keeps_its_language_and_blanks(tmp_path: Path) -> None:
    """Code is verbatim, with the language that its classes or parents name."""
    html = (
        "<pre><code class='language-python'>\tif x:\n\n\t\ty</code></pre>"
        "<div class='highlight-sh notranslate'><div><pre>\nls</pre></div></div>"
    )
    document = read_text(tmp_path, html, "html").document
    assert texts(document) == ["```python\n\tif x:\n\n\t\ty\n```", "```sh\nls\n```"]
    assert [b.code_language for b in document.blocks] == ["python", "sh"]


def test_what_no_reader_sees_is_left_out(tmp_path: Path) -> None:
    """Scripts, styles, comments and undisplayed text are no text; their tails are."""
    html = (
        "<body>a<script>no</script>b<!-- no -->c<style>no</style><?no no?>d"
        "<p style='Display: None'>no</p><template>no</template><p hidden>shown on demand</p>"
    )
    assert texts(read_text(tmp_path, html, "html").document) == ["abcd", "shown on demand"]


def test_pictures_and_captions(tmp_path: Path) -> None:
    """A picture speaks by its description; captions have their kind."""
    html = (
        "<figure><img alt='A quay'><figcaption>Fig. 1: <p>north</p></figcaption></figure>"
        "<img src=x><table><caption>Tab. 1</caption><tr><td>1<td>2</table>"
    )
    document = read_text(tmp_path, html, "html").document
    kinds = [b.kind for b in document.blocks]
    assert kinds == ["picture", "caption", "caption", "table"]
    assert texts(document)[:3] == ["A quay", "Fig. 1:\nnorth", "Tab. 1"]


def test_one_h1_is_the_title_and_several_are_headings(tmp_path: Path) -> None:
    """The only h1 is a title; of two, the second does not stand under the first."""
    one = read_text(tmp_path, "<h1>T</h1><h2>S</h2><p>x</p>", "html").document
    assert [b.kind for b in one.blocks] == ["title", "heading", "paragraph"]
    assert one.blocks[2].heading_path == ("T", "S")
    two = read_text(tmp_path, "<h1>A</h1><h1>B</h1><p>x</p>", "html").document
    assert [b.kind for b in two.blocks] == ["heading", "heading", "paragraph"]
    assert two.blocks[2].heading_path == ("B",)


def test_head_is_title_and_metadata(tmp_path: Path) -> None:
    """The page's title and meta elements are not text."""
    html = "<head><title>T &amp; U</title><meta name=author content='A. Pilot'></head><p>x</p>"
    document = read_text(tmp_path, html, "html").document
    assert (document.text, document.title) == ("x", "T & U")
    assert document.metadata == {"author": "A. Pilot"}


@pytest.mark.parametrize(
    "head",
    ["", "<meta charset=utf-8>", "<meta charset=iso-8859-1>", '<?xml version="1.0"?>'],
)
def test_encodings_declared_wrong_or_not_at_all(tmp_path: Path, head: str) -> None:
    """Windows-1252 is read as such whatever the page declares."""
    html = f"{head}<p>Rødgrød med fløde – 25 €</p>".encode("cp1252")
    assert read_text(tmp_path, html, "html").document.text == "Rødgrød med fløde – 25 €"


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 5_000 + PHRASE + "</div>" * 5_000,
        "<ul><li>" * 1_000 + PHRASE,
        "<table><tr><td>" * 300 + PHRASE,
        "<b>" * 3_000 + PHRASE,
        "<blockquote>" * 2_000 + PHRASE,
    ],
)
def test_deep_nesting_needs_no_recursion(tmp_path: Path, html: str) -> None:
    """Thousands of nested elements are read like one."""
    assert PHRASE in read_text(tmp_path, html, "html").document.text


def test_xhtml_with_empty_elements_written_short(tmp_path: Path) -> None:
    """Self-closed elements of XHTML do not swallow what follows."""
    html = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x"/></head>'
        f'<body><a id="y"/><p>{PHRASE}</p></body></html>'
    )
    assert read_text(tmp_path, html, "html").document.text == PHRASE


@pytest.mark.parametrize(
    ("html", "fence"),
    [
        (
            '<pre data-filename="b.go"><code class="language-go">x</code></pre>',
            '```go title="b.go"',
        ),
        ('<div data-file="b.go"><pre>x</pre></div>', '```title="b.go"'),
        ('<pre><code class="language-go">x</code></pre>', "```go"),
        ('<pre data-fence-info="go `x`\n# y">x</pre>', "```go x # y"),
    ],
)
def test_code_keeps_the_name_of_its_file(tmp_path: Path, html: str, fence: str) -> None:
    """A file that markup names stands behind the opening fence, in one line without ticks."""
    assert read_text(tmp_path, html, "html").document.text == f"{fence}\nx\n```"
