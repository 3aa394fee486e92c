"""The command line: arguments in, one clear line and an exit code out.

Exit codes: 0 done; 1 the job failed, a store did not answer, or ``verify`` found violations;
2 usage or configuration error, nothing written; 3 done, but more documents failed than allowed.
"""

from __future__ import annotations

import json
import sys
import traceback
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from chunking.errors import ChunkmillError, JobError, StoreError, UsageError
from jobs.config import Config
from jobs.config_load import load_config

__all__ = ["app", "main"]

app = typer.Typer(
    name="chunkmill",
    help="Turn documents into retrieval-ready chunks, exactly once, as Parquet.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
config_app = typer.Typer(help="Show or check the configuration.", no_args_is_help=True)
app.add_typer(config_app, name="config")

EXIT_FAILED = 1
EXIT_USAGE = 2


class Delete(StrEnum):
    """What happens to published documents that the source no longer has."""

    missing = "missing"
    keep = "keep"


ConfigFile = Annotated[
    Path | None, typer.Option("--config", "-c", metavar="FILE", help="YAML file with settings.")
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="One setting, such as chunking.max_tokens=200."
    ),
]
Endpoint = Annotated[
    str | None, typer.Option("--endpoint-url", metavar="URL", help="S3 endpoint, if not AWS.")
]
Address = Annotated[
    str | None, typer.Option(help="Ray cluster to join; a local one is started if not given.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Verbose = Annotated[
    int, typer.Option("--verbose", "-v", count=True, show_default=False, help="Say more.")
]
Traceback = Annotated[
    int,
    typer.Option(
        "--verbose", "-v", count=True, show_default=False, help="Show the traceback of an error."
    ),
]
"""Read by ``main``, where every error ends."""
TakeOver = Annotated[bool, typer.Option(help="Take the dataset from a run that holds it.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]


def _config(path: Path | None, assignments: list[str] | None, *more: str) -> Config:
    return load_config(path, [*(assignments or []), *more])


def _endpoint(url: str | None) -> list[str]:
    return [f"source.endpoint_url={json.dumps(url)}"] if url else []


@app.command()
def run(  # noqa: PLR0913 - the options of the contract
    src: Annotated[str, typer.Argument(help="Folder, s3:// prefix, glob, manifest or table.")],
    dst: Annotated[str, typer.Argument(help="Folder or s3:// prefix of the dataset.")],
    *,
    config: ConfigFile = None,
    assignments: Assignments = None,
    address: Address = None,
    max_failed: Annotated[
        str | None, typer.Option(help="Error budget: a number of documents or a percentage.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Process this many documents at most.")
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Say what would be done; write nothing.")] = False,
    retry_failed: Annotated[
        bool, typer.Option(help="Try documents again that failed before.")
    ] = False,
    delete: Annotated[
        Delete, typer.Option(help="Remove or keep what the source no longer has.")
    ] = Delete.missing,
    take_over: TakeOver = False,
    source_name: Annotated[
        str | None, typer.Option(help="Name of a further source of the same dataset.")
    ] = None,
    endpoint_url: Endpoint = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Chunk every document of SRC into the dataset DST; run again to go on or to update."""
    from jobs.pipeline import RunRequest, run_job  # noqa: PLC0415 - heavy imports

    budget = [f"limits.max_failed={json.dumps(max_failed)}"] if max_failed else []
    request = RunRequest(
        src=src,
        dst=dst,
        config=_config(config, assignments, *budget, *_endpoint(endpoint_url)),
        address=address,
        limit=limit,
        dry_run=dry_run,
        retry_failed=retry_failed,
        delete_missing=delete is Delete.missing,
        take_over=take_over,
        source_name=source_name,
        as_json=as_json,
        verbosity=-1 if quiet else verbose,
    )
    raise typer.Exit(run_job(request))


@app.command()
def rechunk(  # noqa: PLR0913 - the options of the contract
    dst: Annotated[str, typer.Argument(help="Folder or s3:// prefix of the dataset.")],
    new_dst: Annotated[str, typer.Argument(help="Folder or s3:// prefix of the new dataset.")],
    *,
    config: ConfigFile = None,
    assignments: Assignments = None,
    address: Address = None,
    take_over: Annotated[
        bool, typer.Option(help="Take the new dataset from a run that holds it.")
    ] = False,
    endpoint_url: Endpoint = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Make NEW_DST from DST with other chunks, without parsing or running the model again.

    Settings are those of DST; --config and --set change chunking and output.
    """
    from jobs.rechunk import RechunkRequest  # noqa: PLC0415 - heavy imports
    from jobs.rechunk import rechunk as rechunk_dataset  # noqa: PLC0415

    request = RechunkRequest(
        dst=dst,
        new_dst=new_dst,
        config_file=config,
        assignments=(*(assignments or ()), *_endpoint(endpoint_url)),
        address=address,
        take_over=take_over,
        as_json=as_json,
        verbosity=-1 if quiet else verbose,
    )
    raise typer.Exit(rechunk_dataset(request))


@app.command()
def status(
    dst: Annotated[str, typer.Argument(help="Folder or s3:// prefix of the dataset.")],
    *,
    config: ConfigFile = None,
    assignments: Assignments = None,
    endpoint_url: Endpoint = None,
    as_json: AsJson = False,
    _verbose: Traceback = 0,
) -> None:
    """Say what a dataset holds, who is writing it, and what failed."""
    from jobs.status import show_status  # noqa: PLC0415 - heavy imports

    show_status(dst, _config(config, assignments, *_endpoint(endpoint_url)), as_json=as_json)


@app.command()
def gc(
    dst: Annotated[str, typer.Argument(help="Folder or s3:// prefix of the dataset.")],
    *,
    delete: Annotated[
        bool, typer.Option("--delete", help="Remove it, after the lease is taken.")
    ] = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
    take_over: TakeOver = False,
    endpoint_url: Endpoint = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Show what aborted and superseded work has left in DST; --delete removes it.

    Committed rows, the change feed, reports, and what the next run can take over from an
    unfinished one stay; so does what chunkmill did not name. Readers of the tables see no
    difference; a rechunk or load that began before the last run may have to be started again.
    """
    from jobs.cleaning import CleaningRequest, clean_dataset  # noqa: PLC0415 - heavy imports

    request = CleaningRequest(
        dst=dst,
        config=_config(config, assignments, *_endpoint(endpoint_url)),
        delete=delete,
        take_over=take_over,
        as_json=as_json,
        verbosity=-1 if quiet else verbose,
    )
    raise typer.Exit(clean_dataset(request))


@app.command()
def purge(  # noqa: PLR0913 - the options of the contract
    dst: Annotated[str, typer.Argument(help="Folder or s3:// prefix of the dataset.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID...", help="Document ids or source keys, as in documents."),
    ] = None,
    *,
    file: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="File with one of them a line; - for stdin."),
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Say what would go; write nothing.")] = False,
    again: Annotated[
        bool, typer.Option("--readmit", help="Let later runs read purged documents again.")
    ] = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
    take_over: TakeOver = False,
    endpoint_url: Endpoint = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Remove documents from DST for good, with all that is inside them, and keep them out.

    Their text, vectors and names leave every object of DST, old versions and unfinished
    runs included; the change feed tells loaders to remove the vectors. Ids and chunk ids
    (hashes) remain in the feed. The source, vector stores, backups and the old object versions
    of a versioned bucket are not reached. Without ID, a purge that was cut off is finished.
    """
    from jobs.purge import PurgeRequest  # noqa: PLC0415 - heavy imports
    from jobs.purge import purge as purge_documents  # noqa: PLC0415

    request = PurgeRequest(
        dst=dst,
        config=_config(config, assignments, *_endpoint(endpoint_url)),
        names=tuple(names or ()),
        file=file,
        dry_run=dry_run,
        readmit=again,
        take_over=take_over,
        as_json=as_json,
        verbosity=-1 if quiet else verbose,
    )
    raise typer.Exit(purge_documents(request))


@app.command()
def inspect(
    file: Annotated[str, typer.Argument(help="One document: a file or an s3:// object.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PAGE", help="Write an HTML page instead."),
    ] = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    endpoint_url: Endpoint = None,
    as_json: AsJson = False,
    _verbose: Traceback = 0,
) -> None:
    """Show FILE with its chunks, why each ends, its size and its distances."""
    from jobs.inspection.command import inspect_file  # noqa: PLC0415 - heavy imports

    tree = _config(config, assignments, *_endpoint(endpoint_url))
    inspect_file(file, tree, output=output, as_json=as_json)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def verify(context: typer.Context, *, _verbose: Traceback = 0) -> None:
    """Check every law on a written dataset, independently: DST [SRC] [options]."""
    from jobs.verifier import main as verify_main  # noqa: PLC0415 - heavy imports

    raise typer.Exit(verify_main(context.args))


@config_app.command("show")
def config_show(
    *,
    config: ConfigFile = None,
    assignments: Assignments = None,
    as_json: AsJson = False,
    _verbose: Traceback = 0,
) -> None:
    """Print the whole configuration as it would be used."""
    from jobs.config_view import render  # noqa: PLC0415

    tree = _config(config, assignments)
    typer.echo(tree.model_dump_json(indent=2) if as_json else render(tree), nl=as_json)


@config_app.command("check")
def config_check(
    *, config: ConfigFile = None, assignments: Assignments = None, _verbose: Traceback = 0
) -> None:
    """Say whether the configuration is right."""
    _config(config, assignments)
    typer.echo("the configuration is right")


def _fail(error: ChunkmillError) -> NoReturn:
    message = " ".join(str(error).split())
    if isinstance(error, StoreError):
        message += "; run the same command again to go on"
    sys.stderr.write(f"chunkmill: {message}\n")
    sys.exit(EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILED)


def main() -> None:
    """Run the program on ``sys.argv``; every end is an exit code."""
    try:
        app()
    except ChunkmillError as error:
        _explain()
        _fail(error)
    except Exception as error:  # noqa: BLE001 - a defect, too, ends in one line and an exit code
        _explain()
        name = type(error).__name__
        _fail(JobError(f"unexpected {name}: {error}; run with -v for the traceback"))


def _explain() -> None:
    if {"-v", "-vv", "--verbose"} & set(sys.argv):
        traceback.print_exc()
