"""A broken document costs itself; a broken store is waited for, and ends the job at last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chunking.errors import DocumentError, StoreError
from jobs import patience
from jobs.adapters.stores.base import (
    BrokenAnswerError,
    CredentialsError,
    NoSuchRootError,
    ReadableStore,
    UnreachableError,
)
from jobs.adapters.stores.local import LocalObject, LocalStore
from jobs.config import Config
from jobs.sources import open_source
from jobs.sources.health import Health
from jobs.sources.reading import UriReader


class SickStore(LocalStore):
    """A folder whose reads fail as told: by key, or all of them for a number of times."""

    broken: dict[str, type[StoreError]]
    ill = 0
    illness: type[StoreError] = BrokenAnswerError

    @contextmanager
    def open(self, key: str) -> Iterator[LocalObject]:
        """Open the file, or fail."""
        error = self.broken.get(key)
        if self.ill:
            self.ill, error = self.ill - 1, self.illness
        if error is not None:
            msg = f"{key} on purpose"
            raise error(msg)
        with super().open(key) as found:
            yield found

    def check(self) -> None:
        """Prove that a file can be read."""
        with self.open("a"):
            pass


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SickStore:
    """Give a store of three documents, and wait no time for it."""
    monkeypatch.setattr(patience, "sleep", lambda _: None)
    store = SickStore(tmp_path, role="source")
    store.broken = {}
    for key in "abc":
        store.put(key, key.encode())
    return store


@pytest.fixture
def reader(store: SickStore, monkeypatch: pytest.MonkeyPatch) -> UriReader:
    """Read documents of that store."""
    reader = UriReader.of(Config())
    located = lambda _, uri: (store, uri)  # noqa: E731
    monkeypatch.setattr(UriReader, "locate", located)
    return reader


def test_a_broken_document_costs_itself(
    reader: UriReader, store: SickStore, tmp_path: Path
) -> None:
    """It fails, to be tried again another time; those before and after it are read."""
    store.broken = {"b": BrokenAnswerError}
    reader.fetch("a", tmp_path / "out")
    with pytest.raises(DocumentError, match="b on purpose") as caught:
        reader.fetch("b", tmp_path / "out")
    assert (caught.value.kind, caught.value.retryable) == ("network", True)
    assert reader.fetch("c", tmp_path / "out").size == 1


@pytest.mark.parametrize("first", ["a", "b"])
def test_an_ill_store_is_waited_for(
    reader: UriReader, store: SickStore, tmp_path: Path, first: str
) -> None:
    """While nothing else can be read either, no document is written off, the first one neither."""
    if first == "b":
        reader.fetch("a", tmp_path / "out")
    store.ill = 20
    assert reader.fetch("b", tmp_path / "out").size == 1


def test_a_store_that_stays_ill_ends_the_job(
    reader: UriReader, store: SickStore, tmp_path: Path
) -> None:
    """Patience is bounded; the error is the store's, and no document's."""
    store.ill = 10**6
    with pytest.raises(UnreachableError, match=r"cannot be read any more; .*b on purpose"):
        reader.fetch("b", tmp_path / "out")


def test_credentials_that_are_no_longer_taken_end_the_job(
    reader: UriReader, store: SickStore, tmp_path: Path
) -> None:
    """They fail for all documents; refused for one key alone, it is that document's failure."""
    reader.fetch("a", tmp_path / "out")
    store.broken = {"b": CredentialsError}
    with pytest.raises(DocumentError, match="b on purpose"):
        reader.fetch("b", tmp_path / "out")
    store.ill, store.illness = 10**6, CredentialsError
    with pytest.raises(CredentialsError):
        reader.fetch("c", tmp_path / "out")


def test_a_store_away_is_no_documents_failure(
    reader: UriReader, store: SickStore, tmp_path: Path
) -> None:
    """What the store's own retries could not reach ends the job at once."""
    store.broken = {"b": UnreachableError}
    with pytest.raises(UnreachableError):
        reader.fetch("b", tmp_path / "out")


def test_what_gave_the_last_document_may_be_gone(store: SickStore) -> None:
    """A document that was removed since says nothing of the store: it answered."""
    health = Health(seconds=1)
    readable: ReadableStore = store
    health.reading(readable, "a", lambda: store.get("a"))
    store.delete("a")
    store.broken = {"b": BrokenAnswerError}
    with pytest.raises(StoreError, match="b on purpose"):
        health.reading(readable, "b", lambda: store.get("b"))


def test_a_folder_that_is_removed_ends_the_job(tmp_path: Path) -> None:
    """One file that is gone is a document's failure; the whole source gone is not."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in "ab":
        (folder / name).write_text("x")
    source = open_source(str(folder), Config(), None)
    locations = [item.location for item in source.list()]
    (folder / "a").unlink()
    with pytest.raises(DocumentError, match="does not exist"):
        source.fetch(locations[0], None, tmp_path / "out")
    (folder / "b").unlink()
    folder.rmdir()
    with pytest.raises(NoSuchRootError, match="does not exist"):
        source.fetch(locations[1], None, tmp_path / "out")
