"""The closing words of a run: what was done, what failed, where the output lies."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from jobs.config import parse_budget
from jobs.meter import Totals
from jobs.ports import ObjectStore
from jobs.progress import duration
from jobs.protocol.plan import Plan
from jobs.protocol.purged import UNFINISHED_PURGE, pending_purge

__all__ = ["Ending", "print_ending", "print_plan", "reading_line"]

EXIT_DONE, EXIT_STOPPED, EXIT_OVER_BUDGET = 0, 1, 3
_MIB = 2**20
_STAGES = ("parse", "embed", "commit", "publish")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended; ``report`` is None when it was stopped before its end."""

    store: ObjectStore
    plan: Plan = field(repr=False)
    totals: Mapping[str, Totals]
    report: Mapping[str, Any] | None
    max_failed: str
    seconds: float

    @property
    def exit_code(self) -> int:
        """0 done, 1 stopped, 3 done with more failed documents than the budget allows."""
        if self.report is None:
            return EXIT_STOPPED
        counts = self.report["dataset"]["documents"]
        allowed = parse_budget(self.max_failed, sum(counts.values()))
        return EXIT_OVER_BUDGET if counts.get("failed", 0) > allowed else EXIT_DONE


def print_ending(ending: Ending, *, as_json: bool, verbosity: int) -> int:
    """Print the summary and return the exit code."""
    code = ending.exit_code
    if as_json:
        facts = {"exit_code": code, "seconds": round(ending.seconds, 3), "report": ending.report}
        sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")
    elif verbosity >= 0:
        sys.stdout.write("\n".join(_lines(ending, code)) + "\n")
    elif code == EXIT_OVER_BUDGET:
        sys.stderr.write(f"chunkmill: {_over_budget(ending)}\n")
    return code


def print_plan(plan: Plan, *, as_json: bool) -> int:
    """Print what a run would do, and return the exit code."""
    facts = {
        "listed": plan.n_listed,
        "unchanged": plan.n_unchanged,
        "to_process": plan.n_documents,
        "units": plan.n_units,
        "adopted_units": len(plan.adopted),
        "to_delete": plan.n_deletions,
        "bytes": pc.sum(plan.table["size_bytes"]).as_py() or 0,
    }
    if as_json:
        sys.stdout.write(json.dumps(facts) + "\n")
        return EXIT_DONE
    sys.stdout.write(
        f"would process {facts['to_process']:,} of {facts['listed']:,} documents"
        f" ({facts['bytes'] / _MIB:,.1f} MiB in {facts['units']:,} units),"
        f" leave {facts['unchanged']:,} unchanged, delete {facts['to_delete']:,};"
        " nothing was written\n"
    )
    return EXIT_DONE


def reading_line(store: ObjectStore) -> str:
    """Return a command that reads the chunks with DuckDB."""
    query = (
        "SELECT source_key, heading_path, text "  # noqa: S608 - shown to a person, not run
        f"FROM read_parquet('{store.url.rstrip('/')}/chunks/**/*.parquet') LIMIT 5"
    )
    return f'python -c "import duckdb; duckdb.sql(\\"{query}\\").show()"'


def _lines(ending: Ending, code: int) -> list[str]:
    report = ending.report
    if report is None:
        return [
            f"stopped after {duration(ending.seconds)}; what was committed is published.",
            "run the same command again to go on.",
        ]
    lines = [_headline(report, ending.seconds)]
    if report["planned"]:
        lines += [_documents(report), _work(report), _stages(ending.totals)]
    if "deaths" in report:
        lines.append(_deaths(report["deaths"]))
    if purged := report.get("purged", 0):
        lines.append(f"  purged     {purged:,} listed documents were purged and stay out")
    if pending_purge(ending.store):
        lines.append(f"  purge      {UNFINISHED_PURGE.format(ending.store.url)}")
    lines += _stores(report)
    lines += [_dataset(report), f"  output     {ending.store.url}"]
    lines.append(f"  read it    {reading_line(ending.store)}")
    if code == EXIT_OVER_BUDGET:
        lines.append(_over_budget(ending))
    return lines


def _headline(report: Mapping[str, Any], seconds: float) -> str:
    if not report["planned"] and not report["deleted"]:
        return f"nothing to do: {report['listed']:,} documents are up to date ({duration(seconds)})"
    members = report.get("members", 0)
    inside = f" with {members:,} inside them" if members else ""
    return (
        f"done in {duration(seconds)}: {report['planned']:,} documents{inside} processed,"
        f" {report['unchanged']:,} unchanged, {report['deleted']:,} deleted"
    )


def _documents(report: Mapping[str, Any]) -> str:
    by_status = ", ".join(f"{n:,} {status}" for status, n in sorted(report["documents"].items()))
    kinds = ", ".join(f"{kind} {n:,}" for kind, n in sorted(report["errors"].items()))
    return f"  documents  {by_status}" + (f" ({kinds})" if kinds else "")


def _work(report: Mapping[str, Any]) -> str:
    changes = report["changes"]
    embed = report.get("stages", {}).get("embed", {})
    reused = int(embed.get("reused_tokens", 0))
    spared = f" ({reused:,} known from before)" if reused else ""
    return (
        f"  work       {report['tokens']:,} tokens{spared}; {changes.get('upsert', 0):,} chunks"
        f" written, {changes.get('delete', 0):,} removed"
    )


def _stages(totals: Mapping[str, Totals]) -> str:
    parts = (
        f"{name} {totals[name].seconds:,.1f} s (CPU {totals[name].cpu_seconds:,.1f} s)"
        if name in ("parse", "embed")
        else f"{name} {totals[name].seconds:,.1f} s"
        for name in _STAGES
        if name in totals
    )
    return f"  stages     {', '.join(parts)}"


def _deaths(deaths: Mapping[str, Any]) -> str:
    died = ", ".join(f"{n:,} of {stage}" for stage, n in sorted(deaths["workers"].items()))
    parts = [f"{died} died and were started again"] if died else []
    if deaths["with_node"]:
        parts.append(f"{deaths['with_node']:,} went with their node")
    if deaths["documents_given_up"]:
        parts.append(f"documents given up after killing theirs: {deaths['documents_given_up']:,}")
    return f"  workers    {'; '.join(parts)}"


def _stores(report: Mapping[str, Any]) -> list[str]:
    """Return a line per store that made the run wait."""
    lines = []
    for role, asked in report.get("store", {}).items():
        retries, throttles = asked["retries"], asked["throttles"]
        if retries or throttles:
            lines.append(
                f"  {role:<10} {retries:,} requests repeated, {throttles:,} throttled,"
                f" {asked['failures']:,} given up; {duration(asked['wait_seconds'])} of waiting"
            )
    return lines


def _dataset(report: Mapping[str, Any]) -> str:
    dataset = report["dataset"]
    counts = ", ".join(f"{n:,} {status}" for status, n in sorted(dataset["documents"].items()))
    twice = dataset.get("overlap_chars", 0)
    overlap = f", {twice / dataset['chars']:.1%} of the text twice (overlap)" if twice else ""
    return f"  dataset    {counts or 'no documents'}; {dataset['chunks']:,} chunks{overlap}"


def _over_budget(ending: Ending) -> str:
    counts = (ending.report or {})["dataset"]["documents"]
    return (
        f"more documents failed than limits.max_failed={ending.max_failed} allows:"
        f" {counts['failed']:,} of {sum(counts.values()):,}; see the table documents,"
        " columns error_kind and error_message"
    )
