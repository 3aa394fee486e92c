"""A PDF that dies on some pages keeps the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from jobs.config import LimitsConfig, ParserConfig
from jobs.parsing.careful import AT_ONCE, Pages
from jobs.parsing.convert import convert
from jobs.parsing.pool import ChildParser
from jobs.ports import ParseOutcome
from tests.jobs.parsing import dying
from tests.jobs.parsing.pdfs import REGULAR, pdf

Parse = Callable[..., ParseOutcome]


def written(path: Path, words: Sequence[str]) -> Path:
    """Write a PDF of one page per text."""
    path.write_bytes(pdf([[(60, 700, REGULAR, 11, text)] for text in words]))
    return path


@pytest.fixture(scope="module")
def parsers() -> Iterator[Callable[[float], ChildParser]]:
    """Make one parser per time limit, whose children die on some pages."""
    made: dict[float, ChildParser] = {}

    def parser(seconds: float) -> ChildParser:
        if seconds not in made:
            limits = LimitsConfig.model_validate({"document_seconds": seconds})
            settings = ParserConfig.model_validate({"ocr": "none"})
            reader = f"{dying.__name__}:convert"
            made[seconds] = ChildParser(settings, limits, convert=reader, preload=None)
        return made[seconds]

    yield parser
    for each in made.values():
        each.close()


@pytest.fixture
def parse(tmp_path: Path, parsers: Callable[[float], ChildParser]) -> Parse:
    """Parse a PDF of these pages in a child that dies on some."""

    def parsed(*words: str, seconds: float = 20.0) -> ParseOutcome:
        return parsers(seconds).parse(written(tmp_path / "document", words), name="a.pdf")

    return parsed


def test_a_page_that_crashes_the_reader_is_left_out(parse: Parse) -> None:
    """The rest is kept in its order and with its page numbers, and the page is named."""
    outcome = parse("First page.", "Please abort.", "Third page.")
    assert (outcome.status, outcome.error_kind) == ("partial", "crashed")
    assert outcome.document is not None
    assert outcome.document.text == "First page.\n\nThird page."
    assert [block.page_start for block in outcome.document.blocks] == [1, 3]
    assert outcome.document.n_pages == 3
    assert outcome.warnings == ("page 2 could not be read",)


def test_several_pages_may_be_left_out(parse: Parse) -> None:
    """Each costs one child, whatever it does."""
    outcome = parse("Please abort.", "Second page.", "Please eat.", "Please abort.", "Fifth page.")
    assert outcome.status == "partial"
    assert outcome.document is not None
    assert outcome.document.text == "Second page.\n\nFifth page."
    assert outcome.warnings == tuple(f"page {n} could not be read" for n in (1, 3, 4))


def test_a_page_that_hangs_is_left_out(parse: Parse) -> None:
    """It is the page that takes most of the document's time."""
    outcome = parse("First page.", "Please hang.", "Third page.", seconds=4.0)
    assert (outcome.status, outcome.error_kind) == ("partial", "timeout")
    assert outcome.document is not None
    assert outcome.document.text == "First page.\n\nThird page."


def test_a_document_of_slow_pages_is_too_slow(parse: Parse) -> None:
    """No page is to blame: none is left out, and the document fails as before."""
    outcome = parse(*(f"A slow page {n}." for n in range(12)), seconds=4.0)
    assert (outcome.status, outcome.error_kind) == ("failed", "timeout")


def test_nothing_but_bad_pages_is_the_first_failure(parse: Parse) -> None:
    """There is nothing to keep."""
    outcome = parse("Please abort.", "Please abort.")
    assert (outcome.status, outcome.error_kind) == ("failed", "crashed")


def test_too_many_bad_pages_are_given_up(parse: Parse) -> None:
    """The number of children that a document may cost is bounded."""
    outcome = parse(*["Please abort."] * 8, "Good page.")
    assert (outcome.status, outcome.error_kind) == ("failed", "crashed")


def test_page_by_page_gives_the_same_document(tmp_path: Path) -> None:
    """Each page is announced before it is read, and the end after the last."""
    path = written(tmp_path / "document", [f"Page {n} of the manual." for n in range(1, 5)])
    announced: list[int] = []
    settings = ParserConfig.model_validate({"ocr": "none"})
    careful = Pages(announce=announced.append)
    one = convert(path, format="pdf", name="a", settings=settings)
    other = convert(path, format="pdf", name="a", settings=settings, pages=careful)
    assert one == other
    assert announced == [1, 2, 3, 4, 0]


def test_the_rule_leaves_nothing_out() -> None:
    """Read at once, all pages are walked."""
    assert list(AT_ONCE.walk([3, 1])) == [3, 1]
    assert list(Pages(skip=frozenset({2})).walk(range(1, 4))) == [1, 3]
