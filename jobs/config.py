"""The configuration: one frozen tree, every key with a documented default.

Values are checked when the tree is made; :mod:`jobs.config_load` makes it from a file.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from chunking import ids
from chunking.errors import ConfigError
from jobs.config_chunking import ChunkingConfig, ChunkingOverride, Section

__all__ = [
    "LIMITS_OF_OUTPUT",
    "STAGE_VERSIONS",
    "ChunkingConfig",
    "ChunkingOverride",
    "Config",
    "LimitsConfig",
    "ModelConfig",
    "OutputConfig",
    "ParserConfig",
    "ResourcesConfig",
    "SourceConfig",
    "parse_budget",
]

STAGE_VERSIONS = {"parse": 3, "text": 2, "sentences": 2, "chunk": 2, "embed": 1}
"""Raised by hand when a stage's output changes for the same input; part of the fingerprint."""

LIMITS_OF_OUTPUT = (
    *("document_bytes", "document_pages", "document_chars"),
    *("members", "member_depth", "member_bytes"),
)
"""Limits by which the same input gives another output on any machine."""

PositiveInt = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0)]


class SourceConfig(Section):
    """Where documents come from and how the store is reached."""

    include: tuple[str, ...] = ()
    """Globs on source keys; when given, only matching keys are taken."""
    exclude: tuple[str, ...] = ()
    """Globs on source keys that are left out; they make no row."""
    text_column: str = "text"
    """Column with the text, when SRC is a Parquet or JSONL table."""
    id_column: str | None = None
    """Column with the document id of a table; `id` if there is one, else file and row."""
    uri_column: str = "uri"
    """Column with the URI, when SRC is a manifest."""
    endpoint_url: str | None = None
    """S3 endpoint of SRC and DST; the AWS default if not given."""
    region: str | None = None
    """S3 region; the default of the credential chain if not given."""
    profile: str | None = None
    """Profile of the AWS configuration files."""
    anonymous: bool = False
    """Read SRC without credentials (public buckets)."""
    retry_seconds: PositiveFloat = 600.0
    """How long a store of SRC or DST that fails, throttles or does not answer is asked again; then
    the job ends, and the same command goes on where it stopped."""


class ParserConfig(Section):
    """How documents become text."""

    pdf: Literal["auto", "fast", "standard"] = "auto"
    """PDF engine.

    `fast` needs no weights; `standard` is docling's own pipeline and needs
    `artifacts_path`; `auto` decides page by page: `fast`, but `standard` for pages whose
    layout is complex (see `jobs/parsing/pdf/routing.py`) where `artifacts_path` is given.
    """
    artifacts_path: str | None = None
    """Folder with docling's model weights, as `docling-tools models download -o FOLDER layout
    tableformer` fills it."""
    ocr: Literal["auto", "none", "tesserocr", "rapidocr"] = "auto"
    """What reads images and the pages of PDFs without a (sound) text layer.

    The engines are extras of these names; `auto` takes the first of them that is installed
    and has its languages, or none. Documents are read again when it changes.
    """
    ocr_languages: tuple[str, ...] = ()
    """Languages for `tesserocr`, as Tesseract names them (`eng`, `deu`, ...); English if none."""
    members: Literal["documents", "skip"] = "documents"
    """Attachments of mails (EML, MSG) and PDFs, and files in archives (zip, tar, gz, bz2, xz).

    `documents`: each is a document of its own, whose key is that of what it is in, `!/` and its
    name. `skip`: none is read; a mail or PDF with attachments is `partial`, and names them.
    """
    libreoffice: bool = False
    """Convert DOC, RTF, XLS and PPT files with LibreOffice, if it is installed on every node, and
    read what comes of it; without, they are `unsupported_format`."""
    words: Literal["characters", "icu"] = "characters"
    """Where a long sentence of a script without blanks (Chinese, Thai, ...) may be cut.

    `icu` finds words with ICU's dictionaries and needs the extra `icu`.
    """
    hook: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")] | None = None
    """A function of your own, as `module:function`, that cleans texts and adds metadata.

    It runs in the parsing process, under its limits; see `jobs/parsing/hook.py`.
    """
    hook_version: str | None = None
    """Documents are read again when it changes; told from the hook's file if not given."""


class ModelConfig(Section):
    """The embedding model."""

    name: str = "bundled:all-MiniLM-L6-v2"
    """A sentence-transformers id or path; the default ships inside a Python package."""
    revision: str | None = None
    """Pinned revision of a hub model."""
    trust_remote_code: bool = False
    """Run code that a hub model brings along."""
    query_prompt: str | None = None
    """Put before a question, recorded for the retriever; the model's own if not given."""
    passage_prompt: str | None = None
    """Put before each window or chunk, counted, never pooled; the model's own if not given."""
    max_seq_length: PositiveInt | None = None
    """Window in tokens; the length the model was trained at if not given."""
    truncate_dim: PositiveInt | None = None
    """Keep the first values of each vector only, for models trained to allow it (Matryoshka);
    the model's own setting if not given."""
    without_late: Literal["chunk", "refuse"] = "chunk"
    """What to do where `late` or `blend` vectors are asked of a model that has no late ones: take
    `chunk` vectors instead and say so, or refuse the job."""
    window_overlap: Annotated[int, Field(ge=0)] = 24
    """Most tokens of context that a window reads on each side of what it owns."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Number type of the model pass. `auto`: the one that a dataset was begun with; at first, half
    precision on a GPU, bfloat16 on a CPU that computes in it, else float32. In float32 cuts are the
    same on every CPU, in the others on CPUs of one kind."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the model runs."""
    batch_tokens: PositiveInt = 8192
    """Token budget of one forward pass on a GPU, padding included; halved when memory is short.
    Passes on a CPU have a size of their own, which decides about the last bit of a vector."""


class OutputConfig(Section):
    """What is written and how it is laid out."""

    partition_by: str | None = None
    """None, `format`, `folder` (the first folder of the key) or `metadata.KEY`."""
    keep_sentences: bool = True
    """Keep the sentence store, from which chunks can be re-made without the model."""
    sentence_dtype: Literal["float16", "float32"] = "float16"
    """Number type of the sentence store; distances are taken after this rounding."""
    dtype: Literal["float32", "float16"] = "float32"
    """Number type of `chunks.embedding`."""
    n_buckets: PositiveInt | None = None
    """Number of buckets of a new dataset; estimated from the listing if not given."""


class ResourcesConfig(Section):
    """What the job may use. Zero means: decide from the cluster."""

    cpus: Annotated[int, Field(ge=0)] = 0
    """CPUs of the local Ray that is started when none is joined; all of them if 0."""
    parse_workers: Annotated[int, Field(ge=0)] = 0
    """Actors that fetch and parse."""
    embed_workers: Annotated[int, Field(ge=0)] = 0
    """Actors that embed and chunk."""
    gpus_per_worker: Annotated[float, Field(ge=0)] = 0.0
    """GPUs of one embedding actor, a share of one (0.5) or whole ones; one on a cluster that has
    GPUs, if 0."""
    unit_documents: PositiveInt = 32
    """Documents of one unit at most."""
    unit_bytes: PositiveInt = 64 * 2**20
    """Input bytes of one unit at most, unless one document alone is larger."""
    shuffle_seed: int | None = None
    """Work through the plan in another order, which must change nothing of the result."""
    tmp_dir: str | None = None
    """Folder for temporary files on every node."""

    @model_validator(mode="after")
    def _check(self) -> ResourcesConfig:
        share = self.gpus_per_worker
        if share > 1 and share != int(share):
            msg = f"resources.gpus_per_worker is {share}; above one GPU it must be a whole number"
            raise ConfigError(msg)
        return self


class LimitsConfig(Section):
    """Bounds that keep one document from costing more than itself."""

    max_failed: str = "5%"
    """Error budget: a number of failed documents, or a percentage."""
    max_deleted: str = "50%"
    """Documents that one run may delete, a number or a percentage: guards against bad listings."""
    document_seconds: PositiveFloat = 120.0
    """Wall time to parse one document."""
    document_memory_mb: PositiveInt = 2048
    """Memory of the child that parses it, above what docling itself takes."""
    document_disk_mb: PositiveInt = 2048
    """Temporary files of the child that parses it."""
    document_bytes: PositiveInt = 2 * 2**30
    """Larger sources are not fetched (`too_large`)."""
    document_pages: PositiveInt = 20_000
    """More pages are refused (`limit`)."""
    document_chars: PositiveInt = 50_000_000
    """More extracted text is refused (`limit`)."""
    members: PositiveInt = 10_000
    """Documents inside one mail or archive, at any depth; the others are counted in a warning, and
    the document is `partial`."""
    member_depth: PositiveInt = 5
    """Mails and archives within one another; what lies deeper is not unpacked (`limit`)."""
    member_bytes: PositiveInt = 2**30
    """Bytes unpacked from one mail or archive, at any depth; more is not unpacked (`limit`)."""
    member_seconds: PositiveFloat = 3600.0
    """Wall time for the documents inside one mail or archive, together (`timeout`)."""
    attempts: PositiveInt = 3
    """Attempts at a document that may be retried."""
    lease_seconds: PositiveFloat = 60.0
    """A lease whose heartbeat stood still this long has expired."""


class Config(Section):
    """The whole tree."""

    source: SourceConfig = SourceConfig()
    parser: ParserConfig = ParserConfig()
    chunking: ChunkingConfig = ChunkingConfig()
    model: ModelConfig = ModelConfig()
    output: OutputConfig = OutputConfig()
    resources: ResourcesConfig = ResourcesConfig()
    limits: LimitsConfig = LimitsConfig()

    @model_validator(mode="after")
    def _check(self) -> Config:
        self.chunking.all_settings()
        parse_budget(self.limits.max_failed, 0)
        parse_budget(self.limits.max_deleted, 0, "limits.max_deleted")
        if self.parser.pdf == "standard" and not self.parser.artifacts_path:
            msg = "parser.pdf is standard, which needs docling's weights in parser.artifacts_path"
            raise ConfigError(msg)
        return self

    def fingerprint(self, model_revision: str) -> str:
        """Return H of all that affects output: settings, model revision, stage versions."""
        relevant = self.relevant()
        relevant["model"]["revision"] = model_revision
        return ids.hash_fields(json.dumps(relevant, sort_keys=True))

    def relevant(self) -> dict[str, Any]:
        """Return all that affects output: settings and stage versions."""
        limits = self.limits.model_dump(include=set(LIMITS_OF_OUTPUT))
        output = self.output.model_dump(include={"keep_sentences", "sentence_dtype", "dtype"})
        model = self.model.model_dump(exclude={"device", "batch_tokens", "without_late"})
        return {
            "parser": self.parser.model_dump(exclude_none=True),
            "chunking": self.chunking.facts(),
            "model": model,
            "output": output,
            "limits": limits,
            "stages": STAGE_VERSIONS,
        }


def parse_budget(text: str, n_documents: int, key: str = "limits.max_failed") -> float:
    """Return how many documents a budget allows: ``"5%"`` of ``n_documents``, or a plain number.

    Raises:
        ConfigError: the text is neither.
    """
    share = text.strip().removesuffix("%")
    try:
        value = float(share)
    except ValueError:
        value = -1.0
    percent = text.strip().endswith("%")
    if not 0 <= value < float("inf") or (percent and value > 100):  # noqa: PLR2004
        msg = f"{key} is {text!r}; give a number of documents or a percentage, such as 5%"
        raise ConfigError(msg)
    return n_documents * value / 100 if percent else value
