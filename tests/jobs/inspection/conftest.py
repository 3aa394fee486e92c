"""A Chromium for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.chromium import chromium, why_no_chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Run one headless Chromium."""
    reason = why_no_chromium()
    if reason is not None:
        pytest.skip(reason)
    with chromium() as running:
        yield running
