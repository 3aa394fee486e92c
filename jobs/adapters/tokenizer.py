"""A model's fast tokenizer, without truncation and padding, in bounded memory.

A tokenizer takes about 200 bytes for every byte of text while it works, and more time
for each the longer the text is. So a text is tokenized in segments: from blank to blank
where the tokenizer is known to cut there, else overlapping; those are joined where both
sides of an overlap agree on a run of tokens. The result is that of the whole text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from chunking.errors import ModelError
from chunking.model import Tokens
from jobs.adapters.separators import separators_of, stripping_tokens

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["FastTokenizer"]

_PIECE_CHARS = 1 << 13
_SEGMENT_CHARS = 1 << 18
_OVERLAP_CHARS = 1 << 12
_AGREEING = 8
_TRIES = 64
_COUNT_BATCH_CHARS = 1 << 20


class FastTokenizer:
    """Ids and code point offsets of texts, with and without what the model adds.

    ``head`` and ``tail`` are the token ids put around a window: special tokens, and
    the task prompt after the first ones.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase | Tokenizer, prompt: str) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if not isinstance(backend, Tokenizer):
            msg = (
                f"{type(tokenizer).__name__} is no fast tokenizer, so it gives no offsets; "
                "choose a model that has a tokenizer.json"
            )
            raise ModelError(msg)
        self._backend = Tokenizer.from_str(backend.to_str())
        self._backend.no_truncation()
        self._backend.no_padding()
        self._prompt = prompt
        description = json.loads(backend.to_str())
        self._separators = separators_of(description)
        self._separator = re.compile(f"[{self._separators}]" if self._separators else "(?!)")
        self._stripping = stripping_tokens(description)
        before, after = self._special()
        self.head = np.array([*before, *self._prompt_ids()], np.uint32)
        self.tail = np.array(after, np.uint32)

    def _special(self) -> tuple[list[int], list[int]]:
        encoding = self._backend.encode("a", add_special_tokens=True)
        mask = encoding.special_tokens_mask
        first = mask.index(0)
        last = len(mask) - mask[::-1].index(0)
        return encoding.ids[:first], encoding.ids[last:]

    def _prompt_ids(self) -> list[int]:
        """Return the tokens that a prompt has when a word follows it.

        The blank at its end belongs to that word, where words keep the blank before them.
        """
        prompt = self._prompt
        if not prompt:
            return []
        followed = self._backend.encode(prompt + "a", add_special_tokens=False)
        end = len(prompt) - prompt.endswith(" ")
        ids = [
            token
            for token, (_, last) in zip(followed.ids, followed.offsets, strict=True)
            if last <= end
        ]
        grown = any(first < end < last for first, last in followed.offsets)
        if grown:  # a prompt that does not end at a blank
            ids = self._backend.encode(prompt, add_special_tokens=False).ids
        return list(ids)

    @property
    def description(self) -> str:
        """The whole tokenizer as JSON, which :class:`tokenizers.Tokenizer` reads."""
        description: str = self._backend.to_str()
        return description

    def tokenize(self, text: str) -> Tokens:
        """Return the tokens of a text of any length, special ones left out."""
        separators = self._separators
        if separators and any(content in text for content in self._stripping):
            separators = ""
        if not separators:
            return _joined([*self._overlapping(text, 0, len(text))], "")
        parts = [
            part
            for begin, end in self._pieces(text)
            for part in self._overlapping(text, begin, end)
        ]
        # A prompt that does not end at a blank grows together with the text after it.
        alone = not self._prompt or self._prompt[-1] in separators
        return _joined(parts, separators if alone else "")

    def _pieces(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield spans that end at separators, as short as these allow."""
        begin = 0
        while begin + _PIECE_CHARS < len(text):
            found = self._separator.search(text, begin + _PIECE_CHARS)
            if found is None:
                break
            yield begin, found.end()
            begin = found.end()
        yield begin, len(text)

    def _overlapping(self, text: str, start: int, end: int) -> Iterator[Tokens]:
        """Yield the tokens of a span, in segments that are joined where they agree."""
        begin, size = start, _SEGMENT_CHARS
        left = self._segment(text, begin, min(begin + size, end))
        while begin + size < end:
            next_begin = begin + size - _OVERLAP_CHARS
            right = self._segment(text, next_begin, min(next_begin + _SEGMENT_CHARS, end))
            joint = _joint(left, right, next_begin)
            if joint is None:
                # One word as long as the overlap: look further.
                size *= 2
                left = _drop(self._segment(text, begin, min(begin + size, end)), left, begin)
                continue
            yield _slice(left, 0, joint[0])
            left, begin, size = _slice(right, joint[1], len(right.ids)), next_begin, _SEGMENT_CHARS
        yield left

    def _segment(self, text: str, begin: int, end: int) -> Tokens:
        encoding = self._backend.encode(text[begin:end], add_special_tokens=False)
        n = len(encoding)
        flat = chain.from_iterable(encoding.offsets)
        offsets = np.fromiter(flat, np.int64, 2 * n).reshape(n, 2) + begin
        ids = np.array(encoding.ids, np.uint32)
        return Tokens(ids=ids, starts=offsets[:, 0], ends=offsets[:, 1])

    @property
    def added(self) -> int:
        """Tokens that are put around a window."""
        return len(self.head) + len(self.tail)

    def window_input(self, window: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return a window's token ids as the model sees them."""
        return np.concatenate([self.head, window, self.tail])

    def inputs(self, texts: Sequence[str]) -> list[NDArray[np.uint32]]:
        """Return the whole model input of each text: prompt and special tokens included."""
        asked = [self._prompt + text for text in texts]
        encodings = self._backend.encode_batch_fast(asked, add_special_tokens=True)
        return [np.array(encoding.ids, np.uint32) for encoding in encodings]

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the size of each text's model input."""
        sizes: list[int] = []
        batch: list[str] = []
        room = _COUNT_BATCH_CHARS
        for text in texts:
            if len(text) > room and batch:
                sizes.extend(self._count(batch))
                batch, room = [], _COUNT_BATCH_CHARS
            batch.append(text)
            room -= len(text)
        return sizes + self._count(batch)

    def _count(self, batch: list[str]) -> list[int]:
        if len(batch) == 1 and len(batch[0]) > _SEGMENT_CHARS:
            special = len(self.tail) + len(self._special()[0])
            return [len(self.tokenize(self._prompt + batch[0]).ids) + special]
        asked = [self._prompt + text for text in batch]
        return [len(e) for e in self._backend.encode_batch_fast(asked, add_special_tokens=True)]


def _joint(left: Tokens, right: Tokens, begin: int) -> tuple[int, int] | None:
    """Return indices of one token in both segments around which they agree.

    Near the end of ``left`` and the start of ``right`` words may be cut; so the search
    goes from the middle of the overlap to its third quarter.
    """
    low = int(np.searchsorted(left.starts, begin + _OVERLAP_CHARS // 2))
    high = int(np.searchsorted(left.starts, begin + _OVERLAP_CHARS * 3 // 4))
    half = _AGREEING // 2
    for i in range(max(low, half), min(high, low + _TRIES)):
        j = int(np.searchsorted(right.starts, left.starts[i]))
        # Tokens of one code point share their offsets; the first of them is found.
        i_first = int(np.searchsorted(left.starts, left.starts[i]))
        if j >= half and i_first >= half and _agree(left, i_first - half, right, j - half):
            return i_first, j
    return None


def _agree(left: Tokens, i: int, right: Tokens, j: int) -> bool:
    pairs = ((left.ids, right.ids), (left.starts, right.starts), (left.ends, right.ends))
    return all(
        len(a[i : i + _AGREEING]) == _AGREEING
        and np.array_equal(a[i : i + _AGREEING], b[j : j + _AGREEING])
        for a, b in pairs
    )


def _slice(tokens: Tokens, first: int, last: int) -> Tokens:
    return Tokens(
        ids=tokens.ids[first:last], starts=tokens.starts[first:last], ends=tokens.ends[first:last]
    )


def _drop(longer: Tokens, shorter: Tokens, begin: int) -> Tokens:
    """Return ``longer``, a segment from ``begin``, without what came before ``shorter``."""
    if not len(shorter.ids) or shorter.starts[0] <= begin:
        return longer
    first = int(np.searchsorted(longer.starts, shorter.starts[0]))
    return _slice(longer, first, len(longer.ids))


def _joined(parts: Sequence[Tokens], separators: str) -> Tokens:
    return Tokens(
        ids=np.concatenate([part.ids for part in parts]),
        starts=np.concatenate([part.starts for part in parts]),
        ends=np.concatenate([part.ends for part in parts]),
        separators=separators,
    )
