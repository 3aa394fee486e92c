"""Sentence ends in scripts that mark none: blanks between clauses, at bounded length.

Thai and Lao write blanks between clauses and around names, numbers and items of a list.
A blank counts as an end after a polite particle, or where both what stands before it and
what follows are long enough to be clauses and no connective follows.
"""

from __future__ import annotations

import re

__all__ = ["clause_cuts"]

_LETTER = "\u0e01-\u0e4e\u0e81-\u0edf"
_BLANK = re.compile(rf"(?<=[{_LETTER}])[ \u00a0]+(?=[{_LETTER}])")
_CLAUSE = re.compile(r"\S{16}")
_PARTICLE = re.compile("(?:ครับ|ค่ะ|คะ|จ้ะ|จ้า|ครับผม)\\Z")
_CONNECTIVE = re.compile(
    "และ|หรือ|แต่|ซึ่ง|ที่|โดย|เพื่อ|เพราะ|จึง|ก็|แล้วก็|เช่น|ได้แก่|คือ|ว่า|ของ|กับ|จาก|ตาม"
    "|รวมทั้ง|รวมถึง|ตลอดจน|ๆ|ฯ|ແລະ|ຫຼື|ແຕ່|ທີ່|ເຊິ່ງ|ໂດຍ|ເພື່ອ"
)
_LONG = 32
_LONGEST = 200
_PARTICLE_CHARS = 4


def clause_cuts(text: str, start: int, end: int) -> list[int]:
    """Return where clauses end in ``text[start:end]``, behind their blanks."""
    cuts = []
    for match in _BLANK.finditer(text, start, end):
        at, after = match.span()
        if (
            at - start > _LONGEST
            or _PARTICLE.search(text, max(start, at - _PARTICLE_CHARS), at)
            or (
                at - start >= _LONG
                and _CLAUSE.match(text, after, end)
                and not _CONNECTIVE.match(text, after, end)
            )
        ):
            cuts.append(after)
            start = after
    return cuts
