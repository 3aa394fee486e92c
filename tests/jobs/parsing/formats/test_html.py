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


def test_formulas_are_their_tex(tmp_path: Path) -> None:
    """TeX where the page gives it, else MathML in a line; no formula stands twice."""
    html = (
        "<p>a <math><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></math> b"
        "<p>c <math alttext='y_1'><mi>y</mi></math><p>d <math><mi>z</mi><mo>=</mo><mfrac><mn>1"
        "</mn><mrow><mi>p</mi><mo>+</mo><mn>2</mn></mrow></mfrac><msup><mi>q</mi><mn>3</mn></msup>"
        "</math><p><span class='katex'><span class='katex-mathml'>f</span>"
        "<span class='katex-html'>f</span></span>"
    )
    assert texts(read_text(tmp_path, html, "html").document) == [
        "a $x^2$ b",
        "c $y_1$",
        "d z=1/(p+2)q^3",
        "f",
    ]


def test_marks_of_notes_and_ruby(tmp_path: Path) -> None:
    """Raised links to notes stand in brackets, once; ruby in parentheses; soft hyphens go."""
    html = (
        "<p>Text<sup><a href='#n'>1</a></sup> <sup><a href='#n'>[2]</a></sup> x<sup>2</sup>"
        "<a role='doc-noteref' href='#m'>3</a><p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>"
        "<p>har&shy;bour<aside role='doc-footnote'><p>The note.</aside><hr role='doc-pagebreak'>"
    )
    document = read_text(tmp_path, html, "html").document
    assert texts(document) == ["Text[1] [2] x2[3]", "漢(kan)", "harbour", "The note."]
    assert document.blocks[-1].kind == "footnote"


def test_words_in_drawings_and_forms(tmp_path: Path) -> None:
    """Words of a drawing, of labels, options, buttons and fields are text; hidden fields not."""
    html = (
        "<svg><title>no</title><text>North <tspan>quay</tspan></text></svg><form><label>Name"
        "</label><input value='Ann'><input type=hidden value=no><input type=submit value=Send>"
        "<select><option>one<option>two</select></form>"
    )
    assert texts(read_text(tmp_path, html, "html").document) == [
        "North quay",
        "Name Ann Send",
        "one",
        "two",
    ]


def test_tables_of_prose_are_layout(tmp_path: Path) -> None:
    """A cell with a heading is a part of the page, unless the table has a header."""
    cell = f"<h2>Side</h2><p>{PHRASE}"
    prose = f"<table><tr><td>nav<td>{cell}</table><p>after"
    document = read_text(tmp_path, f"<h1>Doc</h1>{prose}", "html").document
    assert not texts(document, "table")
    assert block_of(document, PHRASE).heading_path == ("Doc", "Side")
    assert block_of(document, "after").heading_path == ("Doc",)
    kept = prose.replace("<tr>", "<tr><th>a<th>b<tr>", 1)
    assert len(texts(read_text(tmp_path, kept, "html").document, "table")) == 1


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", "iso-8859-1"), ("cp1252", "utf-8"), ("cp1252", None), ("utf-16", "utf-8"),
        ("utf-16-le", "utf-8"), ("utf-16-be", None), ("utf-8-sig", "windows-1252"),
    ],
)  # fmt: skip
def test_wrong_declarations_of_an_encoding(
    tmp_path: Path, encoding: str, declared: str | None
) -> None:
    """Pages come out right whatever they declare, or if they declare nothing."""
    meta = f"<meta http-equiv=content-type content='text/html; charset={declared}'>"
    page = f"<html><head>{meta if declared else ''}</head><body><p>Ærø – “Grüße” naïve"
    document = read_text(tmp_path, page.encode(encoding), "html").document
    assert texts(document) == ["Ærø – “Grüße” naïve"]


def test_named_entities_of_xhtml_are_characters(tmp_path: Path) -> None:
    """HTML's are resolved though no DTD is read; an unknown one stands as it is written."""
    html = (
        '<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"'
        ' "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
        '<html xmlns="http://www.w3.org/1999/xhtml"><body>'
        "<p>R&oslash;dgr&oslash;d &mdash; 5&euro;, &quay;</p></body></html>"
    )
    assert read_text(tmp_path, html, "html").document.text == "Rødgrød — 5€, &quay;"
