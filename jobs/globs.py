"""Glob patterns on keys, and which objects of a listing are documents.

``*`` and ``?`` stay within one component, ``**`` crosses components, ``[abc]``,
``[a-z]`` and ``[!a]`` are sets. Letter case counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from chunking.errors import ConfigError

__all__ = [
    "KeyFilter",
    "glob_regex",
    "has_magic",
    "is_system_file",
    "literal_start",
    "matches_key",
    "split_magic",
]

_MAGIC = re.compile(r"[*?\[]")
_TOKEN = re.compile(
    r"(?P<any_folders>(?:^|(?<=/))\*\*/)|(?P<any>\*\*)|(?P<name>\*)|(?P<one>\?)"
    r"|\[(?P<negated>!?)(?P<set>\]?[^\]/]*)\]|(?P<literal>.)",
    re.DOTALL,
)
_NOT_DOCUMENTS = frozenset({".DS_Store", "Thumbs.db"})
_OFFICE_LOCK = "~$"


def is_system_file(name: str) -> bool:
    """Tell whether a file of this name is an operating system's or a lock, and no document."""
    return name in _NOT_DOCUMENTS or name.startswith(_OFFICE_LOCK)


def has_magic(text: str) -> bool:
    """Tell whether the text holds a glob character."""
    return _MAGIC.search(text) is not None


def split_magic(path: str) -> tuple[str, str]:
    """Return the folder above the first component with a glob character, and the pattern below."""
    found = _MAGIC.search(path)
    cut = path.rfind("/", 0, found.start()) + 1 if found else len(path)
    return path[:cut], path[cut:]


def literal_start(pattern: str) -> str:
    """Return the text before the first glob character."""
    found = _MAGIC.search(pattern)
    return pattern[: found.start()] if found else pattern


@lru_cache(maxsize=256)
def glob_regex(pattern: str) -> re.Pattern[str]:
    """Return the expression that matches a whole key.

    Raises:
        ConfigError: a set in brackets is not a set.
    """
    expression = "".join(_piece(match) for match in _TOKEN.finditer(pattern))
    try:
        return re.compile(expression, re.DOTALL)
    except re.error as error:
        msg = f"{pattern!r} is not a glob pattern: {error.msg}"
        raise ConfigError(msg) from error


def _piece(match: re.Match[str]) -> str:
    if match["any_folders"]:
        return "(?:.*/)?"
    if match["any"]:
        return ".*"
    if match["name"]:
        return "[^/]*"
    if match["one"]:
        return "[^/]"
    if match["literal"]:
        return re.escape(match["literal"])
    members = re.sub(r"([\\\[\]^&|~])", r"\\\1", match["set"])
    return f"(?!/)[{'^' if match['negated'] else ''}{members}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFilter:
    """The listing rules: what is taken of all the objects below a source's root.

    ``include`` and ``exclude`` are globs on the whole key; one without a ``/`` is tried on
    the last component, one that ends in ``/`` means all that lies below. ``below`` is the
    pattern of a source that is itself a glob.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    below: str | None = None

    def takes(self, key: str, size: int) -> bool:
        """Tell whether the object is a document of this source."""
        name = key.rpartition("/")[2]
        if key.endswith("/") and size == 0:
            return False
        if is_system_file(name):
            return False
        if self.below is not None and not _matches((self.below,), key, anywhere=False):
            return False
        if self.include and not _matches(self.include, key):
            return False
        return not _matches(self.exclude, key)

    def skips_folder(self, key: str) -> bool:
        """Tell whether everything below the folder ``key/`` is left out by ``exclude``."""
        return any(
            pattern.endswith(("/", "/**")) and _expression(pattern, anywhere=True).fullmatch(key)
            for pattern in self.exclude
        )


def matches_key(pattern: str, key: str) -> bool:
    """Tell whether a glob matches a key; without a slash, whether it matches its last component.

    Raises:
        ConfigError: a set in brackets is not a set.
    """
    return _expression(pattern, anywhere=True).fullmatch(key) is not None


def _matches(patterns: Sequence[str], key: str, *, anywhere: bool = True) -> bool:
    return any(_expression(pattern, anywhere=anywhere).fullmatch(key) for pattern in patterns)


def _expression(pattern: str, *, anywhere: bool) -> re.Pattern[str]:
    if not anywhere:
        return glob_regex(pattern)
    if pattern.endswith("/"):
        return glob_regex(pattern + "**")
    return glob_regex(pattern if "/" in pattern else "**/" + pattern)
