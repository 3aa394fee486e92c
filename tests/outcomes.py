"""Whether a document's outcome is right, judged by the manifest of the foreign documents.

Where that manifest and the contract differ on a status (a scan without OCR, a format
that is not read), the contract wins.
"""

from __future__ import annotations

from tests.corpus import HardFile, normalise

__all__ = ["disagreements"]

_READ = frozenset({"ok", "partial"})
_UNREAD_FORMATS = frozenset({"doc", "xls", "ppt", "rtf", "zip", "binary", "image"})
"""Formats that are skipped by rule, or that need OCR."""


def disagreements(
    file: HardFile,
    *,
    status: str,
    error_kind: str | None,
    file_format: str,
    text: str,
) -> list[str]:
    """Return what is wrong with an outcome, nothing if it is right.

    ``text``: text, furniture and title of the document, "" if it has none.
    ``file_format``: the format told by content.
    """
    kinds = _allowed_kinds(file, file_format)
    found = []
    if status not in _READ and error_kind not in kinds:
        wanted = sorted(kinds) or "its text"
        found.append(f"{status}/{error_kind}, but right is {wanted}: {file.right_outcome}")
    if status in _READ and _must_fail(file):
        found.append(f"{status}, but right is an error: {file.right_outcome}")
    lacks = normalise(file.must_contain) not in normalise(text)
    if status in _READ and lacks:
        found.append(f"the text lacks {file.must_contain!r}")
    if _leaks(file, text):
        found.append("it holds the content of a local file")
    return found


def _must_fail(file: HardFile) -> bool:
    right = file.right_outcome
    return right.startswith("error kind encrypted") or right in {
        "error kind corrupt",
        "error kind corrupt/format",
        "error kind corrupt/unsupported; no crash",
        "error kind corrupt/unsafe in seconds; memory flat",
    }


def _allowed_kinds(file: HardFile, file_format: str) -> frozenset[str]:
    """Return the error kinds that are right for a file; none where it has to be read."""
    right = file.right_outcome
    if "encrypted" in right and not right.startswith("owner password"):
        return frozenset({"encrypted"})
    if right.startswith("error kind empty") or "empty" in right.split(" or ")[-1]:
        return frozenset({"empty"})
    if file_format in _UNREAD_FORMATS:
        damaged = {"corrupt"} if "corrupt" in right else set()
        return frozenset({"unsupported_format", "no_text", *damaged})
    if "OCR" in right or "no text" in right:
        return frozenset({"no_text"})
    if any(word in right for word in ("error", "corrupt", "unsafe", "unsupported")):
        return frozenset(
            {
                "corrupt",
                "encrypted",
                "unsafe",
                "limit",
                "out_of_memory",
                "timeout",
                "internal",
                "unsupported_format",
                "crashed",
            }
        )
    if "or marks the damage" in right or "without expansion" in right:
        return frozenset({"corrupt", "unsafe"})
    if "no local file content" in right:
        return frozenset({"unsafe"})
    return frozenset()


def _leaks(file: HardFile, text: str) -> bool:
    if "local file" not in file.right_outcome and "file content" not in file.right_outcome:
        return False
    try:
        host = open("/etc/hostname", encoding="utf-8").read().strip()  # noqa: SIM115, PTH123
    except OSError:
        return False
    return bool(host) and host in text
