"""The loader of the foreign documents agrees with what lies on disk."""

from __future__ import annotations

import pytest

from tests import corpus

pytestmark = [pytest.mark.corpus, corpus.requires_corpus]


def test_every_line_of_the_manifests_names_a_file() -> None:
    """All three manifests load, and each of their files exists with the size they state."""
    hard, bulk, reports = corpus.hard_files(), corpus.bulk_files(), corpus.reports()
    assert (len(hard), len(bulk), len(reports)) == (298, 1308, 20)
    assert [f.key for f in [*hard, *bulk] if f.path.stat().st_size != f.size] == []
    assert [f.key for f in reports if not f.path.is_file()] == []


def test_normalise_undoes_escapes_and_spacing() -> None:
    """Escapes, case, blanks and compatibility forms do not matter in a comparison."""
    assert corpus.normalise("A\\_b &amp;\u00a0 C\n\ufb01n\\n") == "a_b & c fin\\n"
