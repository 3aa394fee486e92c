"""Small models with random weights, made on the spot: heads, poolings, tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertModel,
    PreTrainedTokenizerFast,
)

from jobs.adapters.model_files import locate

MINILM = "bundled:all-MiniLM-L6-v2"
HIDDEN = 32


def tiny_bert(
    folder: Path,
    *,
    pooling: str = "mean",
    head: Sequence[torch.nn.Module] = (),
    window: int = 128,
) -> Path:
    """Save a BERT of two layers with MiniLM's tokenizer, and return its folder."""
    torch.manual_seed(7)
    tokenizer = AutoTokenizer.from_pretrained(locate(MINILM, None))
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=160,
    )
    BertModel(config).save_pretrained(folder / "backbone")
    tokenizer.save_pretrained(folder / "backbone")
    transformer = Transformer(str(folder / "backbone"), max_seq_length=window)
    modules = [transformer, Pooling(HIDDEN, pooling_mode=pooling), *head]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "model"))
    return folder / "model"


_BASE = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 8200,
    "pad_token_id": 0,
    # Large weights: attention tells tokens apart, so that a wrong one is seen.
    "initializer_range": 0.4,
}
_GROUPED: dict[str, Any] = {
    "num_key_value_heads": 1,
    "head_dim": 16,
    "bos_token_id": 101,
    "eos_token_id": 102,
}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "bert": {},
    "deberta-v2": {
        "max_position_embeddings": 512,
        "relative_attention": True,
        "position_buckets": 64,
        "pos_att_type": ["c2p", "p2c"],
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
    },
    "eurobert": _GROUPED,
    "gemma3_text": _GROUPED
    | {
        "use_bidirectional_attention": True,
        "sliding_window": 64,
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "gte": {},
    "jina_embeddings_v3": {},
    "modernbert": {
        "global_attn_every_n_layers": 2,
        "local_attention": 128,
        "cls_token_id": 101,
        "sep_token_id": 102,
        "bos_token_id": 101,
        "eos_token_id": 102,
    },
    "mpnet": {"max_position_embeddings": 514},
    "nomic_bert": {},
    "qwen3": _GROUPED,
    "xlm-roberta": {},
}
"""Kinds of transformers, with what a tiny one of each differs in from the others."""


def tiny_transformer(
    folder: Path, kind: str, *, pooling: str = "mean", window: int | None = None, **keys: Any
) -> Path:
    """Save a model of two layers of an architecture with MiniLM's tokenizer; return its folder."""
    torch.manual_seed(3)
    tokenizer = word_piece()
    settings = {**_BASE, "vocab_size": len(tokenizer), **ARCHITECTURES[kind], **keys}
    AutoModel.from_config(AutoConfig.for_model(kind, **settings)).save_pretrained(
        folder / "backbone"
    )
    tokenizer.save_pretrained(folder / "backbone")
    transformer = Transformer(str(folder / "backbone"), max_seq_length=window)
    modules = [transformer, Pooling(HIDDEN, pooling_mode=pooling)]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "model"))
    return folder / "model"


def dense(width: int, activation: torch.nn.Module | None = None) -> Dense:
    """Return a dense layer on the pooled vector; linear if no activation is given."""
    torch.manual_seed(8)
    return Dense(HIDDEN, width, activation_function=activation or torch.nn.Identity())


def normalize() -> Normalize:
    """Return the usual last module."""
    return Normalize()


_TRAINING = ["The ledger of the harbour, the river and the stones.\n\n", "f(x) == 2 * x + 1;"] * 20


def byte_level() -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer: words keep the blank before them, blanks make tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<pad>"],
    )
    tokenizer.train_from_iterator(_TRAINING, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>")


def metaspace() -> PreTrainedTokenizerFast:
    """Return a Unigram tokenizer as SentencePiece has it: blanks collapse into a mark."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(" {2,}", " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120, show_progress=False, special_tokens=["<unk>", "<pad>"], unk_token="<unk>"
    )
    tokenizer.train_from_iterator(_TRAINING, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>")


def word_piece() -> PreTrainedTokenizerFast:
    """Return MiniLM's own tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(locate(MINILM, None))
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise TypeError(type(tokenizer))
    return tokenizer
