from __future__ import annotations

import pyarrow as pa
import pytest

from chunking import schemas
from chunking.model import Block, Box, Document
from jobs.blocks import blocks_array
from jobs.ports import ParseOutcome
from jobs.records import PARSED, ParsedDocument, PlanRow

PLAN = PlanRow(
    unit=3,
    bucket=7,
    doc_id="d",
    source_key="a b/\u00e6.md",
    source_uri="file:///a%20b/%C3%A6.md",
    size_bytes=9,
    location="a b/\u00e6.md",
    parent_doc_id="p",
    etag="e",
    attempts=1,
    metadata={"acl": "staff", "a": ""},
    table_row=4,
)
BLOCKS = (
    Block(
        start=0,
        end=3,
        index=0,
        kind="heading",
        level=1,
        page_start=1,
        page_end=2,
        boxes=(
            Box(page=1, left=0.5, top=1.0, right=2.0, bottom=3.0),
            Box(page=2, left=0.0, top=0.0, right=1.0, bottom=1.0),
        ),
    ),
    Block(start=5, end=12, index=1, kind="table", heading_path=("One",), row_starts=(5, 9)),
    Block(
        start=14,
        end=18,
        index=2,
        kind="code",
        heading_path=("One",),
        code_language="py",
        language="da",
    ),
)
DOCUMENT = Document(
    text="One\n\n|a|\n|b|\n\ncode",
    blocks=BLOCKS,
    title="One",
    language="en",
    n_pages=2,
    furniture=("head", "foot"),
    metadata={"author": "somebody"},
)


def parsed(document: Document | None) -> ParsedDocument:
    """Return a parsed or a failed document."""
    failed = document is None
    outcome = ParseOutcome(
        status="failed" if failed else "ok",
        format="md",
        parser="docling",
        document=document,
        error_kind="timeout" if failed else None,
        error_message="too slow" if failed else None,
        retryable=failed,
        warnings=("one", "two"),
        seconds=1.5,
    )
    return ParsedDocument(
        plan=PLAN,
        outcome=outcome,
        doc_version=None if failed else "v",
        etag="e2",
        size_bytes=10,
        error_stage="parse" if failed else None,
    )


def test_plan_rows_survive_their_arrow_form() -> None:
    """Every field comes back, nulls and metadata too, in the published schema."""
    bare = PlanRow(
        unit=0, bucket=0, doc_id="x", source_key="k", source_uri="u", size_bytes=0, location="l"
    )
    table = PlanRow.to_table([PLAN, bare])
    assert table.schema.equals(schemas.PLAN)
    assert PlanRow.from_table(table) == [PLAN, bare]


@pytest.mark.parametrize(
    "documents",
    [
        [],
        [DOCUMENT],
        [None],
        [None, DOCUMENT, None],
        [Document(text="", blocks=()), DOCUMENT],
    ],
)
def test_parsed_documents_survive_their_arrow_form(documents: list[Document | None]) -> None:
    """Text, blocks with boxes, furniture, metadata, errors: all come back as they were."""
    given = [parsed(document) for document in documents]
    table = ParsedDocument.to_table(given)
    table.validate(full=True)
    assert table.schema.equals(PARSED)
    assert ParsedDocument.from_table(table) == given


def test_slices_and_several_chunks_of_a_table_are_read_right() -> None:
    """An engine may slice and join blocks; offsets into lists follow."""
    given = [parsed(DOCUMENT), parsed(None), parsed(DOCUMENT), parsed(Document(text="", blocks=()))]
    table = ParsedDocument.to_table(given)
    assert ParsedDocument.from_table(table.slice(1, 2)) == given[1:3]
    joined = pa.concat_tables([table.slice(2), table.slice(0, 2)])
    assert ParsedDocument.from_table(joined) == given[2:] + given[:2]


def test_published_blocks_have_the_published_type() -> None:
    """The blocks of ``documents`` carry no boxes, and are null where there is no text."""
    array = blocks_array([BLOCKS, None, ()])
    assert array.type == schemas.DOCUMENTS.field("blocks").type
    rows = array.to_pylist()
    assert rows[1:] == [None, []]
    assert [row["row_starts"] for row in rows[0]] == [[], [5, 9], []]
    assert rows[0][1]["heading_path"] == ["One"]
