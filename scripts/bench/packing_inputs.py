"""Seeded texts of the shapes that chunkers are slow on, for the bench of packing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

__all__ = ["INPUTS"]

_WORDS = (  # noqa: SIM905 - as literals of their own they would fill a page
    "harbour ledger willow stone copper river signal the of and however candle market water "
    "ship captain morning letter house rain was is had went came old small great long before "
    "after under over between with without because although nothing everyone they she he it "
    "Copenhagen unloading quarantine Hamburg lighthouse forty-two 1887 provisional d'Arblay "
    "antidisestablishment tonnage bill of lading fo'c'sle seaworthiness customs-house"
).split()
_MARKS = ".....?!"
_PROSE = 10_000_000
_CJK = 1_000_000
_CODE = 2_000_000


def _sentence(rng: random.Random) -> str:
    words = rng.choices(_WORDS, k=rng.randint(4, 25))
    return f"{' '.join(words).capitalize()}{rng.choice(_MARKS)}"


def _filled(size: int, parts: Iterator[str], gap: str) -> str:
    """Join parts until the text has ``size`` characters, and cut it there."""
    taken, length = [], 0
    while length < size:
        part = next(parts)
        taken.append(part)
        length += len(part) + len(gap)
    return gap.join(taken)[:size].strip()


def _paragraphs(rng: random.Random) -> Iterator[str]:
    while True:
        yield " ".join(_sentence(rng) for _ in range(rng.randint(2, 9)))


def _prose(rng: random.Random, scale: float) -> str:
    return _filled(int(_PROSE * scale), _paragraphs(rng), "\n\n")


def _line(rng: random.Random, scale: float) -> str:
    return _filled(int(_PROSE * scale), _paragraphs(rng), " ")


def _blank_lines(rng: random.Random, scale: float) -> str:
    """Return 100,000 blank lines, with a sentence after every fifty of them."""
    return "".join("\n" * 50 + _sentence(rng) for _ in range(int(2_000 * scale)))


def _table(rng: random.Random, scale: float) -> str:
    lines = ["| no | ship | goods | tons |", "| --- | --- | --- | --- |"]
    for i in range(int(5_000 * scale)):
        name, goods = " ".join(rng.choices(_WORDS, k=2)), " ".join(rng.choices(_WORDS, k=4))
        lines.append(f"| {i} | {name} | {goods} | {rng.randint(1, 9999)} |")
    return "\n".join(lines)


def _cjk(rng: random.Random, scale: float) -> str:
    """Return Chinese characters with full stops and commas, and no blank in a paragraph."""

    def paragraphs() -> Iterator[str]:
        while True:
            sentences = []
            for _ in range(rng.randint(2, 8)):
                clauses = (
                    "".join(chr(rng.randint(0x4E00, 0x51FF)) for _ in range(rng.randint(4, 12)))
                    for _ in range(rng.randint(1, 4))
                )
                sentences.append("\uff0c".join(clauses) + "\u3002")
            yield "".join(sentences)

    return _filled(int(_CJK * scale), paragraphs(), "\n\n")


def _code(rng: random.Random, scale: float) -> str:
    def functions() -> Iterator[str]:
        names = [word.lower().replace("-", "_").replace("'", "") for word in _WORDS]
        while True:
            head = f"def {rng.choice(names)}_{rng.randint(0, 999)}({', '.join(names[:2])}):"
            lines = [
                f"    {rng.choice(names)} = {rng.choice(names)}[{rng.randint(0, 99)}] + "
                f"{rng.choice(names)}({rng.choice(names)})"
                for _ in range(rng.randint(3, 20))
            ]
            yield "\n".join([head, *lines, f"    return {rng.choice(names)}"])

    return _filled(int(_CODE * scale), functions(), "\n\n\n")


INPUTS: dict[str, Callable[[random.Random, float], str]] = {
    "prose": _prose,
    "line": _line,
    "blank lines": _blank_lines,
    "table": _table,
    "cjk": _cjk,
    "code": _code,
}
"""Makers of each text, given a seeded generator and a scale (1: the full size)."""
