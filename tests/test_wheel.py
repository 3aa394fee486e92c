"""The built wheel works by itself, in an environment that cannot see the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.sample_files import SAMPLES

pytestmark = pytest.mark.wheel

CHECKOUT = Path(__file__).resolve().parents[1]


def _run(*command: str | Path, cwd: Path) -> str:
    """Run a command outside the checkout and return what it printed."""
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "PYTHONHOME"}}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command} gave {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the sources, so that the checkout stays as it is."""
    folder = tmp_path_factory.mktemp("build")
    skip = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in ("chunking", "jobs"):
        shutil.copytree(CHECKOUT / name, folder / name, ignore=skip)
    for name in ("LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(CHECKOUT / name, folder)
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", "dist", cwd=folder)
    (built,) = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a new environment that borrows this one's libraries.

    Folders named in a ``.pth`` file are not searched for further ``.pth`` files, so an
    editable install of the checkout in this environment stays invisible.
    """
    folder = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    _run(*pip, "--no-deps", "--no-index", "--disable-pip-version-check", wheel, cwd=folder)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    libraries = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "libraries.pth").write_text("\n".join(sorted(libraries)) + "\n")
    return python


def test_the_wheel_holds_the_two_packages_and_nothing_else(wheel: Path) -> None:
    """Every module of the checkout is in it, with type marker and licence; no tests."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name.split("/")[0].partition("-")[0] for name in names} == {
        "chunking",
        "jobs",
        "chunkmill",
    }
    modules = {
        path.relative_to(CHECKOUT).as_posix()
        for package in ("chunking", "jobs")
        for path in (CHECKOUT / package).rglob("*.py")
    }
    assert modules - names == set()
    assert {"chunking/py.typed", "jobs/py.typed"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_every_module_imports_from_the_wheel(python: Path, tmp_path: Path) -> None:
    """All modules import, each from the installed files."""
    program = (
        "import importlib, pkgutil, sys, chunking, jobs\n"
        "for package in (chunking, jobs):\n"
        "    for found in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        if not found.name.endswith('__main__'):\n"
        "            print(importlib.import_module(found.name).__file__)\n"
    )
    files = _run(python, "-c", program, cwd=tmp_path).split()
    assert len(files) > 20
    assert [file for file in files if not file.startswith(str(python.parents[1]))] == []


def test_the_docling_plugin_is_found(python: Path, tmp_path: Path) -> None:
    """Docling finds the layout engine by the installed entry point."""
    program = (
        "from importlib.metadata import entry_points\n"
        "(found,) = [e for e in entry_points(group='docling') if e.name == 'chunkmill']\n"
        "print(found.load().layout_engines())"
    )
    assert "layout_engines" in _run(python, "-c", program, cwd=tmp_path)


def test_the_commands_start(python: Path, tmp_path: Path) -> None:
    """The console script shows a configuration, and `python -m jobs` is the same program."""
    script = python.with_name("chunkmill")
    shown = _run(script, "config", "show", cwd=tmp_path)
    assert shown == _run(python, "-m", "jobs", "config", "show", cwd=tmp_path)
    assert "max_failed: 5%" in shown
    assert "run" in _run(python, "-m", "jobs", "--help", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.ray
def test_the_main_job_runs_from_the_wheel(python: Path, tmp_path: Path) -> None:
    """Documents become chunks with the bundled model, far from the checkout."""
    source = tmp_path / "in"
    source.mkdir()
    for key in ("handbook/welcome.md", "handbook/pilotage.docx", "de/kranordnung.pdf"):
        shutil.copy(SAMPLES / key, source)
    _run(python.with_name("chunkmill"), "run", source, tmp_path / "out", cwd=tmp_path)
    query = "import sys, duckdb; print(*duckdb.sql(sys.argv[1]).fetchall())"
    chunks = f"select count(distinct source_key) from '{tmp_path}/out/chunks/*.parquet'"
    assert "3" in _run(python, "-c", query, chunks, cwd=tmp_path)
