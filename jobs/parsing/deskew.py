"""Scans that lie askew are turned straight before they are read.

Method: the angle at which the ink's projection is most uneven, for lines of text make
rows of ink and rows of paper (Postl, "Method for automatic correction of character skew in
the acquisition of a text original", US patent 4723297, 1988).
"""

from __future__ import annotations

import numpy as np
from PIL import Image

__all__ = ["straightened"]

_SIDE = 700
"""Pixels of the longer side of the image in which the angle is looked for."""
_MOST = 10.0
_COARSE, _FINE = 1.0, 0.1
_LEAST = 0.4
"""Degrees below which both engines read as well."""
_CLEAR = 1.15
"""How much more uneven the projection must be than that of the page as it lies."""
_PAPER = 240
"""Of 255: what is darker counts as ink, by how dark it is."""


def straightened(image: Image.Image) -> tuple[Image.Image, float]:
    """Return an image with its lines level, and by how many degrees it was turned for that.

    It is turned counter-clockwise about its middle, and larger by the corners then. Skew of
    up to ten degrees is seen, of pages that stand, lie or are upside down alike.
    """
    angle = _skew(image)
    if not angle:
        return image, 0.0
    paper = 255 if image.mode == "L" else (255,) * len(image.getbands())
    turned = image.rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=paper)
    return turned, angle


def _skew(image: Image.Image) -> float:
    scale = min(_SIDE / max(image.size), 1.0)
    size = (max(round(image.width * scale), 1), max(round(image.height * scale), 1))
    small = image.convert("L").resize(size, Image.Resampling.BOX)
    ink = small.point(lambda value: 255 - value if value < _PAPER else 0)
    level = _unevenness(ink, 0.0)
    if not level:
        return 0.0
    best = 0.0
    for step, reach in ((_COARSE, _MOST), (_FINE, _COARSE)):
        around = np.arange(-reach, reach + step / 2, step) + best
        best = max(map(float, around), key=lambda angle: _unevenness(ink, angle))
    if abs(best) < _LEAST or _unevenness(ink, best) < _CLEAR * level:
        return 0.0
    return round(best, 1)


def _unevenness(ink: Image.Image, angle: float) -> float:
    """Return how much neighbouring rows, or columns, of the turned image differ in ink."""
    turned = ink.rotate(angle, Image.Resampling.BILINEAR) if angle else ink
    pixels = np.asarray(turned, dtype=np.float64)
    rows, columns = pixels.sum(axis=1), pixels.sum(axis=0)
    return float(max((np.diff(rows) ** 2).sum(), (np.diff(columns) ** 2).sum()))
