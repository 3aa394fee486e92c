"""The job, from the command to the report. Read this file first.

    list -> plan -> fetch+parse -> embed+chunk -> commit unit -> publish bucket
    driver  driver   CPU actors     GPU/CPU actors  small tasks    small tasks

The protocol (:mod:`jobs.protocol`) says what is done and what counts; the stages
(:mod:`jobs.stages`) do the work and know no engine; :mod:`jobs.adapters.ray_engine`
spreads them over a cluster. This file only ties them together.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypedDict

from chunking.errors import ModelError
from jobs import patience
from jobs.adapters.embedders import fix_dtype, make_for_facts, settle
from jobs.adapters.ray_connect import check_answers, connect, is_local
from jobs.adapters.ray_engine import Cluster, StageSpec, plan_sizes
from jobs.adapters.stores import open_store, prove_writable
from jobs.adapters.words import find_word_breaks
from jobs.config import Config
from jobs.drive import Driver, Interrupt, Spent
from jobs.parsing.available import fix_parser
from jobs.ports import ObjectStore
from jobs.progress import make_view, teller
from jobs.protocol.dataset import read_dataset
from jobs.protocol.session import RunSession, preview_plan
from jobs.recorded import run_settings, settings_record
from jobs.records import SourceItem, version_tag
from jobs.sources import Source, open_source
from jobs.stages.fetch_parse import FetchParse
from jobs.stages.unit import EmbedUnit, plan_table
from jobs.summary import Ending, print_ending, print_plan
from jobs.traffic import TRAFFIC

__all__ = ["RunRequest", "run_job"]


class PlanOptions(TypedDict):
    """What a dry run and a run ask of the plan alike."""

    limit: int | None
    delete_missing: bool
    retry_failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What ``chunkmill run`` was asked; see its ``--help``."""

    src: str
    dst: str
    config: Config
    address: str | None = None
    limit: int | None = None
    dry_run: bool = False
    retry_failed: bool = False
    delete_missing: bool = True
    take_over: bool = False
    source_name: str | None = None
    as_json: bool = False
    verbosity: int = 0


def run_job(request: RunRequest) -> int:
    """Run the job and say how it ended; return the exit code.

    Raises:
        UsageError: it cannot be done as asked; nothing was written.
        JobError: it could not be finished; running it again goes on.
    """
    patience.listen(teller(request.verbosity))
    began = time.monotonic()
    config = request.config
    TRAFFIC.take()  # what is counted is this run's
    check_answers(request.address)
    source = open_source(request.src, config, request.dst)
    items = _listed(source, request.source_name)
    store = open_store(request.dst, config.source)
    if request.dry_run:
        store.reach()
    else:
        prove_writable(store)
    # A missing extra, hook or weight is told before anything is written.
    find_word_breaks(config.parser.words)
    config = fix_parser(config)
    known, here = read_dataset(store), is_local(request.address)
    config = fix_dtype(config, here=here, made_with=known.model if known else None)
    embedder = make_for_facts(config, here=here)
    config, note = settle(config, embedder)
    request = replace(request, config=config)
    if note is not None:
        teller(request.verbosity)(note)
    settings = run_settings(
        config,
        embedder.facts,
        settings_record(config, embedder),
        source=source.url,
        source_name=request.source_name,
    )
    if request.dry_run:
        plan = preview_plan(store, settings, items, **_plan_options(request))
        return print_plan(plan, as_json=request.as_json)
    with (
        Interrupt(teller(request.verbosity)) as interrupt,
        RunSession.open(
            store, settings, take_over=request.take_over, on_wait=teller(request.verbosity)
        ) as session,
    ):
        plan = session.make_plan(
            items,
            shuffle_seed=config.resources.shuffle_seed,
            tokenizer=embedder.tokenizer_description,
            **_plan_options(request),
        )
        spent = _work(request, source, store, session, interrupt)
        report = None if interrupt.is_set() else session.finish(spent.as_dict)
    ending = Ending(
        store=store,
        plan=plan,
        totals=spent.totals,
        report=report,
        max_failed=config.limits.max_failed,
        seconds=time.monotonic() - began,
    )
    return print_ending(ending, as_json=request.as_json, verbosity=request.verbosity)


def _listed(source: Source, name: str | None) -> Iterator[SourceItem]:
    """Return the listing as this dataset knows it; :func:`open_source` has refused an empty one."""
    prefix = f"{name}/" if name else ""
    return (
        replace(
            item,
            source_key=prefix + item.source_key,
            etag=version_tag(item.etag, item.metadata),
        )
        for item in source.list()
    )


def _plan_options(request: RunRequest) -> PlanOptions:
    return {
        "limit": request.limit,
        "delete_missing": request.delete_missing,
        "retry_failed": request.retry_failed,
    }


def _work(
    request: RunRequest,
    source: Source,
    store: ObjectStore,
    session: RunSession,
    interrupt: Interrupt,
) -> Spent:
    """Process what the plan leaves to do; without open units there is no need of a cluster."""
    numbers = session.units_to_do()
    driver = Driver(session, store, interrupt, make_view(request.verbosity))
    if not numbers or interrupt.is_set():
        return driver.publish_only()
    config = request.config
    verbose = request.verbosity > 1
    with connect(
        request.address,
        config.resources.cpus,
        verbose=verbose,
        attempts=config.limits.attempts,
        deaths=session.known_deaths,
    ) as cluster:
        sizes = plan_sizes(cluster.cpus, _gpus(cluster, config), config.resources, len(numbers))
        report = cluster.meter.report
        # All CPUs, not the actor's share: the parsers leave theirs idle once they are done.
        threads = None if sizes.embed_gpus else max(int(cluster.cpus) // sizes.embed_workers, 1)
        stages = (
            StageSpec(
                stage=FetchParse,
                args=(source, config, report),
                workers=sizes.parse_workers,
                cpus=sizes.cpus,
            ),
            StageSpec(
                stage=EmbedUnit,
                args=(config, session.run, report, threads, store),
                workers=sizes.embed_workers,
                cpus=sizes.cpus,
                gpus=sizes.embed_gpus,
            ),
        )
        units = (plan_table(session.unit(number)) for number in numbers)
        return driver.run(cluster, cluster.stream(list(units), stages))


def _gpus(cluster: Cluster, config: Config) -> float:
    """Return the GPUs that the model may use.

    Raises:
        ModelError: it is to run on GPUs, and there is none.
    """
    gpus = 0.0 if config.model.device == "cpu" else cluster.gpus
    if config.model.device == "cuda" and not (gpus or config.resources.gpus_per_worker):
        msg = (
            "model.device is cuda, but the cluster has no GPU now; where GPUs are started on "
            "demand, say how many by resources.gpus_per_worker"
        )
        raise ModelError(msg)
    return gpus
