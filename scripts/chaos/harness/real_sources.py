"""Documents of many formats for the real parsers: the samples of the tests, in three states."""

from __future__ import annotations

from pathlib import Path

from scripts.chaos.harness.sources import World

__all__ = ["real_world"]

SAMPLES = Path(__file__).resolve().parents[3] / "tests" / "samples"
_LARGEST = 120_000
_FORMATS = (".pdf", ".docx", ".pptx", ".xlsx", ".html", ".eml", ".odt", ".md")
_PER_FORMAT = 2
N_NOTES = 5
"""Two are changed, two deleted, and one more is damaged on the way."""


def real_world(number: int) -> World:
    """Return a world of sample files, with some notes beside."""
    made = World(1000 + number, N_NOTES)
    chosen = _chosen(number)
    keys = sorted(chosen)
    first = {**made.states["first"], **chosen}
    # One document leaves, one takes another's content; the notes change as they do elsewhere.
    changed = {key: chosen[key] for key in keys[1:]}
    changed[keys[-1]] = chosen[keys[0]]
    made.states["first"] = first
    for state in ("meanwhile", "second"):
        made.states[state] = {**made.states[state], **changed}
    return made


def _chosen(number: int) -> dict[str, bytes]:
    chosen: dict[str, bytes] = {}
    for suffix in _FORMATS:
        files = sorted(
            path
            for path in SAMPLES.rglob(f"*{suffix}")
            if path.stat().st_size <= _LARGEST and "damaged" not in path.parts
        )
        for path in (files[number % 2 :: 2] or files)[:_PER_FORMAT]:
            chosen[f"samples/{path.relative_to(SAMPLES)}"] = path.read_bytes()
    return chosen
