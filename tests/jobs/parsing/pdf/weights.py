"""docling's layout network with tiny random weights, laid out as its own are."""

from __future__ import annotations

from pathlib import Path

_LABELS = (
    *("caption", "footnote", "formula", "list_item", "page_footer", "page_header", "picture"),
    *("section_header", "table", "text", "title", "document_index", "code"),
)
LAYOUT = "docling-project--docling-layout-heron"


def make_weights(folder: Path) -> Path:
    """Write the model into a folder for ``parser.artifacts_path``, and return that."""
    import torch  # noqa: PLC0415 - slow, and only here
    from transformers import (  # noqa: PLC0415 - as above
        RTDetrImageProcessor,
        RTDetrResNetConfig,
        RTDetrV2Config,
        RTDetrV2ForObjectDetection,
    )

    torch.manual_seed(0)
    backbone = RTDetrResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )
    config = RTDetrV2Config(
        backbone_config=backbone,
        encoder_in_channels=[8, 16, 16],
        encoder_hidden_dim=16,
        encoder_ffn_dim=16,
        encoder_attention_heads=2,
        d_model=16,
        decoder_in_channels=[16, 16, 16],
        decoder_ffn_dim=16,
        decoder_attention_heads=2,
        decoder_layers=2,
        num_queries=10,
        num_denoising=0,
        id2label=dict(enumerate(_LABELS)),
        label2id={label: i for i, label in enumerate(_LABELS)},
    )
    RTDetrV2ForObjectDetection(config).save_pretrained(folder / LAYOUT)
    RTDetrImageProcessor(size={"height": 128, "width": 128}).save_pretrained(folder / LAYOUT)
    return folder
