"""Which characters a fast tokenizer cuts at, whatever stands around them.

Read from its description alone, by lists of parts that are known to work within the
stretches between blanks: normalisers that map or drop single characters or reorder a
character's marks, a first pre-tokenizer that parts at blanks, later ones that see one
stretch at a time. A tokenizer with any other part cuts, as far as is known, nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["BLANKS", "separators_of", "stripping_tokens"]

BLANKS = " \n\t\r"
"""The blanks that no normaliser below drops; other control characters it may."""

_NORMALIZERS = frozenset(
    {"BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents"}
)
_AT_BLANKS = frozenset({"BertPreTokenizer", "Whitespace", "WhitespaceSplit"})
_WITHIN = _AT_BLANKS | {"ByteLevel", "Digits", "Punctuation", "Split"}
_POST_PROCESSORS = frozenset({"BertProcessing", "TemplateProcessing"})
"""Others move the offsets of a text's first tokens, wherever that text was cut out."""

Part = Mapping[str, Any]


def separators_of(description: Part) -> str:
    """Return the separators of a tokenizer, from its ``tokenizer.json``; empty if unknown.

    See :class:`chunking.model.Tokens` for what separators promise.
    """
    normalizers = _flat(description.get("normalizer"), "normalizers")
    first, *later = _flat(description.get("pre_tokenizer"), "pretokenizers") or [{}]
    added = description.get("added_tokens") or []
    known = (
        all(part.get("type") in _NORMALIZERS for part in normalizers)
        and first.get("type") in _AT_BLANKS
        and all(_within(part) for part in later)
        and all(
            part.get("type") in _POST_PROCESSORS
            for part in _flat(description.get("post_processor"), "processors")
        )
        and not (description.get("model") or {}).get("dropout")
        and not any(set(token["content"]) & set(BLANKS) for token in added)
    )
    return BLANKS if known else ""


def stripping_tokens(description: Part) -> list[str]:
    """Return the added tokens that take the blanks beside them into their offsets."""
    added = description.get("added_tokens") or []
    return [token["content"] for token in added if token.get("lstrip") or token.get("rstrip")]


def _within(part: Part) -> bool:
    if part.get("type") == "Metaspace":
        # Otherwise the first stretch of a text is marked, and the same one later is not.
        return bool(part.get("prepend_scheme") == "always")
    return part.get("type") in _WITHIN


def _flat(part: Part | None, inner: str) -> list[Part]:
    """Return a part, or those of a sequence of parts, in order."""
    if not part:
        return []
    if part.get("type") != "Sequence":
        return [part]
    return [leaf for child in part.get(inner) or () for leaf in _flat(child, inner)]
