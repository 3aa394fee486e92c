from __future__ import annotations

import io
import sys
from email.message import EmailMessage
from pathlib import Path
from zipfile import ZipFile

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "scripts" / "bench"))

from fidelity import compare, files, low, table  # noqa: E402
from independent_readers import READERS  # noqa: E402
from word_measures import Words, coverage, order, read_words  # noqa: E402

from jobs.parsing.builder import DocumentBuilder  # noqa: E402
from jobs.ports import ParseOutcome  # noqa: E402

NOTHING = Words(words=())


def words(text: str) -> list[str]:
    """Return the normalised words of a text."""
    return list(read_words(text).words)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\ufb01nal of\ufb01ce", "final office"),
        ("har\u00adbour", "harbour"),
        ("har-\nbour", "harbour"),
        ("well-known", "wellknown"),
        ("**Bold** `code`", "bold code"),
        ("x\u00b2 and note1", "x2 and note 1"),
        ("\ufee3\ufeae\ufea3\ufe92\ufe8e", "\u0645\u0631\u062d\u0628\u0627"),
        ("caf\u0065\u0301", "caf\u00e9"),
    ],
)
def test_fair_differences_do_not_count(one: str, other: str) -> None:
    """Ligatures, hyphens, markup, raised figures and forms of letters are alike on both sides."""
    assert words(one) == words(other)


def test_counts_words_of_scripts_without_blanks() -> None:
    """Each Chinese or Japanese character is a word."""
    assert words("\u65e5\u672c\u8a9e text") == ["\u65e5", "\u672c", "\u8a9e", "text"]


def test_measures_what_is_missing_and_doubled() -> None:
    """Recall and precision are shares of the words as multisets; a title fills in once."""
    theirs, ours = read_words("a b b c"), read_words("b c c d")
    found = coverage(theirs, ours, read_words("a"))
    assert (found.recall, found.precision) == (0.75, 0.5)
    assert (found.missing, sorted(found.extra)) == (("b",), ["c", "d"])


def test_accepts_either_reading_of_a_hyphen() -> None:
    """Halves that stay apart count, and a word whose end stands on the other reader's next page."""
    theirs = read_words("Ein-\nund Ausgang, the har-\nRunning head\nbour")
    ours = read_words("Ein- und Ausgang, the harbour Running head")
    assert coverage(theirs, ours, NOTHING).recall == 1
    assert coverage(read_words("the quick fox"), read_words("thequick fox"), NOTHING).recall < 1


def test_measures_order() -> None:
    """The share of words in the same order; repeated words count by the one before them."""
    text = read_words("one two three four five six")
    assert order(text, text) == 1
    assert order(text, read_words("four five six one two three")) == 0.5
    assert order(text, read_words("other words")) == 1


def test_long_words_take_linear_time() -> None:
    """A run of letters without a blank, and one of hyphens, are read in one pass."""
    assert words("a" * 2_000_000) == ["a" * 2_000_000]
    assert words("-\n" * 500_000) == []


def test_independent_readers_see_what_a_reader_sees(tmp_path: Path) -> None:
    """Hidden parts are left out, notes and boxes are read."""
    html = tmp_path / "page"
    html.write_bytes(b"<title>T</title><p>se<b>en</b></p><script>x</script><p hidden>no")
    assert words(READERS["html"](html)) == ["t", "seen"]
    markdown = tmp_path / "text"
    markdown.write_bytes(b"---\ntitle: Front\n---\n# Head\n[link](http://x.org) and `code`\n")
    assert words(READERS["md"](markdown)) == ["front", "head", "link", "and", "code"]
    message = EmailMessage()
    message["Subject"], message["From"] = "H\u00e6lsner", "a@b.dk"
    message.set_content("plain")
    message.add_alternative("<p>rich</p>", subtype="html")
    mail = tmp_path / "mail"
    mail.write_bytes(message.as_bytes())
    assert words(READERS["eml"](mail)) == ["h\u00e6lsner", "a", "b", "dk", "rich"]


def test_reads_parts_of_packages(tmp_path: Path) -> None:
    """A DOCX gives its body and its notes, without what is deleted or hidden."""
    run = "<w:p><w:r>{}<w:t>{}</w:t></w:r></w:p>"
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    vanish = "<w:rPr><w:vanish/></w:rPr>"
    body = (
        run.format("", "body")
        + run.format(vanish, "hidden")
        + f"<w:del>{run.format('', 'old')}</w:del>"
    )
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relation = '<Relationships><Relationship Id="r1" Type="{}/{}" Target="{}"/></Relationships>'
    data = io.BytesIO()
    with ZipFile(data, "w") as archive:
        archive.writestr(
            "_rels/.rels", relation.format(kind, "officeDocument", "word/document.xml")
        )
        archive.writestr(
            "word/document.xml", f"<w:document {space}><w:body>{body}</w:body></w:document>"
        )
        archive.writestr(
            "word/_rels/document.xml.rels", relation.format(kind, "footnotes", "notes.xml")
        )
        archive.writestr(
            "word/notes.xml", f"<w:footnotes {space}>{run.format('', 'note')}</w:footnotes>"
        )
    path = tmp_path / "file"
    path.write_bytes(data.getvalue())
    assert words(READERS["docx"](path)) == ["body", "note"]


def test_compares_a_file_and_tells_the_table(tmp_path: Path) -> None:
    """One file lacks a word; the table has its format and the sum over all."""
    path = tmp_path / "deep" / "file.txt"
    path.parent.mkdir()
    path.write_bytes(b"one two three four")
    builder = DocumentBuilder()
    builder.add("paragraph", "one two three")
    outcome = ParseOutcome(status="ok", format="txt", parser="text", document=builder.build())
    compared = compare(path, outcome)
    assert compared is not None
    assert (compared.recall, compared.missing, compared.order) == (0.75, ("four",), None)
    assert [line.split()[0] for line in table([compared])] == ["format", "txt", "all"]
    assert list(files([tmp_path])) == [path]


def test_takes_the_5th_percentile() -> None:
    """Of a hundred values the sixth from below, of few the lowest."""
    assert low([i / 100 for i in range(100)]) == 0.05
    assert low([0.3, 0.1, 0.2]) == 0.1
