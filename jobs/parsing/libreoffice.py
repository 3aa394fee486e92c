"""LibreOffice as a converter of legacy Office files, where it is installed and asked for.

It runs in the process group of the parsing child and under its limits of CPU time and
memory, so that whatever ends the child ends it too; it dies with the child even if nobody
kills the group. The fences of :mod:`jobs.parsing.sandbox` hold for it: no network. Each
conversion has a profile of its own in which macros and the updating of links are off.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import signal
import subprocess
from pathlib import Path

from chunking.errors import DocumentError

__all__ = ["TARGETS", "convert_legacy", "office_program"]

TARGETS = {
    "doc": ("docx", "MS Word 2007 XML"),
    "rtf": ("docx", "MS Word 2007 XML"),
    "xls": ("xlsx", "Calc MS Excel 2007 XML"),
    "ppt": ("pptx", "Impress MS PowerPoint 2007 XML"),
}
"""By format: what it is converted to, and LibreOffice's name of that filter."""

_PLACES = (Path("/usr/lib/libreoffice/program"), Path("/opt/libreoffice/program"))
_PROGRAM = "soffice.bin"
_AGAIN = frozenset({79, 81})
"""Exit codes that ask to be started once more, as after the first start of a profile."""
_STARTS = 3
_SECONDS = 900
"""The end of patience where no parent watches the clock."""
_PR_SET_PDEATHSIG = 1
_SETTING = (
    '<item oor:path="/org.openoffice.{path}"><prop oor:name="{name}" oor:op="fuse">'
    "<value>{value}</value></prop></item>"
)
_SETTINGS = (
    ("Office.Common/Security/Scripting", "MacroSecurityLevel", "3"),
    ("Office.Common/Security/Scripting", "DisableMacrosExecution", "true"),
    ("Office.Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    ("Office.Common/Security/Scripting", "DisableActiveContent", "true"),
    ("Office.Writer/Content/Update", "Link", "0"),
    ("Office.Calc/Content/Update", "Link", "1"),
    ("Office.Common/Misc", "UseSystemFileDialog", "false"),
    ("Inet/Settings", "ooInetProxyType", "2"),
    ("Inet/Settings", "ooInetHTTPProxyName", "127.0.0.1"),
    ("Inet/Settings", "ooInetHTTPProxyPort", "9"),
    ("Inet/Settings", "ooInetHTTPSProxyName", "127.0.0.1"),
    ("Inet/Settings", "ooInetHTTPSProxyPort", "9"),
)


def office_program() -> Path | None:
    """Return LibreOffice's program, or None where it is not installed."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    places = ((Path(found).resolve().parent,) if found else ()) + _PLACES
    return next((place / _PROGRAM for place in places if (place / _PROGRAM).is_file()), None)


def convert_legacy(path: Path, file_format: str, folder: Path) -> Path:
    """Convert a file of one of :data:`TARGETS` in an empty folder; return the new file.

    Raises:
        DocumentError: ``unsupported_format``: LibreOffice is not installed; ``corrupt``:
            it made nothing of the file; ``timeout``.
    """
    program = office_program()
    if program is None:
        msg = (
            f"LibreOffice, which parser.libreoffice asks for, is not installed: {file_format} file"
        )
        raise DocumentError(msg, kind="unsupported_format", stage="parse")
    extension, name = TARGETS[file_format]
    source = folder / f"document.{file_format}"
    shutil.copyfile(path, source)
    profile, output = folder / "profile", folder / "converted"
    _write_profile(profile)
    command = [
        str(program),
        f"-env:UserInstallation={profile.as_uri()}",
        *("--headless", "--invisible", "--norestore", "--nologo", "--nodefault", "--nolockcheck"),
        *("--convert-to", f"{extension}:{name}", "--outdir", str(output), str(source)),
    ]
    status = _run(command, _environment(folder))
    result = output / f"document.{extension}"
    if not result.is_file():
        msg = f"LibreOffice made nothing of the {file_format} file (exit status {status})"
        raise DocumentError(msg, kind="corrupt", stage="parse")
    return result


def _run(command: list[str], environment: dict[str, str]) -> int:
    bind = functools.partial(_end_with, os.getpid())
    status = 0
    for _ in range(_STARTS):
        process = subprocess.Popen(  # noqa: S603 - a fixed program; the file's name is ours
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            preexec_fn=bind,  # noqa: PLW1509 - a parsing child has one thread
        )
        try:
            status = process.wait(_SECONDS)
        except subprocess.TimeoutExpired as error:
            msg = f"LibreOffice did not end within {_SECONDS} seconds"
            raise DocumentError(msg, kind="timeout", stage="parse") from error
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if status not in _AGAIN:
            break
    return status


def _end_with(parent: int) -> None:
    """Let the kernel end the new process with its parent, before it is LibreOffice."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _environment(folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "SAL_USE_VCLPLUGIN": "svp",
        "SAL_NO_NWF": "1",
    }


def _write_profile(profile: Path) -> None:
    user = profile / "user"
    user.mkdir(parents=True)
    items = "".join(
        _SETTING.format(path=path, name=name, value=value) for path, name, value in _SETTINGS
    )
    (user / "registrymodifications.xcu").write_text(
        '<?xml version="1.0" encoding="UTF-8"?><oor:items'
        ' xmlns:oor="http://openoffice.org/2001/registry">' + items + "</oor:items>",
        encoding="utf-8",
    )
