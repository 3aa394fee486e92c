"""Scans and pictures of pages, read by the real engines."""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image, ImageDraw, ImageFont

from chunking.errors import ConfigError, DocumentError
from jobs.config import Config, LimitsConfig, ParserConfig
from jobs.config_load import load_config
from jobs.parsing import ocr
from jobs.parsing.convert import Converted, convert
from jobs.parsing.pdf import scans
from jobs.parsing.pool import ChildParser
from tests.jobs.parsing.made import PHRASE, check_laws
from tests.jobs.parsing.pdfs import REGULAR, pdf

ENGINES = ("tesserocr", "rapidocr")
WIDTH, HEIGHT = 1240, 1754
"""A4 at 150 dpi."""
DPI = 150


def page(*lines: str, left: int = 120, top: int = 150) -> Image.Image:
    """Draw a page with these lines."""
    image = Image.new("L", (WIDTH, HEIGHT), 255)
    write(image, lines, left, top)
    return image


def write(image: Image.Image, lines: tuple[str, ...], left: int, top: int) -> None:
    """Draw lines one below the other."""
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=28)
    for i, line in enumerate(lines):
        draw.text((left, top + 44 * i), line, fill=0, font=font)


def scan(path: Path, *images: Image.Image) -> Path:
    """Write a PDF of images only."""
    first, *rest = images
    first.save(path, "PDF", resolution=DPI, save_all=True, append_images=rest)
    return path


def read(path: Path, engine: str, format_: str = "pdf") -> Converted:
    """Convert a file with an engine and check the laws of its document."""
    settings = ParserConfig.model_validate({"ocr": engine})
    converted = convert(path, format=format_, name="a", settings=settings)
    check_laws(converted.document)
    return converted


def words(text: str) -> str:
    """Return letters and digits only: an engine may join words."""
    return "".join(filter(str.isalnum, text.lower()))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scan_is_read_with_its_places(tmp_path: Path, engine: str) -> None:
    """Text, engine, reason and boxes of an image-only PDF."""
    path = scan(tmp_path / "document", page(PHRASE, "It comes back at one."))
    converted = read(path, engine)
    assert words(PHRASE) in words(converted.document.text)
    assert converted.status == "ok"
    assert converted.parser == f"pdf-fast+{engine}"
    assert converted.warnings == (f"page 1: no text layer, read by {engine}",)
    box = converted.document.blocks[0].boxes[0]
    scale = 72 / DPI
    assert box.page == 1
    assert abs(box.left - 120 * scale) < 4
    assert abs(box.top - 150 * scale) < 10
    assert box.right < WIDTH * scale


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_of_a_scan_are_read_one_after_the_other(tmp_path: Path, engine: str) -> None:
    """The layout rules are those of text layers."""
    image = page(*(f"Left row {i} goes on and on here" for i in "abcdefgh"))
    write(image, tuple(f"Right row {i} goes on and on there" for i in "abcdefgh"), 680, 150)
    text = words(read(scan(tmp_path / "document", image), engine).document.text)
    places = [
        text.index(words(f"{side} row {i}")) for side in ("Left", "Right") for i in "abcdefgh"
    ]
    assert places == sorted(places)


def mixed(path: Path) -> Path:
    """Write a PDF whose second page is a scan and whose first and third have text."""
    whole = pypdfium2.PdfDocument.new()
    texts = pdf([[(60, 700, REGULAR, 11, "First page.")], [(60, 700, REGULAR, 11, "Third page.")]])
    parts = [pypdfium2.PdfDocument(texts), pypdfium2.PdfDocument(scan(path, page(PHRASE)))]
    whole.import_pages(parts[0], [0])
    whole.import_pages(parts[1])
    whole.import_pages(parts[0], [1])
    whole.save(path)
    for document in (*parts, whole):
        document.close()
    return path


def test_only_pages_without_text_are_read_by_ocr(tmp_path: Path) -> None:
    """A scan between pages of text stands in its place, and is told."""
    converted = read(mixed(tmp_path / "document"), "tesserocr")
    assert converted.document.text == f"First page.\n\n{PHRASE}\n\nThird page."
    assert [block.page_start for block in converted.document.blocks] == [1, 2, 3]
    assert converted.warnings == ("page 2: no text layer, read by tesserocr",)


def test_without_ocr_a_scanned_page_is_a_loss(tmp_path: Path) -> None:
    """What is there is kept; what may be missing is said."""
    converted = read(mixed(tmp_path / "document"), "none")
    assert converted.document.text == "First page.\n\nThird page."
    assert converted.status == "partial"
    assert converted.warnings == ("page 2: no text layer, and no OCR is at hand",)


def test_without_ocr_a_scan_has_no_text(tmp_path: Path) -> None:
    """The error names the kind and the remedy."""
    path = scan(tmp_path / "document", page(PHRASE))
    with pytest.raises(DocumentError, match=r"chunkmill\[rapidocr\]") as caught:
        read(path, "none")
    assert caught.value.kind == "no_text"


def test_a_picture_without_words_is_no_failure(tmp_path: Path) -> None:
    """OCR has looked, and there is nothing: a document without text."""
    image = Image.effect_noise((WIDTH // 4, HEIGHT // 4), 60)
    converted = read(scan(tmp_path / "document", image), "tesserocr")
    assert (converted.document.text, converted.status) == ("", "ok")


@pytest.mark.parametrize("engine", ENGINES)
def test_letters_without_a_meaning_are_read_from_the_page(tmp_path: Path, engine: str) -> None:
    """A text layer of private characters is broken: the page shows the words."""
    path = tmp_path / "document"
    lines = [(60, 700 - 20 * i, REGULAR, 14, text) for i, text in enumerate((PHRASE, "Twice."))]
    path.write_bytes(pdf([lines], garbled=True))
    converted = read(path, engine)
    assert words(PHRASE) in words(converted.document.text)
    assert converted.warnings == (f"page 1: a broken text layer, read by {engine}",)


def test_a_stamp_over_a_scan_does_not_hide_it(tmp_path: Path) -> None:
    """A few words of text over a page-wide image are not the page's text."""
    path = tmp_path / "document"
    path.write_bytes(_stamped(page(PHRASE, "The ferry comes back at one.")))
    converted = read(path, "tesserocr")
    assert PHRASE in converted.document.text
    assert converted.warnings == ("page 1: hardly any text over an image, read by tesserocr",)


def _stamped(image: Image.Image) -> bytes:
    """Return a PDF of one page: an image over all of it, and a few words of text."""
    pixels = image.convert("L")
    data = zlib.compress(pixels.tobytes())
    plain = pdf([[(60, 30, REGULAR, 8, "Scanned by Berth")]])
    draw = b"q 595 0 0 842 0 0 cm /Im1 Do Q\n"
    start = plain.index(b"stream\n") + len(b"stream\n")
    length = plain.index(b"/Length ") + len(b"/Length ")
    old = plain[length : plain.index(b" ", length)]
    plain = plain[:start] + draw + plain[start:]
    plain = plain.replace(b"/Length " + old, b"/Length %d" % (int(old) + len(draw)), 1)
    plain = plain.replace(b"/Resources <<", b"/Resources << /XObject << /Im1 99 0 R >>", 1)
    image_object = (
        b"99 0 obj\n<< /Type /XObject /Subtype /Image /Width %d /Height %d /BitsPerComponent 8"
        b" /ColorSpace /DeviceGray /Filter /FlateDecode /Length %d >>\nstream\n"
        % (pixels.width, pixels.height, len(data))
    )
    return plain.replace(b"xref\n", image_object + data + b"\nendstream\nendobj\nxref\n", 1)


@pytest.mark.parametrize(
    ("engine", "turned"),
    [
        *(("tesserocr", turned) for turned in (90, 180, 270)),
        *(pytest.param("rapidocr", turned, marks=pytest.mark.slow) for turned in (180, 270)),
    ],
)
def test_a_page_on_its_side_or_head_is_turned(tmp_path: Path, engine: str, turned: int) -> None:
    """The engine tells how a page lies; boxes are those of the page as it lies."""
    n_lines = 20 if engine == "tesserocr" else 6
    upright = page(*(f"The ferry number {i} leaves at noon." for i in range(1, n_lines + 1)))
    path = scan(tmp_path / "document", upright.rotate(turned, expand=True))
    converted = read(path, engine)
    text = words(converted.document.text)
    places = [text.find(words(f"The ferry number {i} leaves")) for i in range(1, n_lines + 1)]
    assert places == sorted(places)
    assert places[0] >= 0
    box = converted.document.blocks[0].boxes[0]
    width, height = (HEIGHT, WIDTH) if turned % 180 else (WIDTH, HEIGHT)
    assert 0 <= box.left < box.right <= width * 72 / DPI + 1
    assert 0 <= box.top < box.bottom <= height * 72 / DPI + 1
    middle = (box.top + box.bottom) / 2 / (height * 72 / DPI)
    assert {90: middle > 0.5, 180: middle > 0.5, 270: middle < 0.5}[turned]


@pytest.mark.parametrize(("engine", "skew"), [("tesserocr", 8), ("rapidocr", -6)])
def test_a_page_askew_is_read_in_order(tmp_path: Path, engine: str, skew: int) -> None:
    """Columns, too, which would lean into each other."""
    image = page(*(f"Left row {i} goes on and on" for i in "abcdef"), left=180)
    write(image, tuple(f"Right row {i} goes on and on" for i in "abcdef"), 660, 150)
    path = scan(tmp_path / "document", image.rotate(skew, Image.Resampling.BICUBIC, fillcolor=255))
    converted = read(path, engine)
    text = words(converted.document.text)
    places = [text.find(words(f"{side} row {i}")) for side in ("Left", "Right") for i in "abcdef"]
    assert places == sorted(places)
    assert places[0] >= 0
    for box in (box for block in converted.document.blocks for box in block.boxes):
        assert 0 <= box.left < box.right <= WIDTH * 72 / DPI + 1


def test_a_page_is_rendered_for_ocr_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a page of text, nor a picture on it, nor a bare drawing: only the scan."""
    rendered: list[int] = []
    render = pypdfium2.PdfPage.render

    def count(page: pypdfium2.PdfPage, **options: object) -> pypdfium2.PdfBitmap:
        rendered.append(1)
        return render(page, **options)

    monkeypatch.setattr(pypdfium2.PdfPage, "render", count)
    read(mixed(tmp_path / "document"), "tesserocr")
    assert len(rendered) == 1
    read(mixed(tmp_path / "document"), "none")
    assert len(rendered) == 1
    lines = [(60, 700 - 20 * i, REGULAR, 10, f"Line {i}: {PHRASE}") for i in range(20)]
    (tmp_path / "document").write_bytes(pdf([lines] * 3))
    read(tmp_path / "document", "tesserocr")
    assert len(rendered) == 1


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP"])
def test_images_are_pages(tmp_path: Path, kind: str) -> None:
    """One page each, whatever the file format."""
    path = tmp_path / "document"
    page(PHRASE).save(path, kind, dpi=(DPI, DPI))
    converted = read(path, "tesserocr", "image")
    assert converted.document.text == PHRASE
    assert (converted.document.n_pages, converted.parser) == (1, "image+tesserocr")


def test_frames_of_a_tiff_are_pages(tmp_path: Path) -> None:
    """A fax has its pages in one file."""
    path = tmp_path / "document"
    page("First leaf of the fax").save(
        path, "TIFF", save_all=True, append_images=[page("Second leaf of the fax")]
    )
    converted = read(path, "tesserocr", "image")
    assert converted.document.text == "First leaf of the fax\n\nSecond leaf of the fax"
    assert [block.page_start for block in converted.document.blocks] == [1, 2]


@pytest.mark.parametrize("mode", ["RGBA", "P", "CMYK", "1", "I;16"])
def test_images_of_all_colours_are_read(tmp_path: Path, mode: str) -> None:
    """Transparent is paper, and no colour mode fails."""
    path = tmp_path / "document"
    image = page(PHRASE)
    if mode == "RGBA":
        clear = Image.new("RGBA", image.size, (0, 0, 0, 0))
        clear.paste((0, 0, 0, 255), mask=image.point(lambda value: 255 - value))
        image = clear
    elif mode == "I;16":
        image = image.convert("I").point(lambda value: value * 257).convert("I;16")
    else:
        image = image.convert(mode)
    image.save(path, "TIFF" if mode in ("CMYK", "I;16") else "PNG")
    assert read(path, "tesserocr", "image").document.text == PHRASE


def _declares(width: int, height: int) -> bytes:
    """Return a PNG that declares a size and holds next to nothing."""
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([1, 0, 0, 0, 0])
    parts = [b"\x89PNG\r\n\x1a\n"]
    for name, body in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b"")):
        crc = zlib.crc32(name + body).to_bytes(4, "big")
        parts += [len(body).to_bytes(4, "big"), name, body, crc]
    return b"".join(parts)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (_declares(60_000, 60_000), "unsafe"),
        (_declares(16_000, 16_000), "unsafe"),
        (_declares(400, 400), "corrupt"),
        (b"\x00\x00\x00\x18ftypheic" + bytes(100), "unsupported_format"),
    ],
    ids=["bomb", "large", "cut short", "heic"],
)
def test_images_that_cannot_be_read_say_why(tmp_path: Path, content: bytes, kind: str) -> None:
    """Bombs are told by what they declare, before anything is decoded."""
    path = tmp_path / "document"
    path.write_bytes(content)
    with pytest.raises(DocumentError) as caught:
        read(path, "tesserocr", "image")
    assert caught.value.kind == kind


def test_an_image_needs_ocr(tmp_path: Path) -> None:
    """Without an engine the error names the extras."""
    path = tmp_path / "document"
    page(PHRASE).save(path, "PNG")
    with pytest.raises(DocumentError, match="install chunkmill") as caught:
        read(path, "none", "image")
    assert caught.value.kind == "no_text"


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Let packages named in the set be not installed."""
    names: set[str] = set()
    find = importlib.util.find_spec

    def found(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in names else find(name, package)

    monkeypatch.setattr(ocr.importlib.util, "find_spec", found)
    yield names
    names.clear()


def test_auto_takes_what_is_there(absent: set[str]) -> None:
    """Tesseract first, as it knows more languages; then RapidOCR; then none."""
    assert ocr.fix_ocr(Config()).parser.ocr == "tesserocr"
    absent.add("tesserocr")
    assert ocr.fix_ocr(Config()).parser.ocr == "rapidocr"
    absent.add("onnxruntime")
    assert ocr.fix_ocr(Config()).parser.ocr == "none"
    assert ocr.engine_of(ParserConfig()) is None


def test_auto_passes_over_an_engine_without_the_language() -> None:
    """Languages are Tesseract's; where it lacks one, it is not taken."""
    config = load_config(None, ['parser.ocr_languages=["eng", "xyz"]'])
    assert ocr.fix_ocr(config).parser.ocr == "rapidocr"


@pytest.mark.parametrize(
    ("settings", "missing", "message"),
    [
        (["parser.ocr=tesserocr"], "tesserocr", r"chunkmill\[tesserocr\]"),
        (["parser.ocr=rapidocr"], "onnxruntime", r"chunkmill\[rapidocr\]"),
        (
            ["parser.ocr=tesserocr", 'parser.ocr_languages=["eng", "xyz"]'],
            "nothing",
            "no data for xyz: install tesseract-ocr-xyz, or .*TESSDATA_PREFIX",
        ),
    ],
)
def test_an_engine_that_is_asked_for_must_be_there(
    absent: set[str], settings: list[str], missing: str, message: str
) -> None:
    """One line says what to install."""
    absent.add(missing)
    with pytest.raises(ConfigError, match=message):
        ocr.fix_ocr(load_config(None, settings))


@pytest.mark.parametrize("engine", ENGINES)
def test_ocr_works_in_the_child(tmp_path: Path, engine: str) -> None:
    """Under the limits of memory, files and processes, twice with one child."""
    path = scan(tmp_path / "document", page(PHRASE))
    parser = ChildParser(ParserConfig.model_validate({"ocr": engine}), LimitsConfig(), preload=None)
    try:
        for _ in range(2):
            outcome = parser.parse(path, name="a")
            assert (outcome.status, outcome.error_message) == ("ok", None)
            assert outcome.document is not None
            assert words(PHRASE) in words(outcome.document.text)
    finally:
        parser.close()


def test_letter_heights_are_smoothed() -> None:
    """Lines of one font are of one size, whatever letters they hold; a heading stays larger."""
    heights = (20, 22, 18, 24, 21, 48)
    lines = [
        ocr.OcrLine(text="words and words", left=0, top=0, right=9, bottom=9, size=height)
        for height in heights
    ]
    sizes = [line.size for line in ocr.smoothed(lines)]
    assert len(set(sizes[:5])) == 1
    assert sizes[5] == 48
    assert ocr.smoothed([]) == ()


def test_an_empty_page_is_not_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without text are shown to OCR only if there is something to see."""
    path = tmp_path / "document"
    path.write_bytes(pdf([[(60, 700, REGULAR, 11, "First page.")], []]))
    monkeypatch.delattr(scans, "_rendered")
    converted = read(path, "tesserocr")
    assert (converted.document.text, converted.warnings) == ("First page.", ())


def test_words_drawn_as_outlines_are_read(tmp_path: Path) -> None:
    """A page of paths and no text is drawn, too."""
    path = tmp_path / "document"
    bars = [(60 + 12 * i, 700, REGULAR, 11, "I") for i in range(3)]
    strokes = b"".join(b"%d 600 m %d 640 l S\n" % (x, x) for x in (100, 130, 160))
    data = pdf([bars])
    start, end = data.index(b"stream\n") + 7, data.index(b"\nendstream")
    path.write_bytes(data[:start] + strokes.ljust(end - start) + data[end:])
    assert read(path, "tesserocr").parser == "pdf-fast+tesserocr"
