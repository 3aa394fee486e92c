"""Documents made by hand and chunked in memory, with the hashing test double as model."""

from __future__ import annotations

from chunking import ids
from chunking.model import Document
from jobs.notebook import Chunkmill, Chunks, ParsedText
from jobs.ports import ParseOutcome
from jobs.records import ParsedDocument, PlanRow
from tests.chunking.strategies import DocumentBuilder

__all__ = ["HOSTILE", "MODEL", "SCRIPTS", "chunked", "hostile", "parsed_text", "prose", "tables"]

MODEL = "model.name=hash:16"

SCRIPTS = (
    "<script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title = 'owned'\">",
    "</textarea></pre></style></script><script>document.title = 'owned'</script>",
    "<svg onload=\"document.title = 'owned'\"><a xlink:href='javascript:void(0)'>x</a></svg>",
    "javascript:document.title='owned'",
    "{{7*7}} {% raw %} {{ self.__init__.__globals__ }} ${7*7}",
    "<!-- --> ]]> &lt;b&gt; &amp; <iframe srcdoc='<script>parent.document.title=1</script>'>",
    "' onfocus='document.title=1' autofocus x='\" onmouseover=\"document.title=1",
    "<meta http-equiv=refresh content='0;url=https://a.example'><base href='https://a.example'>",
)
"""Texts that would act where they are not escaped."""

HOSTILE = (
    "nul \x00 bell \x07 escape \x1b[31m delete \x7f c1 \x9b31m",
    "override \u202eevil\u202c isolate \u2066x\u2069 mark \u200f zero\u200bwidth \ufeff",
    "tag \U000e0041\U000e0042 line\u2028separator \u2029 return\rfeed\x0c",
)
"""Characters that would be invisible or act."""


def parsed_text(
    document: Document, *, key: str = "sample.md", file_format: str = "md"
) -> ParsedText:
    """Return a document as a parser would have given it."""
    plan = PlanRow(
        unit=0,
        bucket=0,
        doc_id=ids.doc_id(key),
        source_key=key,
        source_uri=f"file:///in/{ids.doc_id(key)}",
        size_bytes=len(document.text),
        location=key,
    )
    outcome = ParseOutcome(
        status="ok", format=file_format, parser="hand", document=document, warnings=("a warning",)
    )
    return ParsedText(
        parsed=ParsedDocument(
            plan=plan, outcome=outcome, doc_version="0" * 64, etag="e", size_bytes=1
        )
    )


def chunked(document: Document, *, key: str = "sample.md", **chunking: object) -> Chunks:
    """Return the document's chunks, by thresholds unless told otherwise."""
    chosen = {"boundaries": "semantic", **chunking}
    return Chunkmill(MODEL).chunk(parsed_text(document, key=key), **chosen)


def prose(n_sections: int = 3, n_sentences: int = 12) -> Document:
    """Return sections of different sentences, each under a heading."""
    builder = DocumentBuilder()
    for section in range(n_sections):
        builder.heading(f"Section {section} of the harbour book", level=1 + section % 2)
        builder.add(
            "paragraph",
            " ".join(
                f"Ship {section}.{i} takes berth {i * 7 % 13} when the tide {i * i} allows it."
                for i in range(n_sentences)
            ),
            page=section + 1,
        )
    return builder.build()


def tables(n_rows: int = 40) -> Document:
    """Return a caption, a table that exceeds small caps, code and a list."""
    builder = DocumentBuilder()
    builder.heading("Dues")
    builder.add("caption", "Table 1: dues by length")
    rows = [f"| {i} m | {i * 35} kr. | a\\|b |" for i in range(n_rows)]
    builder.table(["| Length | Dues | Note |\n| --- | --- | --- |", *rows])
    lines = "\n".join(f"dues[{i}] = {i} * 35  # line {i}" for i in range(n_rows))
    builder.add("code", f"```python\n{lines}\n```", code_language="python")
    builder.add("list_item", "- the first item", level=1)
    builder.add("list_item", "- the second item", level=1)
    builder.add("formula", "$a = b$")
    return builder.build()


def hostile() -> Document:
    """Return every kind of block, full of what would act if it were not escaped."""
    builder = DocumentBuilder()
    for i, text in enumerate((*SCRIPTS, *HOSTILE)):
        one_line = " ".join(text.split("\n"))
        builder.heading(f"{one_line} {i}", level=1 + i % 3)
        builder.add("paragraph", f"{text} in a paragraph.")
        cell = one_line.replace("|", "\\|")
        builder.table([f"| {cell} |  |\n| --- | --- |", f"| 1 | {cell} |"])
        builder.add("code", f"```{i}\n{text}\n```", code_language=f"<b>{i}")
        builder.add("list_item", f"- {text}", level=1)
    return builder.build()
