from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub.constants import HF_HUB_CACHE

from chunking.errors import ModelError
from jobs.adapters.model_files import files_revision, locate

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def write(folder: Path, **files: bytes) -> Path:
    """Make a folder with these files; ``__`` in a name stands for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name.replace("__", ".")).write_bytes(data)
    return folder


def test_the_bundled_model_is_found_in_its_package() -> None:
    """The default model needs no network and no configuration."""
    path = locate("bundled:all-MiniLM-L6-v2", None)
    assert (path / "modules.json").is_file()


def test_a_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    """A path to a folder is the model."""
    assert locate(str(tmp_path), None) == tmp_path.resolve()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bundled:nothing", "no bundled model 'nothing'; there is all-MiniLM-L6-v2"),
        ("./no/such/folder", "no such folder"),
        ("/no/such/folder", "no such folder"),
        ("no/such/folder", "no such folder"),
        ("a model that is none", "neither a folder nor a hub id"),
        ("nobody/no-such-model", "hub cannot be reached"),
    ],
)
def test_unknown_models_are_one_clear_line(name: str, message: str) -> None:
    """Whatever is wrong with the name, the message names it and stands on one line."""
    with pytest.raises(ModelError) as caught:
        locate(name, None)
    assert message in str(caught.value)
    assert name.removeprefix("bundled:") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_revision_of_a_local_model_is_refused(tmp_path: Path) -> None:
    """A revision pins hub models; beside a folder it would silently mean nothing."""
    with pytest.raises(ModelError, match=r"model\.revision"):
        locate(str(tmp_path), "main")


def test_a_cached_commit_is_used_without_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pinned commit in the local cache is found, and is its own revision."""
    assert HF_HUB_CACHE
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    snapshot = write(tmp_path / "models--some--model" / "snapshots" / COMMIT, config__json=b"{}")
    found = locate("some/model", COMMIT)
    assert found == snapshot
    assert files_revision(found) == COMMIT


def test_the_revision_follows_content_alone(tmp_path: Path) -> None:
    """Same files elsewhere, same revision; another weight or name, another; notes do not count."""
    files = {"config__json": b"{}", "model__safetensors": b"weights"}
    one = files_revision(write(tmp_path / "one", **files))
    assert files_revision(write(tmp_path / "two", **files, README__md=b"notes")) == one
    assert files_revision(write(tmp_path / "three", **{**files, "config__json": b"{ }"})) != one
    assert (
        files_revision(write(tmp_path / "four", **{**files, "model__safetensors": b"Weights"}))
        != one
    )
    assert files_revision(write(tmp_path / "five", **files, more__json=b"")) != one
