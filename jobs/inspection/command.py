"""``chunkmill inspect``: from a file's name to a page, a view or an object."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from chunking.errors import DestinationError
from jobs.config import Config
from jobs.inspection.facts import as_object
from jobs.inspection.page import render_page
from jobs.inspection.terminal import show
from jobs.notebook.mill import Chunkmill
from jobs.notebook.values import Chunks
from jobs.sources.opening import open_file
from jobs.visible import visible_line

__all__ = ["inspect_file"]


def inspect_file(path: str, config: Config, *, output: Path | None, as_json: bool) -> None:
    """Chunk one document and show it: on a page, as JSON, or in the terminal.

    Raises:
        DestinationError: the page cannot be written where it is wanted.
        SourceError: there is no such file.
        DocumentError: the document cannot be read or chunked.
    """
    if output is not None:
        _check_output(output, path)
    with Chunkmill(config=config) as mill, _status(f"reading {visible_line(path, 60)} ..."):
        open_file(path, config)  # a name that is wrong is said so before the model is loaded
        mill.start()
        document = mill.parse(path)
        chunks = mill.chunk(document)
    if output is not None:
        _write(output, render_page(chunks))
    _replace_what_cannot_be_encoded()
    if as_json:
        # In ASCII: whatever shows it, no character of the document acts on it.
        sys.stdout.write(json.dumps(as_object(chunks), allow_nan=False) + "\n")
    elif output is not None:
        sys.stdout.write(f"{output}: {_counted(chunks)}\n")
    else:
        show(chunks, Console(file=sys.stdout, highlight=False, markup=False, emoji=False))


def _counted(chunks: Chunks) -> str:
    n = len(chunks)
    return f"{n:,} chunk{'' if n == 1 else 's'} of {visible_line(chunks.document.key)}"


@contextmanager
def _status(message: str) -> Iterator[None]:
    """Say on a terminal what takes so long."""
    with Console(stderr=True, markup=False, emoji=False).status(message):
        yield


def _check_output(output: Path, source: str) -> None:
    """Refuse a page that cannot be written, before minutes are spent on the document."""
    if output.is_dir():
        msg = f"{output} is a folder; name a file for the page"
        raise DestinationError(msg)
    if not output.absolute().parent.is_dir():
        msg = f"cannot write {output}: its folder does not exist"
        raise DestinationError(msg)
    if not os.access(output if output.exists() else output.absolute().parent, os.W_OK):
        msg = f"cannot write {output}: permission denied"
        raise DestinationError(msg)
    if output.exists() and Path(source).exists() and output.samefile(source):
        msg = f"the page would overwrite the document {output}; name another file"
        raise DestinationError(msg)


def _write(output: Path, page: str) -> None:
    try:
        output.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        msg = f"cannot write {output}: {error.strerror}"
        raise DestinationError(msg) from error


def _replace_what_cannot_be_encoded() -> None:
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
