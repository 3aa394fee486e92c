"""From YAML and ``--set key=value`` pairs to the configuration tree, the later winning.

Unknown keys are refused with the nearest right name; every message is one line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from chunking.errors import ConfigError
from jobs.config import ChunkingOverride, Config

__all__ = ["load_config", "make_config", "read_tree"]


def load_config(path: Path | None = None, assignments: Iterable[str] = ()) -> Config:
    """Return the defaults, overridden by a YAML file, then by ``key=value`` assignments.

    Raises:
        ConfigError: the file cannot be read, a key is unknown, or a value is not allowed.
    """
    return make_config(read_tree(path, assignments))


def read_tree(path: Path | None, assignments: Iterable[str]) -> dict[str, Any]:
    """Return the sections of a YAML file, overridden by assignments; the keys are checked.

    Raises:
        ConfigError: the file cannot be read, or a key is unknown.
    """
    tree = _read_yaml(path) if path else {}
    tree = {section: keys for section, keys in tree.items() if keys is not None}
    for assignment in assignments:
        _assign(tree, assignment)
    _check_keys(tree)
    return tree


def make_config(tree: Mapping[str, Any]) -> Config:
    """Return the configuration with the keys of a tree, the others at their defaults.

    Raises:
        ConfigError: a value is not allowed.
    """
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        raise ConfigError(_describe(error)) from error


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"cannot read the configuration {path}: {error.strerror}"
        raise ConfigError(msg) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        msg = f"{path} is not valid YAML: {reason}"
        raise ConfigError(msg) from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        kind = type(tree).__name__
        msg = f"{path} must hold sections (source, parser, chunking, ...), not a {kind}"
        raise ConfigError(msg)
    return tree


def _assign(tree: dict[str, Any], assignment: str) -> None:
    key, equals, text = assignment.partition("=")
    section, dot, name = key.strip().partition(".")
    if not (equals and dot and section and name):
        msg = f"--set {assignment!r} must look like section.key=value"
        raise ConfigError(msg)
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = text
    target = tree.setdefault(section, {})
    if not isinstance(target, dict):
        msg = f"configuration section {section!r} must hold keys, not {target!r}"
        raise ConfigError(msg)
    target[name] = value


def _check_keys(tree: Mapping[str, Any]) -> None:
    sections = {name: field.annotation for name, field in Config.model_fields.items()}
    for section, keys in tree.items():
        if section not in sections:
            raise ConfigError(_unknown(str(section), _all_keys(sections)))
        if not isinstance(keys, dict):
            msg = f"configuration section {section!r} must hold keys, not {keys!r}"
            raise ConfigError(msg)
        model = sections[section]
        known = (
            model.model_fields if isinstance(model, type) and issubclass(model, BaseModel) else {}
        )
        for key in keys:
            if key not in known:
                raise ConfigError(_unknown(f"{section}.{key}", _all_keys(sections)))
    _check_override_keys(tree)


def _check_override_keys(tree: Mapping[str, Any]) -> None:
    """Refuse unknown keys in ``chunking.overrides``, whose entries are sections of their own."""
    entries = (tree.get("chunking") or {}).get("overrides")
    if entries is None:
        return
    shaped = isinstance(entries, list | tuple) and all(isinstance(e, dict) for e in entries)
    if not shaped:
        msg = "chunking.overrides must be a list of entries, such as {format: pdf, threshold: 90}"
        raise ConfigError(msg)
    for number, entry in enumerate(entries, start=1):
        for key in entry:
            if key not in ChunkingOverride.model_fields:
                where = f"in entry {number} of chunking.overrides: "
                raise ConfigError(where + _unknown(str(key), [*ChunkingOverride.model_fields]))


def _all_keys(sections: Mapping[str, Any]) -> list[str]:
    return [
        *sections,
        *(f"{name}.{key}" for name, model in sections.items() for key in model.model_fields),
    ]


def _unknown(key: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
    return f"unknown configuration key {key!r}; did you mean {nearest[0]!r}?"


def _describe(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "configuration"
    given = first.get("input")
    shown = f" is {given!r}" if not isinstance(given, dict | BaseModel) else ""
    return f"{where}{shown}: {first['msg'][:1].lower()}{first['msg'][1:]}"
