"""What the commit protocol costs: ``python scripts/bench/overhead.py SRC [--set KEY=VALUE ...]``.

Takes all documents of SRC through the stages in one process, unit by unit. Each unit's tables
then go two ways: through the whole protocol (plan, commit, publish, plain copies, report),
and, as a job without one would do it, into plain Parquet files with the same columns and
compression. Printed are the seconds of both, and what the protocol adds as a share of the
job that writes plain files: by the clock, and by the CPU, which other load disturbs less. In
a cluster commits and publications run beside the stages, so this is the most that they can
add. ``--set model.name=hash:64 --set 'source.include=["**/*.txt", "**/*.md"]'`` is the
worst case: nothing but cheap texts and a model that costs nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from one_process import Prepared, prepared  # noqa: E402 - run by path, not installed

from jobs.adapters.embedders import make_embedder  # noqa: E402
from jobs.meter import Sample, measure  # noqa: E402
from jobs.parsing.pool import ChildParser  # noqa: E402
from jobs.protocol.publish import publish_bucket  # noqa: E402
from jobs.protocol.session import RunSession  # noqa: E402
from jobs.protocol.units import commit_unit  # noqa: E402
from jobs.records import ParsedDocument, UnitTables  # noqa: E402
from jobs.stages.embed import EmbedStage  # noqa: E402
from jobs.stages.fetch_parse import FetchParse  # noqa: E402
from jobs.stages.unit import plan_table  # noqa: E402

TABLES = ("documents", "chunks", "boundaries", "sentences", "structure", "own_vectors")
SETTLE_SECONDS = 1.5
"""After which a measure looks for the processes below this one again."""


@dataclass(kw_only=True)
class Watch:
    """Seconds by the clock and of this process's CPU."""

    wall: float = 0.0
    cpu: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Add what the block takes."""
        wall, cpu = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            self.wall += time.monotonic() - wall
            self.cpu += time.process_time() - cpu


@dataclass(kw_only=True)
class Costs:
    """What each part took; ``all_cpu``: of this process and those below it."""

    stages: Watch
    protocol: Watch
    plain: Watch
    all_cpu: float = 0.0
    documents: int = 0
    units: int = 0


def write_plain(folder: Path, unit: int, tables: UnitTables) -> None:
    """Write a unit's tables as a job without a protocol would."""
    for name in TABLES:
        table = getattr(tables, name)
        if table is not None:
            path = folder / name / f"{unit:06d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, path, compression="zstd")


def all_cpu() -> float:
    """Return the CPU seconds of this process and of those below it, ended ones too."""
    time.sleep(SETTLE_SECONDS)
    return measure("", 0.0, {}).cpu_seconds


def ignore(sample: Sample) -> None:
    """Measure nothing but the whole."""
    del sample


def compare(job: Prepared, folder: Path) -> Costs:
    """Do the job; return what its parts took."""
    costs = Costs(stages=Watch(), protocol=Watch(), plain=Watch())
    parser = ChildParser(job.config.parser, job.config.limits)
    parse = FetchParse(job.source, job.config, ignore, parser)
    embedder = make_embedder(job.config, threads=1)
    before = all_cpu()
    with closing(parser):
        with costs.protocol.running():
            session = RunSession.open(job.store, job.settings)
        with session:
            work(job, session, parse, embedder, costs, folder)
        costs.all_cpu = all_cpu() - before
    return costs


def work(  # noqa: PLR0917 - the parts of a job
    job: Prepared,
    session: RunSession,
    parse: FetchParse,
    embedder: object,
    costs: Costs,
    folder: Path,
) -> None:
    """Take every unit through the stages, the protocol and the plain files."""
    with costs.protocol.running():
        plan = session.make_plan(job.source.list(), tokenizer=job.embedder.tokenizer_description)
    embed = EmbedStage(
        embedder,  # type: ignore[arg-type]
        job.config,
        fingerprint=job.settings.fingerprint,
        run_id=session.run_id,
        store=job.store,
    )
    costs.documents, costs.units = plan.n_documents, plan.n_units
    for number in session.units_to_do():
        unit = session.unit(number)
        with costs.stages.running():
            tables = embed(ParsedDocument.from_table(parse(plan_table(unit))))
        with costs.plain.running():
            write_plain(folder, number, tables)
        with costs.protocol.running():
            session.unit_done(commit_unit(job.store, session.run, unit, tables))
            for bucket in session.ready():
                session.published(publish_bucket(job.store, session.run, bucket))
    with costs.protocol.running():
        session.finish()


def show(costs: Costs) -> None:
    """Print the figures."""
    stages_cpu = costs.all_cpu - costs.protocol.cpu - costs.plain.cpu
    print(f"{costs.documents} documents in {costs.units} units")
    print("| part | seconds | CPU seconds |", "|---|---|---|", sep="\n")
    for name, wall, cpu in (
        ("stages", costs.stages.wall, stages_cpu),
        ("protocol", costs.protocol.wall, costs.protocol.cpu),
        ("plain files", costs.plain.wall, costs.plain.cpu),
    ):
        print(f"| {name} | {wall:.2f} | {cpu:.2f} |")
    added = costs.protocol.wall - costs.plain.wall
    added_cpu = costs.protocol.cpu - costs.plain.cpu
    print(
        f"the protocol adds {added / (costs.stages.wall + costs.plain.wall):.1%} by the clock, "
        f"{added_cpu / (stages_cpu + costs.plain.cpu):.1%} by the CPU"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("source")
    parser.add_argument("--tmp", help="folder on the disk that is to be written")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="chunkmill-bench-", dir=options.tmp) as folder:
        job = prepared(options.source, f"{folder}/out", options.set)
        show(compare(job, Path(folder) / "plain"))


if __name__ == "__main__":
    main()
