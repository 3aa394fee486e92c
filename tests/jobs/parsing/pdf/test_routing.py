"""Which pages are complex, and how pages of several engines become one document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from docling_core.types.doc import BoundingBox, DocItemLabel, DoclingDocument, ProvenanceItem, Size

from chunking.errors import ConfigError
from jobs.config import Config, ParserConfig
from jobs.parsing.available import fix_parser
from jobs.parsing.careful import AT_ONCE, Pages
from jobs.parsing.converted import Converted
from jobs.parsing.pdf import standard
from jobs.parsing.pdf.engine import convert_pdf, read_pdf
from jobs.parsing.pdf.gather import gather
from jobs.parsing.pdf.routing import complexity
from jobs.parsing.pdf.standard import StandardResult
from tests.jobs.parsing.made import check_laws
from tests.jobs.parsing.pdfs import REGULAR, Text, paragraph, pdf

SETTINGS = ParserConfig.model_validate({"artifacts_path": "weights", "ocr": "none"})
Convert = Callable[..., Converted]


def rows(n_rows: int, n_columns: int, word: str = "cell") -> list[Text]:
    """Return pieces in rows and columns."""
    return [
        (60 + 480 / n_columns * column, 700 - 20 * row, REGULAR, 10, f"{word} {row}.{column}")
        for row in range(n_rows)
        for column in range(n_columns)
    ]


def columns(n_lines: int) -> list[Text]:
    """Return two columns of prose."""
    lines = [f"Row {i} of prose in a column goes on" for i in range(n_lines)]
    return [*paragraph(lines), *paragraph(lines, left=320)]


def prose(number: int) -> list[Text]:
    """Return a page of plain paragraphs."""
    return paragraph([f"Line {i} of page {number} is plain prose about the quay." for i in "abcd"])


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (prose(1), None),
        (columns(30), None),
        (rows(3, 4), None),
        ([*prose(1), *rows(3, 3)], None),
        (rows(8, 4), "columns without rules"),
        ([*paragraph(["A line of prose."] * 6), *rows(6, 3)], "columns without rules"),
        (
            [(20 + 37 * i % 540, 100 + 9.7 * i, REGULAR, 8, f"a{i}") for i in range(70)],
            "many short pieces of text",
        ),
        ([], None),
    ],
)
def test_complexity(tmp_path: Path, page: list[Text], reason: str | None) -> None:
    """Prose, columns and small tables are plain; tables without rules and drawings are not."""
    path = tmp_path / "document"
    path.write_bytes(pdf([page]))
    assert complexity(gather(path, AT_ONCE).texts[1]) == reason


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let docling's pipeline read each page as its number, with the cells; note the pages."""
    asked: list[int] = []

    def read(path: Path, settings: ParserConfig, *, page: int) -> StandardResult:
        del path, settings
        asked.append(page)
        document = DoclingDocument(name="a")
        document.add_page(page_no=page, size=Size(width=595, height=842))
        cells = " ".join(text for *_, text in rows(8, 4))
        place = ProvenanceItem(
            page_no=page, bbox=BoundingBox(l=0, t=0, r=9, b=9), charspan=(0, len(cells))
        )
        if page != 4:  # where it loses the text
            document.add_text(DocItemLabel.TEXT, f"By the network: {cells}", prov=place)
        return StandardResult(document=document, n_pages=5)

    monkeypatch.setattr(standard, "read_standard", read)
    return asked


def test_pages_are_merged_in_order(tmp_path: Path, network: list[int]) -> None:
    """Only complex pages are asked of the network; one that loses text stays with our own."""
    path = tmp_path / "document"
    path.write_bytes(pdf([prose(1), rows(8, 4), prose(3), rows(8, 4), rows(8, 4), prose(6)]))
    converted = convert_pdf(path, name="a", settings=SETTINGS)
    check_laws(converted.document)
    assert network == [2, 4, 5]
    assert converted.parser == "pdf-fast+docling-standard"
    assert converted.warnings == ("pages 2, 5: columns without rules, read by docling-standard",)
    pages = [block.page_start or 0 for block in converted.document.blocks]
    assert pages == sorted(pages)
    by_network = [
        block.page_start
        for block in converted.document.blocks
        if "By the network" in converted.document.text[block.start : block.end]
    ]
    assert by_network == [2, 5]
    assert all(f"of page {n} is" in converted.document.text for n in (1, 3, 6))
    assert len(read_pdf(path, SETTINGS).documents) == 5


@pytest.mark.parametrize("setting", [{"pdf": "fast"}, {"artifacts_path": None}])
def test_without_leave_or_weights_all_is_fast(
    tmp_path: Path, network: list[int], setting: dict[str, str | None]
) -> None:
    """As before."""
    path = tmp_path / "document"
    path.write_bytes(pdf([rows(8, 4)]))
    settings = SETTINGS.model_copy(update=setting)
    assert convert_pdf(path, name="a", settings=settings).parser == "pdf-fast"
    assert network == []


def test_page_by_page_is_fast(tmp_path: Path, network: list[int]) -> None:
    """A file that has ended a reader is not given to another one."""
    path = tmp_path / "document"
    path.write_bytes(pdf([rows(8, 4)]))
    careful = Pages(announce=lambda _: None)
    assert convert_pdf(path, name="a", settings=SETTINGS, pages=careful).parser == "pdf-fast"
    assert network == []


@pytest.mark.parametrize("engine", ["auto", "standard"])
def test_missing_weights_are_refused(tmp_path: Path, engine: str) -> None:
    """With the folder that lacks them, and how to get them."""
    parser = {"pdf": engine, "artifacts_path": str(tmp_path), "ocr": "none"}
    with pytest.raises(ConfigError, match=r"docling-layout-heron is missing; .*docling-tools"):
        fix_parser(Config.model_validate({"parser": parser}))


def test_weights_that_are_not_used_are_not_looked_at(tmp_path: Path) -> None:
    """The fast engine has none."""
    parser = {"pdf": "fast", "artifacts_path": str(tmp_path / "gone"), "ocr": "none"}
    config = Config.model_validate({"parser": parser})
    assert fix_parser(config) == config
