from __future__ import annotations

from pathlib import Path

import pytest

from jobs.parsing.formats.delimited import sniff_delimiter
from tests.jobs.parsing.made import read_text, texts


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_told(tmp_path: Path, delimiter: str) -> None:
    """The delimiter that splits rows evenly wins over others that occur in cells."""
    rows = [("Vare", "Pris", "Note"), ("Rødgrød", "1.234,50", "a, b"), ("Æbler", "12,00", "c")]
    text = "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    assert sniff_delimiter(text) == delimiter
    assert "| Rødgrød | 1.234,50 | a, b |" in read_text(tmp_path, text, "csv").document.text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """What Excel saves is read, whatever its encoding."""
    data = "Navn;Alder\r\nÅse Øgård;31\r\n".encode(encoding)
    document = read_text(tmp_path, data, "csv").document
    assert document.text == "| Navn | Alder |\n| --- | --- |\n| Åse Øgård | 31 |"


def test_quoted_cells(tmp_path: Path) -> None:
    """Line ends and doubled quotes inside a cell stay in it."""
    text = 'id,note\n1,"first\nsecond"\n2,"say ""hi"", twice"\n'
    document = read_text(tmp_path, text, "csv").document
    assert "| 1 | first second |" in document.text
    assert '| 2 | say "hi", twice |' in document.text


def test_a_quote_that_never_closes(tmp_path: Path) -> None:
    """The rest of the file is not swallowed by one cell."""
    text = 'a,b\n1,"open\n' + "3,4\n" * 500
    converted = read_text(tmp_path, text, "csv")
    assert len(converted.document.blocks[0].row_starts) == 502
    assert converted.warnings


def test_declared_separator_and_nul(tmp_path: Path) -> None:
    """Excel's sep line is obeyed and no row; a NUL becomes U+FFFD."""
    document = read_text(tmp_path, "sep=;\na,b;c\n1;2\0\n", "csv").document
    assert document.text == "| a,b | c |\n| --- | --- |\n| 1 | 2\ufffd |"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Report\n\na,b\n1,2\n3,4\n", ["Report", "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"]),
        ("1,2\n3,4\n", ["|  |  |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"]),
        ("a,b,\n1,2,\n", ["| a | b |\n| --- | --- |\n| 1 | 2 |"]),
        ("Pris;Antal\n1.234,50;3\n", ["| Pris | Antal |\n| --- | --- |\n| 1.234,50 | 3 |"]),
        ('a, b\n1, "two, three"\n', ["| a | b |\n| --- | --- |\n| 1 | two, three |"]),
        ("name\nA\nB\n", ["| name |\n| --- |\n| A |\n| B |"]),
    ],
    ids=["title", "numbers", "blank column", "decimal comma", "blanks", "one column"],
)
def test_layouts_of_tables(tmp_path: Path, text: str, expected: list[str]) -> None:
    """Titles above, no header, blank columns, decimal commas, blanks behind commas."""
    assert texts(read_text(tmp_path, text, "csv").document) == expected


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_quote_that_never_closes_in_a_short_file(tmp_path: Path, end: str) -> None:
    """Few lines are not swallowed either; a last cell over two lines is none of that."""
    converted = read_text(tmp_path, f'a,b\n1,"open\n3,4\n5,6{end}', "csv")
    assert converted.document.text.splitlines()[2:] == ['| 1 | "open |', "| 3 | 4 |", "| 5 | 6 |"]
    converted = read_text(tmp_path, f'a,b\n1,2\n3,"two\nlines"{end}', "csv")
    assert converted.document.text.endswith("| 3 | two lines |")
    assert not converted.warnings
