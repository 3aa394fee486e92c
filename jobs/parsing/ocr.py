"""Text of page images by OCR, as lines with their places; the engines are extras.

``tesserocr`` needs Tesseract's language data on the machine (Debian's ``tesseract-ocr``
and ``tesseract-ocr-LANG``); ``rapidocr`` brings its weights along.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from chunking.errors import ConfigError
from jobs.config import Config, ParserConfig

__all__ = ["INSTALL_HINT", "OcrEngine", "OcrLine", "Reading", "engine_of", "fix_ocr", "smoothed"]

_TESSDATA = (
    "/usr/share/tesseract-ocr/5/tessdata",
    "/usr/share/tesseract-ocr/4.00/tessdata",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
    "/opt/homebrew/share/tessdata",
)
INSTALL_HINT = "install chunkmill[rapidocr] or chunkmill[tesserocr]"
_LANGUAGES = ("eng",)
_ORIENTATION = "osd"
_MIN_ORIENTATION_CONFIDENCE = 2.0
_MIN_CONFIDENCE = 0.5
"""Below it, what was read are specks, drawings or another script rather than words."""
_SAME_SIZE = 1.3
_QUARTER, _HALF = 90, 180
_SURE = 0.9
"""Below it on the whole, a page may be upside down."""
_LONG = 2.0
"""From which ratio of its sides a box tells the direction of its line."""
Name = Literal["none", "tesserocr", "rapidocr"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OcrLine:
    """One line that was read; its box and ``size`` (letter height) in pixels from the top left."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read from one image.

    ``turned``: by how many degrees clockwise (0, 90, 180, 270) the image had to be turned
    to be upright; boxes are those of the turned image.
    """

    lines: tuple[OcrLine, ...]
    turned: int = 0


class OcrEngine(Protocol):
    """Reads images; ``dpi`` is the resolution it reads best."""

    name: str
    dpi: int

    def read(self, image: Image.Image) -> Reading:
        """Return the lines of an image of one page."""
        ...


def fix_ocr(config: Config) -> Config:
    """Return the configuration with the OCR engine that ``auto`` finds here.

    Raises:
        ConfigError: the engine that is asked for is not installed, or lacks a language.
    """
    name = _found(config.parser)
    parser = config.parser.model_copy(update={"ocr": name})
    return config.model_copy(update={"parser": parser})


def engine_of(parser: ParserConfig) -> OcrEngine | None:
    """Return the engine of a configuration, None where there is none.

    Raises:
        ConfigError: as :func:`fix_ocr`.
    """
    name = _found(parser)
    return None if name == "none" else _engine(name, parser.ocr_languages)


def smoothed(lines: Sequence[OcrLine]) -> tuple[OcrLine, ...]:
    """Give lines of nearly the same letter height the height that most have.

    A box is as high as the letters that happen to stand in its line, which says nothing
    about the font; only a clear difference is one.
    """
    if not lines:
        return ()
    weighted = [line.size for line in lines for _ in range(max(len(line.text) // 8, 1))]
    common = statistics.median(weighted)
    return tuple(
        replace(line, size=common)
        if common / _SAME_SIZE <= line.size <= common * _SAME_SIZE
        else line
        for line in lines
    )


def _found(parser: ParserConfig) -> Name:
    """Return the engine that is asked for, having made sure of it, or the first that works."""
    if parser.ocr == "auto":
        return next((name for name, check in _CHECKS.items() if not check(parser)), "none")
    problem = None if parser.ocr == "none" else _CHECKS[parser.ocr](parser)
    if problem is not None:
        msg = f"parser.ocr is {parser.ocr}, but {problem}"
        raise ConfigError(msg)
    return parser.ocr


def _lacks_tesserocr(parser: ParserConfig) -> str | None:
    if importlib.util.find_spec("tesserocr") is None:
        return "tesserocr is not installed: pip install 'chunkmill[tesserocr]'"
    wanted = parser.ocr_languages or _LANGUAGES
    missing = [language for language in wanted if _data_folder((language,)) is None]
    if missing or _data_folder(wanted) is None:
        return (
            f"Tesseract has no data for {', '.join(missing or wanted)}: install "
            f"{' '.join(f'tesseract-ocr-{name}' for name in missing or wanted)}, "
            "or name its folder in TESSDATA_PREFIX"
        )
    return None


def _lacks_rapidocr(parser: ParserConfig) -> str | None:
    del parser
    if any(importlib.util.find_spec(name) is None for name in ("rapidocr", "onnxruntime")):
        return "rapidocr or onnxruntime is not installed: pip install 'chunkmill[rapidocr]'"
    return None


_CHECKS: dict[Name, Any] = {"tesserocr": _lacks_tesserocr, "rapidocr": _lacks_rapidocr}
"""Per engine, what is missing for it; in the order in which ``auto`` asks."""


def _data_folder(languages: Iterable[str]) -> Path | None:
    own = os.environ.get("TESSDATA_PREFIX")
    folders = [Path(own), Path(own, "tessdata")] if own else []
    for folder in (*folders, *map(Path, _TESSDATA)):
        if all((folder / f"{language}.traineddata").is_file() for language in languages):
            return folder
    return None


@functools.cache
def _engine(name: Name, languages: tuple[str, ...]) -> OcrEngine:
    return _Tesserocr(languages or _LANGUAGES) if name == "tesserocr" else _RapidOcr()


class _Tesserocr:
    name = "tesserocr"
    dpi = 300

    def __init__(self, languages: tuple[str, ...]) -> None:
        self._languages = languages
        self._folder = str(_data_folder(languages) or "")
        self._turns = _data_folder((*languages, _ORIENTATION)) is not None

    def read(self, image: Image.Image) -> Reading:
        """Return the lines of the page, turned upright first where Tesseract is sure."""
        turned = self._turned(image)
        if turned:
            image = image.rotate(-turned, expand=True)
        return Reading(lines=tuple(self._lines(image)), turned=turned)

    def _turned(self, image: Image.Image) -> int:
        if not self._turns:
            return 0
        import tesserocr  # noqa: PLC0415 - an extra

        with tesserocr.PyTessBaseAPI(
            path=self._folder, lang=_ORIENTATION, psm=tesserocr.PSM.OSD_ONLY
        ) as api:
            api.SetImage(image)
            found = api.DetectOrientationScript()
        if not found or found["orient_conf"] < _MIN_ORIENTATION_CONFIDENCE:
            return 0
        return int(360 - found["orient_deg"]) % 360

    def _lines(self, image: Image.Image) -> Iterable[OcrLine]:
        import tesserocr  # noqa: PLC0415 - an extra

        level = tesserocr.RIL.TEXTLINE
        with tesserocr.PyTessBaseAPI(
            path=self._folder, lang="+".join(self._languages), psm=tesserocr.PSM.AUTO
        ) as api:
            api.SetImage(image)
            api.SetSourceResolution(self.dpi)
            api.Recognize()
            for row in tesserocr.iterate_level(api.GetIterator(), level):
                if row.Empty(level) or row.Confidence(level) < 100 * _MIN_CONFIDENCE:
                    continue
                text = " ".join(row.GetUTF8Text(level).split())
                box = row.BoundingBox(level)
                if not text or box is None:
                    continue
                left, top, right, bottom = map(float, box)
                height = float(row.RowAttributes()["row_height"]) or bottom - top
                yield OcrLine(
                    text=text, left=left, top=top, right=right, bottom=bottom, size=height
                )


class _RapidOcr:
    name = "rapidocr"
    dpi = 200

    def __init__(self) -> None:
        self._reader: Callable[..., Any] | None = None

    def read(self, image: Image.Image) -> Reading:
        """Return the lines of the page, turned upright first.

        Lines that run up or down stand in boxes higher than wide. Which way is up shows in
        how sure the engine is: its own classifier would turn lines, not the page.
        """
        turned = 0
        found = self._found(image)
        if _mostly_upright_boxes(found):
            turned = _QUARTER
            found = self._found(image.rotate(-turned, expand=True))
        if _certainty(found) < _SURE:
            other = self._found(image.rotate(-turned - _HALF, expand=True))
            if _certainty(other) > _certainty(found):
                turned, found = turned + _HALF, other
        lines = tuple(line for line, score in found if line.text and score >= _MIN_CONFIDENCE)
        return Reading(lines=lines, turned=turned)

    def _found(self, image: Image.Image) -> list[_Scored]:
        if self._reader is None:
            self._reader = _rapidocr()
        found = self._reader(np.asarray(image.convert("RGB"))[:, :, ::-1])
        if found.boxes is None or found.txts is None:
            return []
        return [
            (_line(corners, text), float(score))
            for corners, text, score in zip(found.boxes, found.txts, found.scores, strict=True)
        ]


_Scored = tuple[OcrLine, float]
"""A line and how sure the engine is of it, 0 to 1."""


def _rapidocr() -> Callable[..., Any]:
    from rapidocr import RapidOCR  # noqa: PLC0415 - an extra

    return RapidOCR(
        params={
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            "Global.log_level": "critical",
            "Global.text_score": 0.0,
            "Global.use_cls": False,
        }
    )


def _line(corners: NDArray[np.float32], text: str) -> OcrLine:
    (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
    return OcrLine(
        text=" ".join(text.split()),
        left=float(left),
        top=float(top),
        right=float(right),
        bottom=float(bottom),
        size=float(bottom - top),
    )


def _mostly_upright_boxes(found: Sequence[_Scored]) -> bool:
    lengths = [
        (line.bottom - line.top, line.right - line.left)
        for line, _ in found
        if max(line.bottom - line.top, line.right - line.left)
        > _LONG * min(line.bottom - line.top, line.right - line.left)
    ]
    return sum(height for height, width in lengths if height > width) > sum(
        width for height, width in lengths if width > height
    )


def _certainty(found: Sequence[_Scored]) -> float:
    """Return how sure the engine is of what it has read, per character."""
    n_chars = sum(len(line.text) for line, _ in found)
    return sum(score * len(line.text) for line, score in found) / n_chars if n_chars else 0.0
