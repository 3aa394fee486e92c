"""Whose fault it is when a document cannot be read: its own, or its store's.

A document that is broken costs itself. A store that is ill, or that no longer takes our
credentials, would cost every document after it: so before a failure that may be either is
written down, something that could be read a moment ago is read again. If that fails, too,
the store is waited for (a circuit breaker; Nygard, "Release It!", 2007, chapter 5), and
the job ends when it stays away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from chunking.errors import ObjectNotFoundError, StoreError
from jobs import patience
from jobs.adapters.stores.base import (
    OUTAGES,
    BrokenAnswerError,
    CredentialsError,
    ReadableStore,
    UnreachableError,
)
from jobs.patience import Backoff

__all__ = ["Health"]

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Health:
    """What one worker knows of the stores that it reads documents from.

    ``seconds``: how long an ill store is waited for. ``_read``: by the URL of a store, the
    key that was last read whole.
    """

    seconds: float
    _read: dict[str, str] = field(default_factory=dict, repr=False)

    def reading(self, store: ReadableStore, key: str, read: Callable[[], T]) -> T:
        """Return what ``read`` reads of an object; wait for the store if it is ill.

        Raises:
            StoreError: the object cannot be read, and others can.
            UnreachableError: the store stayed ill; the job should end.
            CredentialsError: the store no longer takes our credentials; so it should.
        """
        for last in (False, True):
            try:
                result = read()
            except (BrokenAnswerError, CredentialsError) as error:
                if last or not self._was_ill(store, error):
                    msg = str(error)
                    raise StoreError(msg) from error
            else:
                break
        self._read[store.url] = key
        return result

    def _was_ill(self, store: ReadableStore, cause: StoreError) -> bool:
        """Wait until the store is well; return whether it was not at first."""
        backoff = Backoff(patience=self.seconds)
        while not self._is_well(store):
            wait = backoff.next_wait()
            if wait is None:
                msg = f"the source cannot be read any more; the last of many failures: {cause}"
                raise UnreachableError(msg) from cause
            patience.sleep(wait)
        return backoff.waited

    def _is_well(self, store: ReadableStore) -> bool:
        """Tell whether what could be read before still can.

        Raises:
            CredentialsError: our credentials are not taken for that, either.
        """
        key = self._read.get(store.url)
        try:
            if key is None:
                store.check()
            else:
                store.read_range(key, 0, 1)
        except ObjectNotFoundError:
            return True
        except OUTAGES:
            return False
        return True
