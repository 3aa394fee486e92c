"""Everything that reading a document loads, loaded once before children are forked."""

from __future__ import annotations

import importlib
import pkgutil

from jobs.config import ParserConfig
from jobs.parsing import formats
from jobs.parsing.convert import convert
from jobs.parsing.pdf import engine
from jobs.scratch import scratch_folder

__all__ = ["preload"]

_SAMPLES = {
    "md": b"# Head\n\nA paragraph of enough words that its language can be told.\n\n- item\n",
    "html": b"<html><body><h1>Head</h1><p>A paragraph of words.</p></body></html>",
    "csv": b"a,b\n1,2\n3,4\n",
    "txt": b"A paragraph of enough words that its language can be told.\n",
}
"""Read once: what readers load when first used is then loaded, and no thread is started."""


def preload() -> None:
    """Import all readers and use the simplest."""
    importlib.import_module(engine.__name__)
    for module in pkgutil.iter_modules(formats.__path__, f"{formats.__name__}."):
        importlib.import_module(module.name)
    with scratch_folder() as folder:
        path = folder / "document"
        for name, content in _SAMPLES.items():
            path.write_bytes(content)
            convert(path, format=name, name=name, settings=ParserConfig())
