"""Which number type the model computes in, and who decides it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from jobs.adapters import model_loading
from jobs.adapters.embedders import fix_dtype
from jobs.adapters.sentence_transformer import SentenceTransformerEmbedder
from jobs.config import Config, ModelConfig
from tests.models import tiny_bert

ABLE = [{"amx_bf16": True}, {"avx512_bf16": True, "amx_bf16": False}, {"bf16": True}]


def chosen(**changes: object) -> str:
    """Return what becomes of ``auto`` in a job on this machine."""
    model: dict[str, object] = {"name": "some/model"}
    here = bool(changes.pop("here", True))
    known = changes.pop("made_with", None)
    model.update(changes)
    tree: dict[str, object] = {"model": model}
    if "gpus_per_worker" in model:
        tree["resources"] = {"gpus_per_worker": model.pop("gpus_per_worker")}
    config = fix_dtype(Config.model_validate(tree), here=here, made_with=known)  # type: ignore[arg-type]
    return config.model.dtype


@pytest.fixture
def cpu(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """Let this be a CPU without products of bfloat16, and no GPU, until the test says more."""
    able: dict[str, bool] = {}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return able


@pytest.mark.parametrize("able", ABLE)
def test_a_cpu_that_computes_in_bfloat16_does(cpu: dict[str, bool], able: dict[str, bool]) -> None:
    """Elsewhere it would only be emulated."""
    assert chosen() == "float32"
    cpu.update(able)
    assert chosen() == "bfloat16"


@pytest.mark.usefixtures("cpu")
def test_a_gpu_computes_in_half_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for, by share or found; an old card takes float16; elsewhere the best is assumed."""
    assert chosen(device="cuda", here=False) == "bfloat16"
    assert chosen(gpus_per_worker=0.5, here=False) == "bfloat16"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: False)
    assert chosen() == "float16"
    assert chosen(here=False) == "float32"
    assert chosen(device="cpu") == "float32"
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: True)
    assert chosen() == "bfloat16"


def test_what_is_given_or_begun_stays(cpu: dict[str, bool]) -> None:
    """A type by name wins; a dataset goes on in its own, unless the model is another."""
    cpu.update(amx_bf16=True)
    begun = {"name": "some/model", "dtype": "float32"}
    assert chosen(made_with=begun) == "float32"
    assert chosen(made_with=begun, dtype="bfloat16") == "bfloat16"
    assert chosen(made_with={**begun, "name": "other/model"}) == "bfloat16"
    assert chosen(name="hash:8") == "float32"


@pytest.mark.parametrize("able", [{}, *ABLE])
def test_facts_name_the_type_that_is_used(
    cpu: dict[str, bool], able: dict[str, bool], tmp_path: Path
) -> None:
    """``auto`` is never recorded."""
    cpu.update(able)
    model = ModelConfig(name=str(tiny_bert(tmp_path)))
    expected = "bfloat16" if any(able.values()) else "float32"
    assert SentenceTransformerEmbedder.load(model).facts.dtype == expected
    assert model_loading.fast_dtype("cpu") == expected
