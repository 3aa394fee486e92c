"""``chunkmill rechunk``: a dataset with other chunks, from what a dataset keeps.

    read versions -> plan -> read back+chunk -> commit unit -> publish bucket
    driver           driver   CPU actors        small tasks    small tasks

The protocol and the engine are those of :mod:`jobs.pipeline` (but a small job is done in
this process, before a cluster would have started); only the first stage differs: it reads
texts, structure and unit vectors from DST, so nothing is fetched or parsed, and the model
is loaded only where vectors are asked for that DST does not keep.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from chunking import schemas
from chunking.errors import ConfigError, DestinationError
from chunking.settings import PRESETS, ChunkingSettings
from jobs import patience
from jobs.adapters.embedders import settle
from jobs.adapters.ray_connect import check_answers, connect
from jobs.adapters.ray_engine import Cluster, StageSpec, plan_sizes
from jobs.adapters.stores import open_store, prove_writable
from jobs.adapters.words import find_word_breaks
from jobs.config import Config
from jobs.config_load import make_config, read_tree
from jobs.drive import Driver, Interrupt, Spent
from jobs.local_engine import LocalCluster, LocalStream
from jobs.meter import Report
from jobs.ports import Embedder, ObjectStore
from jobs.progress import make_view, teller
from jobs.protocol.dataset import Dataset, read_dataset
from jobs.protocol.files import of_today, read_table
from jobs.protocol.preview import STORE_WORKERS
from jobs.protocol.purged import carry_over
from jobs.protocol.roll_forward import list_data, read_versions
from jobs.protocol.session import RunSession
from jobs.protocol.versions import BucketVersion
from jobs.recorded import (
    Recorded,
    read_record,
    recorded_embedder,
    run_settings,
    settings_record,
)
from jobs.records import SourceItem
from jobs.stages.embed import needs_vectors
from jobs.stages.reread import DatasetFacts
from jobs.stages.unit import RechunkUnit, plan_table
from jobs.summary import Ending, print_ending
from jobs.traffic import TRAFFIC

__all__ = ["RechunkRequest", "rechunk"]

_LIGHT, _LIGHT_WITH_MODEL = 5_000_000, 50_000
"""Tokens that one process has done before a cluster of a few CPUs would have been quicker."""

_SETTLED = ("parser", "model", "limits")
"""Sections that decide what DST keeps: with others it would have to be made anew."""
_AUTOMATIC = (("model", "dtype"), ("parser", "ocr"))
"""Keys of which ``auto`` means here: what DST was made with."""

_READ = pa.array(["ok", "partial"])
"""Status of documents that have a text."""

_OF_PRESETS = frozenset(key for preset in PRESETS.values() for key in preset)


@dataclass(frozen=True, slots=True, kw_only=True)
class RechunkRequest:
    """What ``chunkmill rechunk`` was asked; see its ``--help``."""

    dst: str
    new_dst: str
    config_file: Path | None = None
    assignments: tuple[str, ...] = ()
    address: str | None = None
    take_over: bool = False
    as_json: bool = False
    verbosity: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Old:
    """The dataset that is read: committed versions only."""

    store: ObjectStore
    dataset: Dataset
    versions: tuple[BucketVersion, ...]
    recorded: Recorded

    @property
    def facts(self) -> DatasetFacts:
        """Which of its rows stay as they are."""
        return DatasetFacts(
            fingerprint=self.dataset.fingerprint, same_texts=self.recorded.same_texts
        )


def rechunk(request: RechunkRequest) -> int:
    """Make the new dataset and say how it ended; return the exit code.

    Raises:
        UsageError: it cannot be done as asked; nothing was written.
        JobError: it could not be finished; running it again goes on.
    """
    began = time.monotonic()
    TRAFFIC.take()  # what is counted is this run's
    check_answers(request.address)
    tree = read_tree(request.config_file, request.assignments)
    source = make_config({"source": tree.get("source", {})}).source
    new = open_store(request.new_dst, source)
    patience.listen(teller(request.verbosity))
    dst = open_store(request.dst, source, role="source")
    dst.reach()
    old = _read_old(dst)
    _check_apart(old.store.url, new.url)
    config = _configuration(old, tree)
    find_word_breaks(config.parser.words)
    items = _listed(old)
    prove_writable(new)
    embedder = recorded_embedder(config, old.recorded)
    config, note = settle(config, embedder)
    spent = _model_passes(old, config)
    for line in (note, spent and f"this needs the model: {spent}"):
        if line:
            teller(request.verbosity)(line)
    with (
        Interrupt(teller(request.verbosity)) as interrupt,
        _session(request, config, old, new, embedder) as session,
    ):
        n_buckets = config.output.n_buckets or old.dataset.n_buckets
        carry_over(old.store, new, session.run_id, n_buckets)
        plan = session.make_plan(
            items,
            delete_missing=False,
            shuffle_seed=config.resources.shuffle_seed,
            tokenizer=embedder.tokenizer_description,
        )
        job = _Job(request=request, config=config, old=old, new=new, with_model=bool(spent))
        cost = job.work(session, interrupt)
        report = None if interrupt.is_set() else session.finish(cost.as_dict)
    ending = Ending(
        store=new,
        plan=plan,
        totals=cost.totals,
        report=report,
        max_failed=config.limits.max_failed,
        seconds=time.monotonic() - began,
    )
    return print_ending(ending, as_json=request.as_json, verbosity=request.verbosity)


def _read_old(store: ObjectStore) -> _Old:
    dataset = read_dataset(store)
    if dataset is None:
        msg = f"{store.url} holds no dataset"
        raise DestinationError(msg)
    versions = read_versions(store, list_data(store), STORE_WORKERS)
    return _Old(
        store=store,
        dataset=dataset,
        versions=tuple(versions[bucket] for bucket in sorted(versions)),
        recorded=read_record(store, dataset),
    )


def _check_apart(old: str, new: str) -> None:
    one, other = (url.rstrip("/") + "/" for url in (old, new))
    if "://" not in one + other:
        one, other = (os.path.realpath(path) + "/" for path in (old, new))
    if one.startswith(other) or other.startswith(one):
        msg = f"NEW_DST {new} must lie beside DST {old}, not be the same or inside the other"
        raise ConfigError(msg)


def _configuration(old: _Old, tree: Mapping[str, Any]) -> Config:
    """Return what DST was made with, overridden by what is asked for.

    A preset that is asked for brings its own sizes and vectors.
    """
    base = {name: dict(keys) for name, keys in old.recorded.tree.items()}
    before = make_config(base)
    if "preset" in tree.get("chunking", {}):
        base["chunking"] = {k: v for k, v in base["chunking"].items() if k not in _OF_PRESETS}
    for section, key in _AUTOMATIC:
        if tree.get(section, {}).get(key) == "auto":
            tree = {**tree, section: {k: v for k, v in tree[section].items() if k != key}}
    sections = {*base, *tree}
    config = make_config({name: {**base.get(name, {}), **tree.get(name, {})} for name in sections})
    _check_settled(before.relevant(), config.relevant())
    if config.output.n_buckets is None:
        output = config.output.model_copy(update={"n_buckets": old.dataset.n_buckets})
        config = config.model_copy(update={"output": output})
    return config


def _check_settled(before: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    for section in _SETTLED:
        for key in sorted({*before[section], *asked[section]}):
            was, value = before[section].get(key), asked[section].get(key)
            if value != was:
                msg = (
                    f"rechunk changes chunking and output only: {section}.{key} is "
                    f"{was!r} in DST, not {value!r}; use 'chunkmill run' for that"
                )
                raise ConfigError(msg)


def _listed(old: _Old) -> list[SourceItem]:
    """Return the documents of the last versions.

    Raises:
        DestinationError: there is none, or DST does not keep their structure.
    """
    items = list(_items(old))
    if not items:
        msg = f"{old.store.url} has no published document yet"
        raise DestinationError(msg)
    return items


def _items(old: _Old) -> Iterator[SourceItem]:
    for version in old.versions:
        if version.index is None:
            continue
        rows = of_today(read_table(old.store, version.index), schemas.INDEX)
        read = pc.is_in(rows["status"], value_set=_READ)
        missing = pc.and_(read, pc.is_null(rows["structure_ref"]))
        if pc.any(missing).as_py():
            msg = (
                f"{old.store.url} does not keep the structure of all its documents: it was made "
                "with output.keep_sentences=false, or in part by an earlier release; use "
                "'chunkmill run'"
            )
            raise DestinationError(msg)
        keys = {file.value: file.key for file in version.table("documents")}
        for row in rows.to_pylist():
            yield SourceItem(
                source_key=row["source_key"],
                source_uri="",
                size=0,
                etag=row["etag"] or "",
                location=keys[row["value"]],
                source_name=row["source_name"],
                structure_ref=row["structure_ref"],
                parent_doc_id=row["parent_doc_id"],
            )


def _model_passes(old: _Old, config: Config) -> str | None:
    """Return what the model is needed for as far as it is known before, in words."""
    asked = config.chunking.all_settings()
    before = make_config(old.recorded.tree)
    reasons = []
    if any(map(needs_vectors, asked)):
        if old.recorded.no_late is not None:
            reasons.append("its unit vectors are its own, which are not kept")
        elif not any(map(needs_vectors, before.chunking.all_settings())):
            reasons.append("DST keeps no unit vectors")
        elif config.output.sentence_dtype > before.output.sentence_dtype:
            reasons.append(f"DST keeps unit vectors in {before.output.sentence_dtype} only")
    if any(_embeds_chunks(settings) for settings in asked):
        reasons.append("each chunk that is new is embedded by itself")
    if not reasons:
        return None
    counts = [version.counts for version in old.versions]
    tokens = sum(count.get("total.tokens", 0) for count in counts)
    documents = sum(
        count.get(f"total.{status}", 0) for count in counts for status in _READ.to_pylist()
    )
    return f"{' and '.join(reasons)}: up to {tokens:,} tokens of {documents:,} documents"


def _embeds_chunks(settings: ChunkingSettings) -> bool:
    return settings.vectors in ("chunk", "blend")


def _session(
    request: RechunkRequest, config: Config, old: _Old, new: ObjectStore, embedder: Embedder
) -> RunSession:
    """Open a run on the new dataset, which remembers the source of the old one."""
    settings = run_settings(
        config,
        embedder.facts,
        settings_record(config, embedder),
        source=old.dataset.source,
        sources=old.dataset.sources,
        unpacks=False,
    )
    return RunSession.open(
        new, settings, take_over=request.take_over, on_wait=teller(request.verbosity)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """The work of one command, as the driver hands it to the cluster."""

    request: RechunkRequest
    config: Config
    old: _Old
    new: ObjectStore
    with_model: bool

    def work(self, session: RunSession, interrupt: Interrupt) -> Spent:
        """Process what the plan leaves to do."""
        numbers = session.units_to_do()
        verbosity = self.request.verbosity
        driver = Driver(session, self.new, interrupt, make_view(verbosity))
        if not numbers or interrupt.is_set():
            return driver.publish_only()
        units = [plan_table(session.unit(number)) for number in numbers]
        if self.request.address is None and self._is_light():
            engine = LocalCluster()
            args = self._args(session, engine.meter.add, threads=None)
            return driver.run(engine, LocalStream(units, RechunkUnit(*args)))
        with connect(
            self.request.address,
            self.config.resources.cpus,
            verbose=verbosity > 1,
            attempts=self.config.limits.attempts,
            deaths=session.known_deaths,
        ) as cluster:
            stage = self._stage(session, cluster, len(units))
            return driver.run(cluster, cluster.stream(units, [stage]))

    def _is_light(self) -> bool:
        tokens = sum(version.counts.get("total.tokens", 0) for version in self.old.versions)
        return tokens <= (_LIGHT_WITH_MODEL if self.with_model else _LIGHT)

    def _stage(self, session: RunSession, cluster: Cluster, n_units: int) -> StageSpec:
        resources = self.config.resources
        gpus = cluster.gpus if self.with_model else 0.0
        sizes = plan_sizes(cluster.cpus, gpus, resources, n_units)
        workers, cpus = sizes.embed_workers, sizes.cpus
        if not sizes.embed_gpus:
            # Nothing else runs: one worker a CPU, unless the configuration says.
            workers = resources.embed_workers or max(int(cluster.cpus), 1)
            workers, cpus = min(workers, n_units), min(1.0, cluster.cpus / workers)
        threads = None if sizes.embed_gpus else max(int(cluster.cpus) // workers, 1)
        return StageSpec(
            stage=RechunkUnit,
            args=self._args(session, cluster.meter.report, threads),
            workers=workers,
            cpus=cpus,
            gpus=sizes.embed_gpus,
        )

    def _args(self, session: RunSession, report: Report, threads: int | None) -> tuple[Any, ...]:
        old = self.old
        return (self.config, old.recorded, session.run, report, threads, old.store, old.facts)
