"""A whole job in one process, for benches: no cluster, and texts that need no parser.

    python scripts/bench/one_process.py SRC DST DOCUMENTS_OF_A_UNIT [KEY=VALUE ...]

The source, the plan, the stages, the protocol and the stores are the job's own, and so is
what they write: a later ``chunkmill run`` with the same settings finds nothing to do.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from jobs.adapters.embedders import fix_dtype, make_for_facts, settle  # noqa: E402 - run by path, not installed
from jobs.adapters.stores import open_store  # noqa: E402
from jobs.config import Config  # noqa: E402
from jobs.config_load import load_config  # noqa: E402
from jobs.drive import Driver, Interrupt  # noqa: E402
from jobs.local_engine import LocalCluster, LocalStream  # noqa: E402
from jobs.meter import Sample, Totals  # noqa: E402
from jobs.parsing.available import fix_parser  # noqa: E402
from jobs.parsing.builder import DocumentBuilder  # noqa: E402
from jobs.ports import ObjectStore, ParseOutcome  # noqa: E402
from jobs.progress import QuietView  # noqa: E402
from jobs.protocol.run import RunSettings  # noqa: E402
from jobs.protocol.session import RunSession  # noqa: E402
from jobs.recorded import run_settings, settings_record  # noqa: E402
from jobs.sources import Source, open_source  # noqa: E402
from jobs.stages.fetch_parse import FetchParse  # noqa: E402
from jobs.stages.unit import EmbedUnit, plan_table  # noqa: E402

__all__ = ["PlainParser", "Prepared", "prepared", "process"]


class PlainParser:
    """Takes a file as one paragraph of plain text, in this process."""

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
    tokenizer: str | None


def prepared(src: str, dst: str, assignments: Sequence[str]) -> Prepared:
    """Settle a run as ``chunkmill run`` does."""
    config = load_config(None, assignments)
    source = open_source(src, config, dst)
    config = fix_dtype(fix_parser(config), here=True, made_with=None)
    embedder = make_for_facts(config, here=True)
    config, _ = settle(config, embedder)
    record = settings_record(config, embedder)
    settings = run_settings(config, embedder.facts, record, source=source.url)
    return Prepared(
        config=config,
        source=source,
        store=open_store(dst, config.source),
        settings=settings,
        tokenizer=embedder.tokenizer_description,
    )


def _ignore(sample: Sample) -> None:
    """Measuring every tiny document would cost more than the document."""
    del sample


def process(job: Prepared, *, per_unit: int) -> dict[str, Totals]:
    """Do the whole job, with so many documents in a unit; return the stages' totals."""
    settings = replace(job.settings, unit_documents=per_unit)
    with (
        Interrupt(print) as interrupt,
        RunSession.open(job.store, settings) as session,
    ):
        session.make_plan(job.source.list(), tokenizer=job.tokenizer)
        engine = LocalCluster()
        parse = FetchParse(job.source, job.config, _ignore, PlainParser())
        embed = EmbedUnit(job.config, session.run, _ignore, 1, job.store)

        def stage(unit: pa.Table) -> pa.Table:
            return embed(parse(unit))

        units = (plan_table(session.unit(number)) for number in session.units_to_do())
        driver = Driver(session, job.store, interrupt, QuietView())
        totals = driver.run(engine, LocalStream(units, stage))
        session.finish()
    return totals


if __name__ == "__main__":
    process(prepared(sys.argv[1], sys.argv[2], sys.argv[4:]), per_unit=int(sys.argv[3]))
