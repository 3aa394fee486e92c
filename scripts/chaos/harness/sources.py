"""Small source documents in several states, and how a bucket is brought to a state."""

from __future__ import annotations

import hashlib
import io
import random
import zipfile
from collections.abc import Mapping
from email.message import EmailMessage
from typing import Any

from scripts.chaos.harness.listing import etags

__all__ = ["STATES", "World", "put_state"]

STATES = ("first", "meanwhile", "second")
"""``meanwhile`` differs from ``first`` by nothing that hangs on whether it was published
before; ``second`` also by documents that fail now and keep what they had."""

State = Mapping[str, bytes]
_PLACES = ("quay", "berth", "lock", "pier", "harbour", "yard", "dock", "basin")
_VERBS = ("takes", "loads", "leaves", "meets", "tows", "clears", "hails", "awaits")


class World:
    """The documents of one source, in each of its states."""

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self._chance = random.Random(f"world-{number}")  # noqa: S311 - text, not a secret
        self.states: dict[str, State] = {}
        first = self._first(size)
        self.states["first"] = first
        self.states["meanwhile"] = self._changed(first, keeping=False)
        self.states["second"] = self._changed(first, keeping=True)

    @property
    def partition_by(self) -> str | None:
        """Every third world is partitioned by format."""
        return "format" if self.number % 3 == 2 else None  # noqa: PLR2004 - the last of three

    def _first(self, size: int) -> dict[str, bytes]:
        documents = {
            f"notes/note-{number:03}.{'md' if number % 3 else 'txt'}": self._text(number)
            for number in range(size)
        }
        documents["tables/moves.csv"] = self._table(12)
        documents["tables/mixed"] = self._text(900)
        documents["mail/one.eml"] = self._mail("one", ("plan.txt", "list.csv"))
        documents["mail/two.eml"] = self._mail("two", ("terms.md",))
        documents["archive/old.zip"] = self._archive(("a.txt", "in/b.md", "c.csv"))
        documents["odd/empty.txt"] = b""
        documents["odd/blank.txt"] = b"  \n\n \t\n"
        documents["odd/broken.zip"] = documents["archive/old.zip"][:150]
        documents["odd/unknown.bin"] = bytes(range(1, 256)) * 3
        documents["long/one.md"] = b"\n\n".join(self._text(800 + n) for n in range(6))
        return documents

    def _changed(self, first: State, *, keeping: bool) -> dict[str, bytes]:
        documents = dict(first)
        notes = sorted(key for key in documents if key.startswith("notes/"))
        for key in self._chance.sample(notes, max(len(notes) // 6, 2)):
            documents[key] = self._text(self._chance.randrange(1000, 2000))
        for key in self._chance.sample(notes, 2):
            del documents[key]
        for number in range(3):
            documents[f"notes/new-{number}.md"] = self._text(2000 + number)
        documents["tables/mixed"] = self._table(8)
        documents["mail/one.eml"] = self._mail("one, again", ("plan.txt",))
        documents["odd/broken.zip"] = self._archive(("found.txt",))
        documents["long/one.md"] = first["long/one.md"].replace(b"quay", b"wharf", 1)
        if keeping:
            documents["archive/old.zip"] = first["archive/old.zip"][:-60]
            kept = next(key for key in notes if documents.get(key) == first[key])
            documents[kept] = zipfile_without_end(self._archive(("x.txt",)))
        return documents

    def _text(self, number: int) -> bytes:
        words = self._chance
        paragraphs = [f"# Note {number}"]
        for section in range(words.randrange(1, 4)):
            sentences = [
                f"The {words.choice(_PLACES)} {words.randrange(90)} {words.choice(_VERBS)} "
                f"vessel {words.randrange(10_000)} on day {day} of week {section}."
                for day in range(words.randrange(3, 14))
            ]
            paragraphs += [f"## Week {section}", " ".join(sentences)]
        return ("\n\n".join(paragraphs) + "\n").encode()

    def _table(self, rows: int) -> bytes:
        lines = ["berth,vessel,tons"]
        lines += [f"{n},V{self._chance.randrange(999)},{n * 7}" for n in range(rows)]
        return ("\n".join(lines) + "\n").encode()

    def _mail(self, subject: str, names: tuple[str, ...]) -> bytes:
        message = EmailMessage()
        message["From"], message["To"] = "quay@example.org", "yard@example.org"
        message["Subject"] = f"Papers {subject}"
        message["Date"] = "Mon, 02 Jun 2025 10:00:00 +0000"
        message.set_content(self._text(700).decode())
        for name in names:
            data = self._table(5) if name.endswith("csv") else self._text(600)
            message.add_attachment(data, maintype="text", subtype="plain", filename=name)
        message.set_boundary("chaos-boundary")
        return message.as_bytes()

    def _archive(self, names: tuple[str, ...]) -> bytes:
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                data = self._table(4) if name.endswith("csv") else self._text(500)
                archive.writestr(zipfile.ZipInfo(name, (2025, 6, 2, 10, 0, 0)), data)
        return target.getvalue()


def zipfile_without_end(data: bytes) -> bytes:
    """Return an archive whose directory is cut off."""
    return data[: len(data) * 2 // 3]


def put_state(client: Any, bucket: str, prefix: str, state: State) -> None:  # noqa: ANN401
    """Make the objects below ``prefix`` exactly those of a state, touching only what differs."""
    found = etags(client, bucket, prefix)
    there = {key[len(prefix) :]: etag.strip('"') for key, etag in found.items()}
    for key in there.keys() - state.keys():
        client.delete_object(Bucket=bucket, Key=prefix + key)
    for key, data in state.items():
        if there.get(key) != hashlib.md5(data, usedforsecurity=False).hexdigest():
            client.put_object(Bucket=bucket, Key=prefix + key, Body=data)
