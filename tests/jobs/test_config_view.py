"""The configuration that is shown can be used as it is."""

from __future__ import annotations

from pathlib import Path

import yaml

from jobs.config import Config
from jobs.config_load import load_config
from jobs.config_view import render


def test_what_is_shown_loads_as_the_same_tree(tmp_path: Path) -> None:
    """`config show > job.yaml` changes nothing of the settings."""
    config = load_config(None, ["chunking.max_tokens=90", "source.exclude=['*.tmp']"])
    path = tmp_path / "job.yaml"
    path.write_text(render(config), encoding="utf-8")
    assert load_config(path) == config


def test_every_key_is_shown_with_its_documentation() -> None:
    """Each key of each section stands there, under a comment."""
    text = render(Config())
    shown = yaml.safe_load(text)
    for name, field in Config.model_fields.items():
        assert set(shown[name]) == set(field.annotation.model_fields)  # type: ignore[union-attr]
    lines = text.splitlines()
    keys = [i for i, line in enumerate(lines) if line.startswith("  ") and "#" not in line]
    assert all(lines[i - 1].lstrip().startswith("#") for i in keys)
