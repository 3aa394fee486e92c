"""Pages that lie askew, and those that do not."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw, ImageFont

from jobs.parsing.deskew import straightened


def page() -> Image.Image:
    """Draw a page of paragraphs."""
    image = Image.new("L", (827, 1169), 255)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=16)
    for i in range(34):
        if i % 9 != 8:
            words = "The ferry leaves the quay at nine and comes back at one."
            draw.text((80, 90 + 28 * i), words[: 30 + 7 * i % 27], fill=0, font=font)
    return image


@pytest.mark.parametrize(
    ("skew", "lying"), [(-9.0, 0), (-3.3, 90), (0.8, 0), (0.8, 270), (6.5, 180)]
)
def test_a_page_askew_is_turned_straight(skew: float, lying: int) -> None:
    """Whichever way up it lies."""
    scan = page().rotate(lying, expand=True).rotate(-skew, Image.Resampling.BICUBIC, fillcolor=255)
    straight, angle = straightened(scan)
    assert angle == pytest.approx(skew, abs=0.35)
    assert straight.width >= scan.width
    assert straight.height >= scan.height


@pytest.mark.parametrize("skew", [0.0, 0.2])
def test_a_straight_page_is_left_as_it_is(skew: float) -> None:
    """A turned image is never sharper."""
    scan = page().rotate(-skew, Image.Resampling.BICUBIC, fillcolor=255)
    assert straightened(scan) == (scan, 0.0)


@pytest.mark.parametrize(
    "image",
    [
        Image.new("L", (500, 700), 255),
        Image.new("RGB", (3, 1), "white"),
        Image.new("L", (1, 900), 0),
        Image.effect_noise((300, 400), 80).convert("L"),
    ],
    ids=["blank", "tiny", "line", "noise"],
)
def test_what_has_no_lines_is_left_as_it_is(image: Image.Image) -> None:
    """Nothing tells which way it lies."""
    assert straightened(image) == (image, 0.0)
