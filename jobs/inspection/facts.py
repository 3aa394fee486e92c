"""What is said of an inspected document: in words for a person, as one object for a machine."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from jobs.notebook.values import Chunks, ChunkView
from jobs.records import ParsedDocument
from jobs.visible import visible_line

__all__ = ["as_object", "furniture", "repeated_tokens", "setting_lines", "strategy"]


def setting_lines(chunks: Chunks) -> dict[str, str]:
    """Return the settings in use, those that do not apply left out."""
    settings = asdict(chunks.settings)
    settings["threshold"] = chunks.settings.threshold_amount
    thresholded = any(view.threshold is not None for view in chunks)
    hidden = set() if thresholded else {"threshold", "threshold_type"}
    if not settings["overlap"]:
        hidden |= {"overlap_unit"}
    shown = {
        name.replace("_", " "): _word(value)
        for name, value in settings.items()
        if value is not None and name not in hidden
    }
    return {**shown, "model": visible_line(chunks.model.name)}


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def strategy(chunks: Chunks) -> str:
    """Return the strategies that the chunks record, most frequent first."""
    return ", ".join(name for name, _ in Counter(view.boundaries for view in chunks).most_common())


def repeated_tokens(before: ChunkView | None, view: ChunkView) -> int:
    """Return how many of a chunk's tokens the chunk before it holds too."""
    if before is None:
        return 0
    return max(before.chunk.token_end - view.chunk.token_start, 0)


def furniture(chunks: Chunks, limit: int) -> tuple[list[tuple[str, int]], int]:
    """Return running heads and the like with how often each occurs, and how many are left out."""
    counted = Counter(chunks.document.document.furniture).most_common()
    shown = [(visible_line(text, 200), count) for text, count in counted[:limit]]
    return shown, len(counted) - len(shown)


def as_object(chunks: Chunks) -> dict[str, Any]:
    """Return all that is known of the document and its chunks, vectors left out.

    The keys of a chunk are the columns of ``chunks``, with ``distance`` and
    ``threshold`` of ``boundaries``. ``distances`` has one entry per pair of
    neighbouring sentences: the end of the first, and how far the second is from it.
    """
    parsed = chunks.document.parsed
    value = chunks.document.document
    rows = chunks.to_arrow().drop_columns(["embedding"]).to_pylist()
    for row, view in zip(rows, chunks, strict=True):
        row["metadata"] = dict(row["metadata"])
        row["distance"], row["threshold"] = view.distance, view.threshold
        row["repeated_tokens"] = repeated_tokens(_before(chunks, view), view)
    return {
        "document": {
            "doc_id": parsed.plan.doc_id,
            "source_key": parsed.plan.source_key,
            "source_uri": parsed.plan.source_uri,
            "doc_version": parsed.doc_version,
            "size_bytes": parsed.size_bytes,
            "format": parsed.outcome.format,
            "parser": parsed.outcome.parser,
            "status": parsed.outcome.status,
            "error_kind": parsed.outcome.error_kind,
            "error_message": parsed.outcome.error_message,
            "warnings": list(parsed.outcome.warnings),
            "title": value.title,
            "language": value.language,
            "n_pages": value.n_pages,
            "n_chars": len(value.text),
            "n_tokens": sum(unit.n_tokens for unit in chunks.units),
            "n_chunks": len(chunks),
            "metadata": dict(value.metadata),
            "furniture": list(value.furniture),
        },
        "members": [_member(member) for member in chunks.document.members],
        "settings": asdict(chunks.settings),
        "model": asdict(chunks.model),
        "threshold": chunks.threshold,
        "chunks": rows,
        "distances": [
            {"position": unit.end, "distance": distance}
            for unit, distance in zip(chunks.units, _distances(chunks), strict=False)
        ],
    }


def _member(member: ParsedDocument) -> dict[str, Any]:
    outcome = member.outcome
    return {
        "source_key": member.plan.source_key,
        "format": outcome.format,
        "status": outcome.status,
        "error_kind": outcome.error_kind,
        "error_message": outcome.error_message,
    }


def _before(chunks: Chunks, view: ChunkView) -> ChunkView | None:
    return chunks[view.index - 1] if view.index else None


def _distances(chunks: Chunks) -> list[float]:
    return [] if chunks.distances is None else chunks.distances.tolist()
