"""Temporary folders of processes that live, and of one that was killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jobs import scratch


@pytest.fixture(autouse=True)
def old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every folder count as old enough to be locked."""
    monkeypatch.setattr(scratch, "_YOUNG_S", -1.0)


def test_a_folder_is_removed_in_the_end(tmp_path: Path) -> None:
    """With what is in it, also after an error."""

    def fail() -> None:
        with scratch.scratch_folder(str(tmp_path)) as folder:
            (folder / "a").mkdir()
            (folder / "a" / "b").write_text("c", encoding="utf-8")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    """Whoever sweeps."""
    with scratch.scratch_folder(str(tmp_path)) as folder:
        assert scratch.sweep(str(tmp_path)) == 0
        assert folder.is_dir()


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    """Its folders, and nothing of another name."""
    (tmp_path / "chunkmill-other").mkdir()
    script = (
        "import os, signal, sys\n"
        "from jobs.scratch import scratch_folder\n"
        "with scratch_folder(sys.argv[1]) as folder:\n"
        "    (folder / 'document').write_text('a')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    assert scratch.sweep(str(tmp_path)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["chunkmill-other"]


def test_a_folder_that_was_just_made_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may not be locked yet."""
    monkeypatch.setattr(scratch, "_YOUNG_S", 60.0)
    (tmp_path / "chunkmill-tmp-a").mkdir()
    assert scratch.sweep(str(tmp_path)) == 0


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """It is no folder of ours, whatever its name."""
    target = tmp_path / "target"
    target.mkdir()
    (target / "kept").write_text("a", encoding="utf-8")
    (tmp_path / "chunkmill-tmp-a").symlink_to(target)
    assert scratch.sweep(str(tmp_path)) == 0
    assert (target / "kept").exists()
