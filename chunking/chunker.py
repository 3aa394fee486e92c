"""From a document, its units and their vectors to chunks: the one entry of the core.

Three steps. Atoms (sentences, rows, lines) are packed by dynamic programming, with
the strategy's boundaries and the laws of chunking as costs; the exact tokenizer
count then trims prefixes or splits what the estimate had wrong; chunks below the
minimum join a neighbour. Every chunk is a range of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chunking.assembly import assemble
from chunking.atoms import Atoms, build_atoms
from chunking.cohesion import cohesion_of
from chunking.costs import Costs, Signal, cut_costs, read_signal
from chunking.distances import distances
from chunking.errors import AlignmentError, ConfigError
from chunking.fitting import Draft, fit, new_draft
from chunking.layout import Count, Layout, read_layout
from chunking.measuring import exact_sizes
from chunking.merging import merge_small
from chunking.model import Chunk, Document, Sentence, Tokens
from chunking.overlap import add_overlap, overlap_starts
from chunking.packing import Fill, Limits, pack, pack_greedily, size_costs
from chunking.prefixes import Prefixes, read_prefixes
from chunking.settings import ChunkingSettings
from chunking.splitting import span_of

__all__ = ["Count", "choose_strategy", "chunk_document"]

_BLOCKS_PER_HEADING = 20
"""With more, headings are too rare to structure a document by."""

_CLOSED_SHARE = 0.8
"""With more of it in tables and code, there is little whose distances say anything."""

_WORTH_COUNTING = 2
"""A document whose estimate is above the cap by this factor is not counted whole."""


def chunk_document(  # noqa: PLR0917 - the order is part of the interface
    document: Document,
    units: Sequence[Sentence],
    tokens: Tokens,
    vectors: NDArray[np.floating] | None,
    settings: ChunkingSettings,
    count: Count,
) -> list[Chunk]:
    """Return the document's chunks in order, under every law of chunking.

    ``vectors``: one row per unit, the un-normalised means as stored; None when no
    model pass was made, which ``semantic`` and ``optimal`` refuse with a
    :class:`ConfigError`. ``count`` returns exact model-input sizes. A document without
    text has no chunks; one that fits into a single chunk is one, recorded ``whole``.

    Raises:
        AlignmentError: units and vectors differ in number.
        ConfigError: the strategy needs vectors, or the prompt alone fills the cap.
        DocumentError: one character alone exceeds the cap.
    """
    if vectors is not None and len(vectors) != len(units):
        msg = f"{len(vectors)} vectors for {len(units)} units"
        raise AlignmentError(msg)
    if not document.blocks:
        return []
    strategy = choose_strategy(document, settings, vectors=vectors is not None)
    layout = read_layout(document, units, tokens, settings, count)
    signal = None
    if vectors is not None:
        sizes = np.asarray([unit.n_tokens for unit in units], dtype=np.int64)
        values = distances(vectors, sizes, settings.buffer)
        signal = read_signal(layout, values, thresholded=strategy == "semantic")
    if _fits_whole(layout):
        strategy = "whole"
    packer = _Packer(
        layout=layout,
        prefixes=read_prefixes(layout),
        strategy=strategy,
        signal=signal,
        vectors=vectors if strategy == "optimal" else None,
    )
    atoms, drafts = packer.run()
    return assemble(layout, atoms, drafts, strategy, signal)


def choose_strategy(document: Document, settings: ChunkingSettings, *, vectors: bool) -> str:
    """Return the strategy to be used; ``auto`` decides by structure and by what is known.

    Raises :class:`ConfigError` for ``semantic`` and ``optimal`` without vectors.
    """
    if settings.boundaries != "auto":
        if settings.boundaries in ("semantic", "optimal") and not vectors:
            msg = (
                f"chunking.boundaries is {settings.boundaries}, which needs sentence vectors, "
                "but no model pass was made; choose recursive, structural or fixed"
            )
            raise ConfigError(msg)
        return settings.boundaries
    if vectors and _is_prose(document):
        return "optimal"
    sections = sum(block.kind == "heading" for block in document.blocks)
    blocks = len(document.blocks)
    return "structural" if sections and blocks <= _BLOCKS_PER_HEADING * sections else "recursive"


def _is_prose(document: Document) -> bool:
    """Return whether sentences make up enough of a document for their vectors to place cuts."""
    closed = sum(b.end - b.start for b in document.blocks if b.kind in ("table", "code"))
    return closed <= _CLOSED_SHARE * len(document.text)


def _fits_whole(layout: Layout) -> bool:
    """Return whether the document fits into one chunk; a long one is not counted."""
    if len(layout.tokens.ids) + layout.special > _WORTH_COUNTING * layout.cap:
        return False
    text = layout.document.text
    return exact_sizes(layout, [span_of(text, 0, len(text))])[0] <= layout.cap


@dataclass(slots=True, kw_only=True)
class _Packer:
    """Packs one document; costs and limits are remembered for the atoms in use."""

    layout: Layout
    prefixes: Prefixes
    strategy: str
    signal: Signal | None
    vectors: NDArray[np.floating] | None
    atoms: Atoms | None = None
    costs: Costs | None = None
    limits: dict[int, Limits] = field(default_factory=dict)

    def run(self) -> tuple[Atoms, list[Draft]]:
        """Pack, fit to the exact cap, merge what is too small, overlap."""
        atoms = build_atoms(self.layout)
        drafts = self._drafts(atoms, self._ends(atoms))
        atoms, drafts = fit(self.layout, self.prefixes, atoms, drafts, self.repack)
        while True:
            merged = merge_small(self.layout, self.prefixes, atoms, drafts)
            if len(merged) == len(drafts):
                break
            atoms, drafts = fit(self.layout, self.prefixes, atoms, merged, self.repack)
        if self.layout.settings.overlap:
            drafts = add_overlap(self.layout, self.prefixes, atoms, drafts)
        return atoms, drafts

    def _drafts(self, atoms: Atoms, ends: Sequence[int]) -> list[Draft]:
        starts = [0, *ends[:-1]]
        return [
            new_draft(self.layout, self.prefixes, atoms, start, end)
            for start, end in zip(starts, ends, strict=True)
        ]

    def _ends(self, atoms: Atoms) -> list[int]:
        if self.strategy == "whole":
            return [len(atoms)]
        costs = self._costs(atoms)
        runs = pairwise(costs.runs)
        cap = self.layout.cap
        return [end for run in runs for end in self.repack(atoms, *run, cap)]

    def repack(self, atoms: Atoms, start: int, end: int, cap: int) -> list[int]:
        """Return the chunk ends of a range of atoms under a cap."""
        costs = self._costs(atoms)
        limits = self._limits(atoms, cap)
        method = pack_greedily if self.strategy == "fixed" else pack
        return method(atoms, costs, limits, start, end)

    def _costs(self, atoms: Atoms) -> Costs:
        if self.costs is None or self.atoms is not atoms:
            strategy = "recursive" if self.strategy == "whole" else self.strategy
            self.costs = cut_costs(self.layout, atoms, strategy, self.signal)
            self.atoms = atoms
            self.limits = {}
        return self.costs

    def _limits(self, atoms: Atoms, cap: int) -> Limits:
        if cap in self.limits:
            return self.limits[cap]
        settings = self.layout.settings
        base = next(iter(self.limits.values()), None)
        if base is None:
            soft, due = self.prefixes.estimates(atoms)
            chars = self._add_overlap(atoms, soft, due)
            cohesion = None
            if self.vectors is not None:
                cohesion = cohesion_of(self.layout, atoms, self.vectors)
        else:
            soft, due, cohesion, chars = base.soft, base.due, base.cohesion, base.chars
        target = min(settings.target_tokens, cap)
        self.limits[cap] = Limits(
            cap=cap,
            target=target,
            special=self.layout.special,
            soft=soft,
            due=due,
            by_size=size_costs(settings, cap, target),
            min_atoms=settings.min_sentences if self.strategy == "semantic" else 1,
            cohesion=cohesion,
            chars=chars,
        )
        return self.limits[cap]

    def _add_overlap(self, atoms: Atoms, soft: list[int], due: list[int]) -> Fill | None:
        """Reckon with what a chunk from each atom on will repeat; return a target in characters.

        What is repeated must fit, but takes at most half of the target, so that every
        chunk goes on.
        """
        settings = self.layout.settings
        n, room = len(atoms), self.layout.cap - self.layout.special
        starts = list(range(n))
        if settings.overlap and self.strategy != "whole":
            starts = overlap_starts(self.layout, atoms)
            for i, start in enumerate(starts):
                size = atoms.sizes[i] - atoms.sizes[start]
                soft[i] += min(size, settings.target_tokens // 2)
                if due[i] + size + atoms.sizes[i + 1] - atoms.sizes[i] <= room:
                    due[i] += size
        if settings.target_chars is None or self.strategy != "fixed":
            return None
        text, bounds = self.layout.document.text, atoms.starts
        ends = [0, *(span_of(text, bounds[i], bounds[i + 1])[1] for i in range(n))]
        half = settings.target_chars // 2
        taken = [min(bounds[i] - bounds[start], half) for i, start in enumerate(starts)]
        return Fill(amount=settings.target_chars, ends=ends, taken=taken)
