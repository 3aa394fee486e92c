"""A dataset of many tiny texts, made in one process and in little time, for benches.

    python scripts/bench/one_process.py SRC DST DOCUMENTS_OF_A_UNIT [KEY=VALUE ...]

Source, plan, protocol and stores are the job's own. So are the stages, but only for the first
unit; the others get its rows under the ids, keys and etags of their own documents. A later
``chunkmill run`` with the same settings finds nothing to do.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from jobs.adapters.embedders import fix_dtype, make_for_facts, settle  # noqa: E402 - by path
from jobs.adapters.stores import open_store  # noqa: E402
from jobs.config import Config  # noqa: E402
from jobs.config_load import load_config  # noqa: E402
from jobs.meter import Sample  # noqa: E402
from jobs.parsing.available import fix_parser  # noqa: E402
from jobs.parsing.builder import DocumentBuilder  # noqa: E402
from jobs.ports import Embedder, ObjectStore, ParseOutcome  # noqa: E402
from jobs.protocol.plan import PlannedUnit  # noqa: E402
from jobs.protocol.publish import publish_bucket  # noqa: E402
from jobs.protocol.run import RunSettings  # noqa: E402
from jobs.protocol.session import RunSession  # noqa: E402
from jobs.protocol.units import commit_unit  # noqa: E402
from jobs.recorded import run_settings, settings_record  # noqa: E402
from jobs.records import ParsedDocument, UnitTables  # noqa: E402
from jobs.sources import Source, open_source  # noqa: E402
from jobs.stages.embed import EmbedStage  # noqa: E402
from jobs.stages.fetch_parse import FetchParse  # noqa: E402
from jobs.stages.unit import plan_table  # noqa: E402

__all__ = ["Prepared", "make_dataset", "prepared"]

TABLES = ("documents", "chunks", "boundaries", "sentences", "structure", "own_vectors")


class PlainParser:
    """Takes a file as paragraphs of plain text, in this process."""

    def parse(self, path: Path, *, name: str) -> ParseOutcome:
        """Return the text."""
        del name
        builder = DocumentBuilder()
        for text in path.read_text(encoding="utf-8").split("\n\n"):
            builder.add("paragraph", text)
        document = builder.build(language="en")
        return ParseOutcome(status="ok", format="txt", parser="bench", document=document)

    def close(self) -> None:
        """Do nothing: there is no child."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a run has settled before it takes the lease."""

    config: Config
    source: Source
    store: ObjectStore
    settings: RunSettings
    embedder: Embedder


def prepared(src: str, dst: str, assignments: Sequence[str]) -> Prepared:
    """Settle a run as ``chunkmill run`` does."""
    config = load_config(None, assignments)
    source = open_source(src, config, dst)
    config = fix_dtype(fix_parser(config), here=True, made_with=None)
    embedder = make_for_facts(config, here=True)
    config, _ = settle(config, embedder)
    record = settings_record(config, embedder)
    return Prepared(
        config=config,
        source=source,
        store=open_store(dst, config.source),
        settings=run_settings(config, embedder.facts, record, source=source.url),
        embedder=embedder,
    )


def make_dataset(job: Prepared, *, per_unit: int) -> None:
    """Make the dataset of a source of texts with one chunk each."""
    settings = replace(job.settings, unit_documents=per_unit)
    with RunSession.open(job.store, settings) as session:
        tokenizer = job.embedder.tokenizer_description
        session.make_plan(job.source.list(), tokenizer=tokenizer)
        made: UnitTables | None = None
        for number in session.units_to_do():
            unit = session.unit(number)
            made = made or _made(job, session, unit)
            tables = _renamed(made, unit)
            session.unit_done(commit_unit(job.store, session.run, unit, tables))
        for bucket in session.ready():
            session.published(publish_bucket(job.store, session.run, bucket))
        session.finish()


def _made(job: Prepared, session: RunSession, unit: PlannedUnit) -> UnitTables:
    parse = FetchParse(job.source, job.config, _ignore, PlainParser())
    embed = EmbedStage(
        job.embedder,
        job.config,
        fingerprint=job.settings.fingerprint,
        run_id=session.run_id,
        store=job.store,
    )
    return embed(ParsedDocument.from_table(parse(plan_table(unit))))


def _renamed(made: UnitTables, unit: PlannedUnit) -> UnitTables:
    """Return as many rows as the unit has documents, and theirs.

    Both are in the order of their ids, which so stays.
    """
    documents = sorted(unit.documents, key=lambda document: document.doc_id)
    before: Any = made.documents["doc_id"].combine_chunks()[: len(documents)]
    values = {
        name: pa.array([getattr(document, name) for document in documents])
        for name in ("doc_id", "source_key", "source_uri", "etag")
    }
    values["chunk_id"] = values["doc_id"]
    tables = {name: getattr(made, name) for name in TABLES}
    return UnitTables(
        **{name: table and _with(table, before, values) for name, table in tables.items()}
    )


def _with(table: pa.Table, before: Any, values: dict[str, Any]) -> pa.Table:  # noqa: ANN401
    table = table.filter(pc.is_in(table["doc_id"], value_set=before))
    places = pc.index_in(table["doc_id"], value_set=before)
    for name in values.keys() & set(table.column_names):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(name), values[name].take(places))
    return table


def _ignore(sample: Sample) -> None:
    """Measure nothing."""
    del sample


if __name__ == "__main__":
    job = prepared(sys.argv[1], sys.argv[2], sys.argv[4:])
    make_dataset(job, per_unit=int(sys.argv[3]))
