"""Front matter of text formats: the fields above the body, as metadata."""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import yaml

__all__ = ["split_front_matter"]

_YAML = re.compile(r"\A---[ \t]*\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TOML = re.compile(r"\A\+\+\+[ \t]*\n(.*?)(?:^|\n)\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^([A-Za-z][\w .-]{0,60}):(?:[ \t]+(.*))?$", re.MULTILINE)
_MOST_CHARS = 65_536
_MOST_FIELDS = 200
_DEPTH = 3


def split_front_matter(text: str) -> tuple[str, dict[str, str]]:
    """Return the body and the fields; nested fields are named ``outer.inner``.

    Lists of plain values are joined by ``", "``. What stands between the marks but
    holds no field stays in the body.
    """
    if text.startswith("{"):
        return _json(text)
    for pattern, parse in ((_YAML, _yaml), (_TOML, _toml)):
        found = pattern.match(text, 0, _MOST_CHARS)
        if found:
            fields = dict(_flatten(parse(found[1]), "", _DEPTH))
            if fields:
                return text[found.end() :], fields
    return text, {}


def _json(text: str) -> tuple[str, dict[str, str]]:
    """Split off an object that stands above a body (Hugo's third form)."""
    try:
        value, end = json.JSONDecoder().raw_decode(text[:_MOST_CHARS])
    except (ValueError, RecursionError):
        return text, {}
    body = text[end:]
    fields = dict(_flatten(value, "", _DEPTH)) if isinstance(value, dict) else {}
    above = body.startswith("\n") and body.strip()
    return (body, fields) if fields and above else (text, {})


def _yaml(text: str) -> object:
    try:
        return yaml.load(text, Loader=_NoAliases)  # noqa: S506 - a SafeLoader without aliases
    except (yaml.YAMLError, ValueError):
        return {found[1]: found[2] or "" for found in _FIELD.finditer(text)}


def _toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


class _NoAliases(yaml.SafeLoader):
    """YAML without aliases, which could repeat themselves without end."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            msg = "an alias in front matter"
            raise yaml.YAMLError(msg)
        return super().compose_node(parent, index)


def _flatten(value: Any, name: str, depth: int) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - YAML
    if isinstance(value, dict) and depth:
        for key, inner in list(value.items())[:_MOST_FIELDS]:
            yield from _flatten(inner, f"{name}.{key}" if name else str(key), depth - 1)
    elif isinstance(value, list):
        plain = [_plain(item) for item in value if not isinstance(item, dict | list)]
        if name and plain:
            yield name, ", ".join(plain)
    elif name and value is not None and not isinstance(value, dict):
        yield name, _plain(value)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.date | dt.datetime):
        return value.isoformat()
    return str(value)
