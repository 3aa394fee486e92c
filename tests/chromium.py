"""A real Chromium that must reach nothing: pages from files, watched for all they do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

__all__ = ["OpenPage", "chromium", "open_page", "why_no_chromium"]

_PROGRAM = "chromium"
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


# Long enough for a machine that is busy with other tests; only a failure takes it.
expect.set_options(timeout=30_000)


@dataclass(slots=True, kw_only=True)
class OpenPage:
    """A page, and what it said, asked for or failed at."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


def why_no_chromium() -> str | None:
    """Return why Chromium cannot run here, or None."""
    return None if shutil.which(_PROGRAM) else f"{_PROGRAM} is not installed"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run a headless Chromium with a profile of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which(_PROGRAM), args=_ARGUMENTS, headless=True
        )
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Browser, path: Path, **options: Any) -> Iterator[OpenPage]:
    """Open a file; ``options`` are those of a browser context, such as ``color_scheme``."""
    context = browser.new_context(**options)
    opened = OpenPage(page=context.new_page())
    page = opened.page
    page.on("console", lambda message: opened.said.append(message.text))
    page.on("pageerror", lambda error: opened.said.append(str(error)))
    page.on("dialog", lambda dialog: (opened.said.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: opened.asked.append(request.url))
    page.goto(path.as_uri())
    yield opened
    context.close()
