"""The page in a real Chromium: drawn, quiet, harmless, operable by keyboard, readable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from chunking.errors import DocumentError
from jobs.inspection.page import render_page
from jobs.notebook import Chunkmill, Chunks
from jobs.visible import visible
from tests.chromium import OpenPage, open_page
from tests.corpus import hard_files, requires_corpus
from tests.inspected import MODEL, chunked, hostile, prose, tables

# The text of a chunk: its exact parts, in order, as they stand in the page.
TEXTS = """
() => [...document.querySelectorAll('.chunk')].map((chunk) => {
  const own = [...chunk.querySelectorAll('.exact')];
  return own.map((part) => part.textContent).join('');
})
"""

# WCAG 2.2, 1.4.3: contrast of every text with the first opaque background behind it.
CONTRASTS = """
() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) =>
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !parent.checkVisibility()) continue;
    if (parent.closest('script, style, select, title, desc')) continue;
    const style = getComputedStyle(parent);
    const ink = rgb(parent instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [luminance(ink), luminance(ground(parent))].sort((x, y) => y - x);
    seen += 1;
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.push([ratio.toFixed(2), walker.currentNode.data.slice(0, 40)]);
  }
  return { seen, poor };
}
"""


OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true })"


@contextmanager
def _shown(browser: Browser, chunks: Chunks, folder: Path, **options: Any) -> Iterator[OpenPage]:
    """Open the page; at the end it must have said nothing and asked for nothing but itself."""
    path = folder / "page.html"
    path.write_text(render_page(chunks), encoding="utf-8")
    with open_page(browser, path, **options) as opened:
        yield opened
        assert opened.said == []
        assert opened.asked == [path.as_uri()]


def _focused(page: Page) -> str:
    focused: str = page.evaluate("document.activeElement.id")
    return focused


@pytest.mark.parametrize("overlap", [0, 2])
@pytest.mark.parametrize("make", [prose, tables, hostile])
def test_the_chunks_are_all_there(
    browser: Browser, tmp_path: Path, make: Any, overlap: int
) -> None:
    """As many elements as chunks, and the text of each is its slice."""
    chunks = chunked(
        make(), boundaries="recursive", overlap=overlap, overlap_unit="sentences", max_tokens=70
    )
    with _shown(browser, chunks, tmp_path) as opened:
        texts = opened.page.evaluate(TEXTS)
    assert texts == [visible(view.text) for view in chunks]


def test_numbers_shown_are_the_values(browser: Browser, tmp_path: Path) -> None:
    """Each chunk says its tokens, reason, distance and threshold; so do table and curve."""
    chunks = chunked(prose(6, 15), max_tokens=90)
    with _shown(browser, chunks, tmp_path) as opened:
        page = opened.page
        page.get_by_text("chunk ends as a table").click()
        for view in chunks:
            article = page.locator(f"#c{view.index}")
            expect(article).to_contain_text(f"{view.n_tokens} of 90 tokens")
            end = article.locator(".end")
            expect(end).to_contain_text(f"ends: {view.reason}")
            row = page.locator(".numbers tbody tr").nth(view.index)
            expect(row).to_contain_text(view.reason)
            if view.distance is not None:
                expect(end).to_contain_text(f"distance {view.distance:.3f}")
                expect(row).to_contain_text(f"{view.distance:.3f}")
                mark = page.locator(f"#b{view.index}")
                assert f"distance {view.distance:.3f}" in (mark.get_attribute("aria-label") or "")
            if view.threshold is not None:
                expect(end).to_contain_text(f"threshold {view.threshold:.3f}")
        meters = page.eval_on_selector_all("meter", "all => all.map((one) => [one.value, one.max])")
    assert meters == [[view.n_tokens, 90] for view in chunks]


def test_nothing_that_a_document_says_runs(browser: Browser, tmp_path: Path) -> None:
    """Scripts, handlers, links, templates and headings of a hostile document are text."""
    key = "</title><script>document.title='owned'</script>.md"
    chunks = chunked(hostile(), key=key, max_tokens=70)
    with _shown(browser, chunks, tmp_path) as opened:
        page = opened.page
        page.mouse.move(400, 400)
        page.keyboard.press("Tab")
        page.wait_for_timeout(200)
        assert page.title().startswith("Chunks of </title><script>")
        assert page.locator("script").count() == 1
        assert page.locator("img, iframe, textarea, base, main a[href^='javascript']").count() == 0
        assert page.get_by_text("{{7*7}}").count() > 0
        expect(page.locator("body")).to_contain_text("\u27e8U+202E\u27e9")


def test_tables_are_tables_and_code_is_code(browser: Browser, tmp_path: Path) -> None:
    """Rows have cells, a continuation shows its header as repeated, code keeps its blanks."""
    chunks = chunked(tables(), max_tokens=70)
    with _shown(browser, chunks, tmp_path) as opened:
        page = opened.page
        rows = page.locator(".chunk table tbody tr")
        assert rows.count() == 40
        assert rows.nth(3).locator("td").all_inner_texts() == ["3 m", "105 kr.", "a|b"]
        repeated = page.locator(".chunk thead.again")
        assert repeated.count() == page.locator(".chunk table").count() - 1 > 1
        expect(repeated.first).to_contain_text("header repeated in the prefix")
        code = page.locator(".part.code .exact").first
        assert code.evaluate("one => getComputedStyle(one).whiteSpace").startswith("pre-wrap")
        expect(page.get_by_text("code, python").first).to_be_visible()


def test_keys_move_through_the_chunks(browser: Browser, tmp_path: Path) -> None:
    """Keys j and k, n and p step; g takes a number; / searches; Escape clears; ? helps."""
    chunks = chunked(prose(6, 15), max_tokens=90)
    with _shown(browser, chunks, tmp_path) as opened:
        page = opened.page
        for key, there in (("j", 0), ("j", 1), ("n", 2), ("k", 1), ("p", 0), ("k", 0)):
            page.keyboard.press(key)
            assert _focused(page) == f"c{there}"
        assert page.locator("[aria-current=true]").count() == 1
        expect(page.locator(".mark.here")).to_have_id("b0")
        page.keyboard.press("g")
        page.keyboard.type("4")
        page.keyboard.press("Enter")
        assert _focused(page) == "c4"
        page.keyboard.press("/")
        page.keyboard.type("Ship 2.")
        expect(page.locator("#count")).to_contain_text(f"of {len(chunks)} shown")
        shown = page.locator(".chunk:visible")
        assert 0 < shown.count() < len(chunks)
        page.keyboard.press("Escape")
        expect(page.locator("#count")).to_have_text("")
        assert shown.count() == len(chunks)
        page.keyboard.press("?")
        expect(page.get_by_text("next chunk")).to_be_visible()
        page.get_by_label("single keys are shortcuts").uncheck()
        before = _focused(page)
        page.keyboard.press("j")
        assert _focused(page) == before


def test_filters_and_buttons(browser: Browser, tmp_path: Path) -> None:
    """Reason and kind leave what fits; the buttons step through that alone."""
    chunks = chunked(tables(), max_tokens=70)
    with _shown(browser, chunks, tmp_path) as opened:
        page = opened.page
        page.get_by_role("combobox", name="Kind").select_option("table")
        wanted = [view.index for view in chunks if view.kind == "table"]
        assert page.locator(".chunk:visible").count() == len(wanted)
        for index in wanted[:2]:
            page.get_by_role("button", name="Next").click()
            assert _focused(page) == f"c{index}"
        page.get_by_role("button", name="Previous").click()
        assert _focused(page) == f"c{wanted[0]}"
        page.get_by_role("combobox", name="Kind").select_option("")
        page.get_by_role("combobox", name="Ends").select_option("document_end")
        assert page.locator(".chunk:visible").count() == 1


def test_curve_and_chunks_lead_to_each_other(browser: Browser, tmp_path: Path) -> None:
    """A mark leads to its chunk, also to one that a filter hides, and the chunk to its mark."""
    chunks = chunked(prose(6, 15), max_tokens=90)
    with _shown(browser, chunks, tmp_path) as opened:
        page = opened.page
        page.locator("#b3").click()
        assert _focused(page) == "c3"
        expect(page.locator("#c3")).to_be_in_viewport()
        page.locator("#c3").get_by_role("link", name="on the distance curve").click()
        expect(page.locator("#b3")).to_be_in_viewport()
        page.get_by_label("Search").fill("Ship 0.0")
        expect(page.locator("#c5")).to_be_hidden()
        page.locator("#b5").click()
        expect(page.locator("#c5")).to_be_visible()
        assert _focused(page) == "c5"


def test_it_reads_without_javascript(browser: Browser, tmp_path: Path) -> None:
    """All text and links are there; the tools, which would do nothing, are not."""
    chunks = chunked(tables(), max_tokens=70)
    with _shown(browser, chunks, tmp_path, java_script_enabled=False) as opened:
        page = opened.page
        expect(page.get_by_role("navigation")).to_be_hidden()
        assert page.get_by_role("article").count() == len(chunks)
        expect(page.locator("#c0")).to_be_visible()


def test_a_screen_reader_finds_its_way(browser: Browser, tmp_path: Path) -> None:
    """Landmarks, one first heading, named regions, labelled fields, a described curve."""
    chunks = chunked(prose(3, 15), max_tokens=90)
    with _shown(browser, chunks, tmp_path) as opened:
        page = opened.page
        for role in ("banner", "main", "contentinfo"):
            assert page.get_by_role(role).count() == 1
        assert page.get_by_role("navigation", name="Chunks").count() == 1
        assert page.get_by_role("heading", level=1).all_inner_texts() == ["sample.md"]
        for name in ("Document and settings", "Distances", "Boundaries", "Sizes", "Chunks"):
            assert page.get_by_role("region", name=name, exact=True).count() == 1
        for view in chunks:
            path = " \u203a ".join(view.heading_path)
            name = f"Chunk {view.index} {path}"
            assert page.get_by_role("article", name=name, exact=True).count() == 1
        assert page.get_by_role("spinbutton", name="Chunk").count() == 1
        assert page.get_by_role("searchbox", name="Search").count() == 1
        assert page.get_by_role("combobox", name="Ends").count() == 1
        curve = page.get_by_role("group", name="Cosine distance between neighbouring sentences")
        assert curve.count() == 1
        assert curve.get_by_role("link").count() == len(chunks) - 1
        assert page.get_by_role("img", name="Chunks by size in tokens").count() == 1
        snapshot = page.locator("main").aria_snapshot()
        assert 'article "Chunk 0' in snapshot
        levels = page.eval_on_selector_all(
            "h1, h2, h3", "all => all.map((h) => Number(h.tagName[1]))"
        )
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("make", [prose, tables, hostile])
def test_an_accessibility_checker_finds_nothing(
    browser: Browser, tmp_path: Path, make: Any
) -> None:
    """Deque's axe, with all details open, names no violation of its rules."""
    chunks = chunked(
        make(), boundaries="recursive", overlap=1, overlap_unit="sentences", max_tokens=70
    )
    with _shown(browser, chunks, tmp_path) as opened:
        opened.page.evaluate(OPEN_ALL)
        found = Axe().run(opened.page)
    assert [violation["id"] for violation in found.response["violations"]] == []


@pytest.mark.parametrize("media", [{"color_scheme": "light"}, {"color_scheme": "dark"}])
@pytest.mark.parametrize("make", [prose, tables, hostile])
def test_contrast_in_light_and_dark(
    browser: Browser, tmp_path: Path, media: dict[str, str], make: Any
) -> None:
    """Every text has a contrast of 4.5 to 1 at least (WCAG 2.2, 1.4.3)."""
    chunks = chunked(
        make(), boundaries="recursive", overlap=1, overlap_unit="sentences", max_tokens=70
    )
    with _shown(browser, chunks, tmp_path, **media) as opened:
        opened.page.evaluate(
            "document.querySelectorAll('details').forEach((d) => { d.open = true })"
        )
        found = opened.page.evaluate(CONTRASTS)
    assert found["seen"] > 50
    assert found["poor"] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_prints(browser: Browser, tmp_path: Path, scheme: str) -> None:
    """On paper the text stays, dark on white, and the tools go; a PDF has all of it."""
    chunks = chunked(tables(), max_tokens=70)
    with _shown(browser, chunks, tmp_path, color_scheme=scheme) as opened:
        page = opened.page
        page.emulate_media(media="print", color_scheme=scheme)
        expect(page.locator("#tools")).to_be_hidden()
        for view in chunks:
            expect(page.locator(f"#c{view.index} .body")).to_be_visible()
        found = page.evaluate(CONTRASTS)
        assert found["poor"] == []
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        assert len(page.pdf()) > 10_000


def test_a_narrow_window_needs_no_sideways_scrolling(browser: Browser, tmp_path: Path) -> None:
    """At 320 pixels only tables and drawings scroll within themselves (WCAG 2.2, 1.4.10)."""
    size = {"width": 320, "height": 640}
    for make in (prose, tables, hostile):
        with _shown(browser, chunked(make(), max_tokens=70), tmp_path, viewport=size) as opened:
            width = opened.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 320


def test_motion_is_left_out_where_it_is_unwanted(browser: Browser, tmp_path: Path) -> None:
    """With `prefers-reduced-motion` the page jumps and does not glide."""
    chunks = chunked(prose(), max_tokens=90)
    for wish, behaviour in (("reduce", "auto"), ("no-preference", "smooth")):
        with _shown(browser, chunks, tmp_path, reduced_motion=wish) as opened:
            style = "getComputedStyle(document.documentElement).scrollBehavior"
            assert opened.page.evaluate(style) == behaviour


ORDINARY = {file.format: file for file in hard_files() if not file.why_hard and file.size < 200_000}
"""One ordinary file of each format."""


@pytest.mark.slow
@pytest.mark.corpus
@requires_corpus
def test_real_documents_have_quiet_pages(browser: Browser, tmp_path: Path) -> None:
    """Files of all formats, as their makers wrote them: every chunk is there, nothing runs."""
    drawn = 0
    with Chunkmill(MODEL) as mill:
        for file in ORDINARY.values():
            try:
                document = mill.parse(file.path)
            except DocumentError:
                continue  # a scan, or a format that is not read
            chunks = mill.chunk(document, max_tokens=100)
            with _shown(browser, chunks, tmp_path) as opened:
                texts = opened.page.evaluate(TEXTS)
            assert texts == [visible(view.text) for view in chunks], file.key
            drawn += 1
    assert drawn > 5


def test_a_long_document_can_be_walked(browser: Browser, tmp_path: Path) -> None:
    """Numbers lead to chunks drawn plainly and to groups; the page is quiet."""
    chunks = chunked(
        prose(900, 20), max_tokens=40, min_tokens=0, vectors="none", boundaries="recursive"
    )
    with _shown(browser, chunks, tmp_path) as opened:
        page = opened.page
        number = page.get_by_role("spinbutton", name="Chunk")
        for asked in (2, 4000, len(chunks) - 1):
            number.fill(str(asked))
            number.press("Enter")
            there = int(_focused(page)[1:])
            assert there <= asked
            assert visible(chunks[asked].text) in (page.locator(f"#c{there}").text_content() or "")
            assert page.locator(f"#c{there}").evaluate(
                "one => one.getBoundingClientRect().top < innerHeight"
            )
