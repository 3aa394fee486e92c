"""Hooks that test_hook.py names."""

from __future__ import annotations

import socket

from jobs.parsing.hook import Draft, Part

NOT_CALLABLE = 1


def tidy(draft: Draft) -> None:
    """Rename the harbour, drop the boilerplate, say who owns the document."""
    draft.metadata["team"] = draft.key.partition("/")[0]
    draft.metadata["seen"] = draft.format
    for part in draft.parts:
        part.text = part.text.replace("Harbour", "Port of Lindö")
    draft.parts = [part for part in draft.parts if "Cookie" not in part.text]


def nothing(draft: Draft) -> None:
    """Leave everything as it is."""


def fails(draft: Draft) -> None:
    """Raise, for the documents that ask for it."""
    if any("raise" in part.text for part in draft.parts):
        msg = "no\nsuch owner"
        raise LookupError(msg)


def hangs(draft: Draft) -> None:
    """Never return."""
    while draft:
        pass


def connects(draft: Draft) -> None:
    """Ask the network."""
    draft.title = socket.gethostbyname("localhost")


def returns(draft: Draft) -> list[Part]:
    """Return what should have been changed in place."""
    return draft.parts


def empties(draft: Draft) -> None:
    """Leave no part."""
    draft.parts.clear()


def doubles(draft: Draft) -> None:
    """Say everything twice."""
    draft.parts *= 2


def turns(draft: Draft) -> None:
    """Move the end to the beginning."""
    draft.parts.reverse()


def adds(draft: Draft) -> None:
    """Bring a part of its own."""
    draft.parts.append(Part(kind="paragraph", text="mine"))


def opens(draft: Draft) -> None:
    """Take the fences from code."""
    for part in draft.parts:
        if part.kind == "code":
            part.text = part.text.strip("`\n")


def blanks(draft: Draft) -> None:
    """Put blank lines, a NUL and blanks into everything that is prose."""
    for part in draft.parts:
        if part.kind not in ("code", "table"):
            part.text = part.text.replace(" ", " \n\n\n", 1) + "\x00 \n"


def grows(draft: Draft) -> None:
    """Give each table one more row."""
    for part in draft.parts:
        if part.kind == "table":
            part.text += "\n| new | row |"


def breaks(draft: Draft) -> None:
    """Take the delimiter line from tables."""
    for part in draft.parts:
        if part.kind == "table":
            part.text = part.text.replace("| --- | --- |\n", "")
