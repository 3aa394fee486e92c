"""Loading a sentence-transformers model onto its device; whatever fails is one clear line."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
import transformers
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from transformers import CONFIG_MAPPING

from chunking.errors import ModelError
from jobs.config import ModelConfig

__all__ = ["choose_device", "fast_dtype", "has_gpu", "load_model", "loading"]

T = TypeVar("T")

_LOAD_ERRORS = (
    AttributeError,
    ImportError,
    KeyError,
    OSError,
    RuntimeError,
    SafetensorError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)
"""What loading a damaged or unfitting model raises."""

_DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}

_BFLOAT16_CPUS = ("amx_bf16", "avx512_bf16", "bf16")
"""Instruction sets with products of bfloat16; elsewhere it is emulated, and slow."""


def load_model(config: ModelConfig, path: Path) -> SentenceTransformer:
    """Load the model that lies in a folder.

    Raises:
        ModelError: it cannot be loaded, or brings code along that must not be run.
    """
    device = choose_device(config.device)
    dtype = fast_dtype(device) if config.dtype == "auto" else config.dtype
    if not config.trust_remote_code:
        _refuse_code(config.name, path)
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    model = loading(
        config.name,
        lambda: SentenceTransformer(
            str(path),
            device=device,
            trust_remote_code=config.trust_remote_code,
            local_files_only=not config.trust_remote_code,
            truncate_dim=config.truncate_dim,
            model_kwargs={"dtype": _DTYPES[dtype]},
        ),
    )
    return model.eval()


def loading(name: str, step: Callable[[], T]) -> T:
    """Take a step of loading a model; what goes wrong is told in one line.

    Raises:
        ModelError: the step failed.
    """
    try:
        return step()
    except _LOAD_ERRORS as error:
        reason = " ".join(str(error).split())[:300]
        msg = f"cannot load the model {name!r}: {reason}"
        raise ModelError(msg) from error


def choose_device(asked: str) -> str:
    """Return where torch runs the model: ``auto`` is the GPU where there is one.

    Raises:
        ModelError: a GPU is asked for, and there is none.
    """
    if asked == "auto":
        return "cuda" if has_gpu() else "cpu"
    if asked == "cuda" and not has_gpu():
        msg = "model.device is cuda, but torch sees no GPU here"
        raise ModelError(msg)
    return asked


def has_gpu() -> bool:
    """Return whether torch sees a GPU here."""
    return torch.cuda.is_available()


def fast_dtype(device: str) -> str:
    """Return the number type that a device computes fastest in without loss that is felt.

    Of a GPU that is not on this machine the best is assumed.
    """
    if device == "cuda":
        native = not has_gpu() or torch.cuda.is_bf16_supported(including_emulation=False)
        return "bfloat16" if native else "float16"
    able = torch.cpu.get_capabilities()
    return "bfloat16" if any(able.get(name) for name in _BFLOAT16_CPUS) else "float32"


def _refuse_code(name: str, path: Path) -> None:
    """Refuse a model that works only with code of its own, which the libraries do not have."""
    if not path.is_dir():
        return
    for file in sorted(path.rglob("*.json")):
        content = _read(file) if file.name in ("config.json", "modules.json") else None
        if content is not None and _needs_code(content):
            msg = (
                f"the model {name!r} brings code along that would be run with your rights; "
                "set model.trust_remote_code=true if you trust it"
            )
            raise ModelError(msg)


def _read(file: Path) -> Any:  # noqa: ANN401 - JSON of unknown shape
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None  # told when the model is loaded


def _needs_code(content: Any) -> bool:  # noqa: ANN401 - JSON of unknown shape
    if isinstance(content, list):
        types = [entry.get("type") for entry in content if isinstance(entry, dict)]
        return any(
            isinstance(kind, str) and not kind.startswith("sentence_transformers.")
            for kind in types
        )
    if not isinstance(content, dict):
        return False
    return "auto_map" in content and content.get("model_type") not in CONFIG_MAPPING
