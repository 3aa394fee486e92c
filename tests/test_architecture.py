"""The shape of the code: who may import whom, how long things are, what no file may say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
MODULES = {
    ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("chunking", "jobs")
    for path in sorted((CHECKOUT / package).rglob("*.py"))
}

# Which modules may import which of our own, from the command line down to the core.
# A module belongs to the longest prefix that matches.
LAYERS = {
    "chunking": ["chunking"],
    "jobs.verifier": [],
    "jobs.adapters": ["chunking", "jobs"],
    "jobs.parsing": ["chunking", "jobs"],
    "jobs.protocol": ["chunking", "jobs"],
    "jobs.sources": ["chunking", "jobs"],
    "jobs.stages": ["chunking", "jobs"],
    "jobs": ["chunking", "jobs"],
}
ABOVE = {
    "jobs.adapters": ["jobs.cli", "jobs.pipeline", "jobs.stages"],
    "jobs.parsing": ["jobs.cli", "jobs.pipeline", "jobs.stages", "jobs.protocol", "jobs.sources"],
    "jobs.protocol": ["jobs.cli", "jobs.pipeline", "jobs.stages", "jobs.parsing"],
    "jobs.sources": ["jobs.cli", "jobs.pipeline", "jobs.stages", "jobs.parsing", "jobs.protocol"],
    "jobs.stages": ["jobs.cli", "jobs.pipeline"],
    "jobs.pipeline": ["jobs.cli"],
}

# Each library that shapes the code is known in one place only. The verifier reads with
# other people's tools on purpose.
HOMES = {
    "ray": ["jobs.adapters.ray_connect", "jobs.adapters.ray_engine", "jobs.adapters.ray_meter"],
    "docling": ["jobs.parsing"],
    "docling_core": ["jobs.parsing"],
    "torch": ["jobs.adapters"],
    "transformers": ["jobs.adapters"],
    "sentence_transformers": ["jobs.adapters"],
    "boto3": ["jobs.adapters.stores"],
    "botocore": ["jobs.adapters.stores"],
    "typer": ["jobs.cli"],
}
VERIFIER = "jobs.verifier"

MAX_BODY_LINES = 60
MAX_MODULE_LINES = 400


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def _imports(module: str) -> Iterator[str]:
    """Yield what a module imports, at any depth, as dotted names."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _within(name: str, prefixes: list[str]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


@pytest.mark.parametrize("module", MODULES)
def test_modules_import_only_what_lies_below(module: str) -> None:
    """Imports of our own packages point downwards, and the verifier has none."""
    layer = max((p for p in LAYERS if _within(module, [p])), key=len)
    above = [name for layer, names in ABOVE.items() if _within(module, [layer]) for name in names]
    ours = [name for name in _imports(module) if _within(name, ["chunking", "jobs"])]
    assert [n for n in ours if not _within(n, LAYERS[layer]) or _within(n, above)] == []


@pytest.mark.parametrize("module", [m for m in MODULES if _within(m, ["chunking"])])
def test_the_core_imports_only_numpy_and_pyarrow(module: str) -> None:
    """The core knows the standard library, numpy, pyarrow and itself."""
    allowed = {*sys.stdlib_module_names, "numpy", "pyarrow", "chunking"}
    assert {name.partition(".")[0] for name in _imports(module)} <= allowed


@pytest.mark.parametrize("module", [m for m in MODULES if m != VERIFIER])
def test_each_library_is_known_in_one_place(module: str) -> None:
    """Ray, docling, torch, object stores and the command line each have one home."""
    found = {name.partition(".")[0] for name in _imports(module)} & HOMES.keys()
    assert {library for library in found if not _within(module, HOMES[library])} == set()


def test_importing_the_core_loads_nothing_else() -> None:
    """A fresh interpreter that imports all of the core has no engine, parser or model in it."""
    core = [name for name in MODULES if _within(name, ["chunking"])]
    program = (
        f"import sys, importlib\nfor name in {core!r}: importlib.import_module(name)\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "chunking" in loaded
    assert loaded & {*HOMES, "jobs", "pandas", "pydantic", "yaml", "scipy", "sklearn"} == set()


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_why_it_exists(module: str) -> None:
    """Each module opens with a docstring."""
    assert (ast.get_docstring(_tree(module)) or "").strip()


@pytest.mark.parametrize("module", [m for m in MODULES if m != VERIFIER])
def test_modules_stay_readable(module: str) -> None:
    """A module fits in one sitting; the verifier is one module by contract."""
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= MAX_MODULE_LINES


@pytest.mark.parametrize("module", MODULES)
def test_functions_stay_short(module: str) -> None:
    """No function body, its docstring left out, exceeds sixty lines."""
    functions = [
        node
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert {f.name: _body_lines(f) for f in functions if _body_lines(f) > MAX_BODY_LINES} == {}


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_every_import_is_a_declared_dependency() -> None:
    """What the packages import is named in pyproject.toml, not merely brought by something."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    own = ("gcs-azure", "icu", "rapidocr", "tesserocr")
    lines = [*project["dependencies"], *(line for name in own for line in extras[name])]
    declared = {_distribution(line) for line in lines}
    owners = metadata.packages_distributions()
    known = {*sys.stdlib_module_names, "chunking", "jobs"}
    imported = {name.partition(".")[0] for module in MODULES for name in _imports(module)} - known
    missing = [
        name
        for name in sorted(imported)
        if not {_distribution(owner) for owner in [name, *owners.get(name, [])]} & declared
    ]
    assert missing == []


def _distribution(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


# Spelt in pieces, so that this file does not hold them.
FORBIDDEN = [
    re.escape("/" + "work" + "/"),
    re.escape("../" + "shared"),
    r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|\braise NotImplemented" + r"Error\b",
    r"\bp" + r"kill\b|\bkill" + r"all\b|\bray st" + r"op\b",
]
TEXT_SUFFIXES = {"", ".cfg", ".css", ".html", ".j2", ".md", ".py", ".sh", ".toml", ".tsv", ".yaml"}


def _own_files() -> Iterator[Path]:
    yield from (path for path in CHECKOUT.iterdir() if path.is_file())
    for folder in (".ci", "chunking", "cluster", "jobs", "scripts", "tests"):
        yield from (path for path in (CHECKOUT / folder).rglob("*") if path.is_file())


def test_no_file_names_a_machine_or_unfinished_work() -> None:
    """The project speaks of itself only: no machine paths, no open ends, no kills by name."""
    pattern = re.compile("|".join(FORBIDDEN))
    found = [
        f"{path.relative_to(CHECKOUT)}: {match[0]}"
        for path in sorted(_own_files())
        if path.suffix in TEXT_SUFFIXES and "__pycache__" not in path.parts
        for match in pattern.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []
