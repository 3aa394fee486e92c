from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from chunking.errors import JobError
from jobs.config import LimitsConfig, ParserConfig
from jobs.parsing.orphans import descendants
from jobs.parsing.pool import ChildParser
from jobs.ports import ParseOutcome

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[2]
Parse = Callable[[str], ParseOutcome]


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let children import the hostile converters."""
    monkeypatch.syspath_prepend(HERE)


@pytest.fixture
def make(importable: None) -> Iterator[Callable[..., ChildParser]]:
    """Make parsers with hostile converters; all are closed at the end."""
    del importable
    made: list[ChildParser] = []

    def build(**limits: float) -> ChildParser:
        values = {
            "document_seconds": 20.0,
            "document_memory_mb": 256,
            "document_disk_mb": 64,
            **limits,
        }
        max_documents = int(values.pop("max_documents", 100))
        parser = ChildParser(
            ParserConfig(),
            LimitsConfig.model_validate(values),
            convert="hostile:convert",
            preload=None,
            max_documents=max_documents,
        )
        made.append(parser)
        return parser

    yield build
    for parser in made:
        parser.close()


def parse(parser: ChildParser, folder: Path, text: str, name: str = "a.txt") -> ParseOutcome:
    """Parse a file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return parser.parse(path, name=name)


def child_pid(parser: ChildParser, folder: Path) -> tuple[int, int]:
    """Return the process ids of the parser's child and zygote."""
    outcome = parse(parser, folder, "pid")
    assert outcome.document is not None
    words = outcome.document.text.split()
    return int(words[1]), int(words[3])


def wait_until_gone(*pids: int, seconds: float = 20.0) -> bool:
    """Tell whether processes end within some time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(
            psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
            for pid in pids
        ):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("deed", "kind", "retryable"),
    [
        ("segfault", "crashed", False),
        ("kill-itself", "crashed", True),
        ("leave", "crashed", False),
        ("leave-by-exception", "crashed", False),
        ("talk-nonsense", "crashed", False),
        ("eat-python-memory", "out_of_memory", False),
        ("eat-shared-memory", "out_of_memory", False),
        ("abort-when-full", "out_of_memory", False),
        ("abort", "crashed", False),
        ("recurse", "limit", False),
        ("value-error", "internal", False),
        ("unicode-error", "corrupt", False),
        ("document-error", "encrypted", False),
        ("connect", "unsafe", False),
        ("start-a-program", "unsafe", False),
        ("fork", "unsafe", False),
        ("fork-natively", "internal", False),
        ("start-a-program-natively", "internal", False),
        ("connect-natively", "internal", False),
        ("many-threads", "limit", False),
        ("many-open-files", "limit", False),
        ("fill-folder", "limit", False),
        ("fill-deleted", "limit", False),
        ("one-huge-file", "limit", False),
        ("eat-at-once", "out_of_memory", False),
        ("map-at-once", "out_of_memory", False),
        ("fill-disk", "internal", True),
    ],
)
def test_costs_only_itself(
    make: Callable[..., ChildParser], tmp_path: Path, deed: str, kind: str, *, retryable: bool
) -> None:
    """Whatever a document does, it gets its error kind and the next one is read."""
    parser = make()
    outcome = parse(parser, tmp_path, deed)
    assert (outcome.status, outcome.error_kind) == ("failed", kind), outcome
    assert outcome.retryable is retryable
    assert outcome.format == "txt"
    assert outcome.document is None
    after = parse(parser, tmp_path, "A good document.")
    assert after.status == "ok"
    assert after.document is not None
    assert after.document.text == "A good document."


def test_lets_readers_have_threads(make: Callable[..., ChildParser], tmp_path: Path) -> None:
    """A few threads are no offence."""
    outcome = parse(make(), tmp_path, "a-few-threads")
    assert outcome.document is not None
    assert outcome.document.text == "threads"


@pytest.mark.parametrize(
    "deed", ["hang", "ignore-sigterm", "spin", "spin-in-c", "stop-itself", "fork-bomb"]
)
def test_ends_at_the_deadline(make: Callable[..., ChildParser], tmp_path: Path, deed: str) -> None:
    """A child that hangs, ignores SIGTERM or spins is killed at its wall time limit."""
    parser = make(document_seconds=1.0)
    outcome = parse(parser, tmp_path, deed)
    assert (outcome.error_kind, outcome.retryable) == ("timeout", True)
    assert outcome.format == "txt"
    assert parse(parser, tmp_path, "Good.").status == "ok"


@pytest.mark.parametrize(
    ("deed", "kind"), [("greedy-program", "out_of_memory"), ("many-programs", "limit")]
)
def test_programs_count_as_the_document(
    importable: None, tmp_path: Path, deed: str, kind: str
) -> None:
    """Where LibreOffice may be started, what a child starts is bounded and ends with it."""
    del importable
    config = ParserConfig.model_validate({"libreoffice": True})
    limits = LimitsConfig(document_seconds=30.0, document_memory_mb=256)
    parser = ChildParser(config, limits, convert="hostile:convert", preload=None)
    outcome = parse(parser, tmp_path, deed)
    assert (outcome.status, outcome.error_kind) == ("failed", kind), outcome
    zygote = parser._zygote.pid
    assert zygote is not None
    assert parse(parser, tmp_path, "Good.").status == "ok"
    assert len(list(descendants(zygote))) == 1
    parser.close()


def test_limits_the_output(make: Callable[..., ChildParser], tmp_path: Path) -> None:
    """More text than limits.document_chars is refused as a limit."""
    outcome = parse(make(document_chars=1000), tmp_path, "write-much")
    assert (outcome.status, outcome.error_kind) == ("failed", "limit")


def test_limits_the_result(make: Callable[..., ChildParser], tmp_path: Path) -> None:
    """A short text in very many blocks is refused by the child, which lives on."""
    parser = make(document_chars=240_000, document_memory_mb=1024)
    outcome = parse(parser, tmp_path, "many-blocks")
    assert (outcome.status, outcome.error_kind) == ("failed", "limit")
    assert parse(parser, tmp_path, "Good.").status == "ok"


def test_keeps_a_warm_child(make: Callable[..., ChildParser], tmp_path: Path) -> None:
    """Good documents share one child, which is replaced after its share of them."""
    parser = make(max_documents=2)
    first, zygote = child_pid(parser, tmp_path)
    second, _ = child_pid(parser, tmp_path)
    third, same_zygote = child_pid(parser, tmp_path)
    assert first == second != third
    assert zygote == same_zygote
    assert wait_until_gone(first)


def test_replaces_a_child_that_has_grown(
    make: Callable[..., ChildParser], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that leaks costs its child before it costs a document."""
    monkeypatch.setattr("jobs.parsing.pool._MAX_GROWTH_BYTES", 100 * 2**20)
    parser = make()
    texts = []
    for _ in range(7):
        outcome = parse(parser, tmp_path, "keep-memory")
        assert outcome.document is not None
        texts.append(outcome.document.text)
    # Three documents of 48 MiB make more than 100, and what the child itself touches counts.
    assert max(Counter(texts).values()) in {2, 3}


def test_survives_the_loss_of_its_zygote(make: Callable[..., ChildParser], tmp_path: Path) -> None:
    """With the zygote killed from outside, the next document is read all the same."""
    parser = make()
    child, zygote = child_pid(parser, tmp_path)
    os.kill(zygote, signal.SIGKILL)
    assert parse(parser, tmp_path, "Good.").status == "ok"
    assert wait_until_gone(child, zygote)


def test_survives_the_loss_of_an_idle_child(
    make: Callable[..., ChildParser], tmp_path: Path
) -> None:
    """A child that was killed while idle is replaced without a document's failing."""
    parser = make()
    child, zygote = child_pid(parser, tmp_path)
    os.kill(child, signal.SIGKILL)
    assert wait_until_gone(child)
    again, same_zygote = child_pid(parser, tmp_path)
    assert again != child
    assert zygote == same_zygote


def test_closes_without_leftovers(make: Callable[..., ChildParser], tmp_path: Path) -> None:
    """After close no process is left, and a later document starts new ones."""
    parser = make()
    pids = child_pid(parser, tmp_path)
    parser.close()
    assert wait_until_gone(*pids)
    assert parse(parser, tmp_path, "Good.").status == "ok"


def test_leaves_no_orphan(importable: None, tmp_path: Path) -> None:
    """When the process that parses is killed, its zygote and its busy child end too."""
    del importable
    (tmp_path / "a.txt").write_text("ignore-sigterm", encoding="utf-8")
    script = (
        "import sys, pathlib\n"
        "from jobs.config import LimitsConfig, ParserConfig\n"
        "from jobs.parsing.pool import ChildParser\n"
        "parser = ChildParser(ParserConfig(), LimitsConfig(), convert='hostile:convert',"
        " preload=None)\n"
        "parser.parse(pathlib.Path(sys.argv[1]), name='a')\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "a.txt")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(CHECKOUT)])},
    )
    try:
        below: list[psutil.Process] = []
        end = time.monotonic() + 120
        while len(below) < 2 and time.monotonic() < end:
            below = psutil.Process(parent.pid).children(recursive=True)
            time.sleep(0.05)
        assert len(below) == 2, below
        time.sleep(0.5)
    finally:
        parent.kill()
        parent.wait()
    assert wait_until_gone(*(process.pid for process in below))


def test_leaves_no_temporary_files(
    make: Callable[..., ChildParser], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a good document nor one that crashed leaves a file behind."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    parser = make()
    parse(parser, tmp_path, "Good.")
    parse(parser, tmp_path, "segfault")
    assert list(place.iterdir()) == []


def test_says_why_it_does_not_start(tmp_path: Path) -> None:
    """A converter that cannot be imported is a job's error with its reason."""
    parser = ChildParser(
        ParserConfig(), LimitsConfig(), convert="no_such_module:convert", preload=None
    )
    with pytest.raises(JobError, match="no_such_module"):
        parse(parser, tmp_path, "Good.")
    parser.close()


def test_refuses_before_reading(make: Callable[..., ChildParser], tmp_path: Path) -> None:
    """An empty file and one that is too large are skipped without a child."""
    parser = make(document_bytes=10)
    empty = parse(parser, tmp_path, "")
    large = parse(parser, tmp_path, "x" * 11)
    assert (empty.status, empty.error_kind) == ("skipped", "empty")
    assert (large.status, large.error_kind) == ("skipped", "too_large")


def test_warns_of_a_blank_document(make: Callable[..., ChildParser], tmp_path: Path) -> None:
    """A document of blanks only is ok, with a warning."""
    outcome = parse(make(), tmp_path, " \n ")
    assert (outcome.status, outcome.warnings) == ("ok", ("no_text",))


def test_does_not_see_the_name(make: Callable[..., ChildParser], tmp_path: Path) -> None:
    """The same bytes under other names give the same outcome, seconds aside."""
    parser = make()
    outcomes = {
        (o.status, o.format, o.error_kind, o.error_message)
        for name in ("a.pdf", "b", "-rf.docx")
        for o in [parse(parser, tmp_path, "value-error", name)]
    }
    assert len(outcomes) == 1


@pytest.mark.ray
def test_works_inside_a_ray_actor(importable: None, tmp_path: Path, local_ray: None) -> None:
    """In a Ray worker, a good document, a crash and a hang give what they give elsewhere."""
    del importable, local_ray
    import ray  # noqa: PLC0415 - slow, and only here

    @ray.remote(num_cpus=0)
    class Actor:
        def __init__(self) -> None:
            sys.path[:0] = [str(HERE), str(CHECKOUT)]
            limits = LimitsConfig(document_seconds=10.0, document_memory_mb=256)
            self._parser = ChildParser(
                ParserConfig(), limits, convert="hostile:convert", preload=None
            )

        def outcomes(self, folder: Path) -> list[str | None]:
            words = ["Good.", "segfault", "hang", "eat-python-memory", "Good again."]
            return [
                outcome.error_kind or outcome.status
                for outcome in (parse(self._parser, folder, word) for word in words)
            ]

        def pids(self, folder: Path) -> tuple[int, int]:
            return child_pid(self._parser, folder)

    actor = Actor.remote()  # type: ignore[attr-defined]
    kinds = ray.get(actor.outcomes.remote(tmp_path), timeout=300)
    assert kinds == ["ok", "crashed", "timeout", "out_of_memory", "ok"]
    pids = ray.get(actor.pids.remote(tmp_path), timeout=60)
    ray.kill(actor)
    assert wait_until_gone(*pids)
