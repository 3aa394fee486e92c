"""The configuration as a commented YAML file that can be used as it is."""

from __future__ import annotations

import textwrap

import yaml
from pydantic import BaseModel

from jobs.config import Config

__all__ = ["render"]


def render(config: Config) -> str:
    """Return the tree as YAML, each key under its documentation."""
    lines: list[str] = []
    for name in type(config).model_fields:
        section: BaseModel = getattr(config, name)
        lines += [f"# {(type(section).__doc__ or '').strip()}", f"{name}:"]
        for key, field in type(section).model_fields.items():
            comment = textwrap.wrap(field.description or "", 94)
            lines += [f"  # {line}" for line in comment]
            value = getattr(section, key)
            lines += [f"  {key}: {_inline(_plain(value))}"]
        lines.append("")
    return "\n".join(lines)


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=True)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _inline(value: object) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...").strip()
