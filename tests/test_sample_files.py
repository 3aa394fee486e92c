"""The sample documents are complete and say what is expected of them."""

from __future__ import annotations

from chunking.errors import ERROR_KINDS
from tests.sample_files import SAMPLES, samples


def test_every_sample_has_a_line() -> None:
    """The table lists exactly the files, with a status and kind of the contract."""
    listed = samples()
    on_disk = sorted(p.relative_to(SAMPLES).as_posix() for p in SAMPLES.rglob("*") if p.is_file())
    assert [sample.key for sample in listed] == on_disk
    for sample in listed:
        bad = sample.status in {"failed", "skipped"}
        assert (sample.error_kind in ERROR_KINDS) == bad
        assert bool(sample.phrase) != bad


def test_samples_cover_formats_and_languages() -> None:
    """At least fourteen files of nine formats, some of them Danish and German."""
    listed = samples()
    assert len(listed) >= 14
    assert len({sample.path.suffix for sample in listed}) >= 9
    assert {sample.key.split("/")[0] for sample in listed} >= {"da", "de", "damaged"}
