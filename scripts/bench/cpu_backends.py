"""Ways to run a transformer on a CPU, each as a function from token ids to token vectors.

Used by ``backends.py``. Libraries that are not among the project's are imported by the
backend that needs them.

Shapes: B inputs of a batch, L padded length, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel

__all__ = ["BACKENDS", "PACKAGES", "Forward", "Ids", "Model", "example"]

Ids = NDArray[np.int64]
Forward = Callable[[Ids, Ids], NDArray[np.float32]]
"""From token ids and mask (B x L each) to token vectors (B x L x D)."""
PACKAGES = {
    "onnxruntime": ("onnxruntime", "onnx"),
    "openvino": ("openvino",),
    "openvino int8": ("openvino", "nncf"),
}
"""What a backend needs, by its name or the first word of it."""

_INPUTS = ("input_ids", "attention_mask")


@dataclass(frozen=True, kw_only=True)
class Model:
    """What every backend starts from."""

    path: Path
    threads: int
    calibration: Sequence[Ids] = field(repr=False)
    scratch: Path

    def module(self, dtype: torch.dtype) -> torch.nn.Module:
        """Return the transformer as a module from ids and mask to token vectors."""
        return TokenVectors(AutoModel.from_pretrained(self.path, dtype=dtype).eval())


class TokenVectors(torch.nn.Module):
    """A transformer, reduced to its last hidden state."""

    def __init__(self, transformer: Any) -> None:  # noqa: ANN401 - of any architecture
        super().__init__()
        self.transformer = transformer

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return B x L x D."""
        found = self.transformer(input_ids=input_ids, attention_mask=attention_mask)
        hidden: torch.Tensor = found.last_hidden_state
        return hidden


def in_torch(module: torch.nn.Module) -> Forward:
    """Return torch's own forward pass."""

    @torch.inference_mode()
    def forward(ids: Ids, mask: Ids) -> NDArray[np.float32]:
        hidden: NDArray[np.float32] = (
            module(torch.from_numpy(ids), torch.from_numpy(mask)).float().numpy()
        )
        return hidden

    return forward


def torch_float32(model: Model) -> Forward:
    """Torch in float32."""
    return in_torch(model.module(torch.float32))


def torch_bfloat16(model: Model) -> Forward:
    """Torch in bfloat16."""
    return in_torch(model.module(torch.bfloat16))


def torch_int8(model: Model) -> Forward:
    """Torch with dynamic int8 in its linear layers, one scale per channel of a weight."""
    torch.backends.quantized.engine = "onednn"
    kinds = {torch.nn.Linear: torch.ao.quantization.per_channel_dynamic_qconfig}
    module = torch.ao.quantization.quantize_dynamic(model.module(torch.float32), kinds)
    return in_torch(module)


def onnx_float32(model: Model) -> Forward:
    """ONNX Runtime in float32, with its fusions for transformers."""
    from onnxruntime.transformers import optimizer  # noqa: PLC0415 - may be absent

    fused = model.scratch / "fused.onnx"
    optimizer.optimize_model(str(_exported(model)), model_type="bert").save_model_to_file(
        str(fused)
    )
    return _session(fused, model.threads)


def onnx_int8(model: Model) -> Forward:
    """ONNX Runtime with dynamic int8, one scale per channel of a weight."""
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415 - as above

    quantised = model.scratch / "int8.onnx"
    quantize_dynamic(_exported(model), quantised, weight_type=QuantType.QInt8, per_channel=True)
    return _session(quantised, model.threads)


def _exported(model: Model) -> Path:
    path = model.scratch / "model.onnx"
    if not path.exists():
        axes = {0: "batch", 1: "length"}
        # The graph of the older exporter is the one that ONNX Runtime's fusions know.
        torch.onnx.export(
            model.module(torch.float32),
            example(),
            str(path),
            input_names=list(_INPUTS),
            output_names=["hidden"],
            dynamic_axes=dict.fromkeys((*_INPUTS, "hidden"), axes),
            opset_version=17,
            dynamo=False,
        )
    return path


def _session(path: Path, threads: int) -> Forward:
    import onnxruntime  # noqa: PLC0415 - as above

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def forward(ids: Ids, mask: Ids) -> NDArray[np.float32]:
        hidden: NDArray[np.float32] = session.run(
            None, dict(zip(_INPUTS, (ids, mask), strict=True))
        )[0]
        return hidden

    return forward


def openvino_float32(model: Model) -> Forward:
    """OpenVINO in float32."""
    return _compiled(_converted(model), "f32", model.threads)


def openvino_bfloat16(model: Model) -> Forward:
    """OpenVINO in bfloat16."""
    return _compiled(_converted(model), "bf16", model.threads)


def openvino_int8(model: Model) -> Forward:
    """OpenVINO with static int8 by nncf, what is left in bfloat16."""
    import nncf  # noqa: PLC0415 - as above

    inputs = [(ids, np.ones_like(ids)) for ids in model.calibration]
    quantised = nncf.quantize(
        _converted(model),
        nncf.Dataset(inputs, list),
        model_type=nncf.ModelType.TRANSFORMER,
        subset_size=len(inputs),
    )
    return _compiled(quantised, "bf16", model.threads)


def _converted(model: Model) -> Any:  # noqa: ANN401 - a package that may be absent
    import openvino  # noqa: PLC0415 - as above

    shapes = [(name, [-1, -1], openvino.Type.i64) for name in _INPUTS]
    return openvino.convert_model(
        model.module(torch.float32), example_input=example(), input=shapes
    )


def _compiled(graph: Any, precision: str, threads: int) -> Forward:  # noqa: ANN401 - as above
    import openvino  # noqa: PLC0415 - as above

    hints = {
        "INFERENCE_PRECISION_HINT": precision,
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
    }
    compiled = openvino.Core().compile_model(graph, "CPU", hints)

    def forward(ids: Ids, mask: Ids) -> NDArray[np.float32]:
        return np.array(compiled([ids, mask])[0], dtype=np.float32)

    return forward


def example() -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and mask of a small batch, for exporters to follow and to warm up with."""
    ids = torch.arange(64).reshape(2, 32) + 1
    return ids, torch.ones_like(ids)


BACKENDS: dict[str, Callable[[Model], Forward]] = {
    "torch float32": torch_float32,
    "torch bfloat16": torch_bfloat16,
    "torch int8": torch_int8,
    "onnxruntime float32": onnx_float32,
    "onnxruntime int8": onnx_int8,
    "openvino float32": openvino_float32,
    "openvino bfloat16": openvino_bfloat16,
    "openvino int8": openvino_int8,
}
