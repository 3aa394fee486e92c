"""Jobs under pressure: whether what waits is bounded, and the first bucket published early.

    python scripts/chaos/pressure.py huge WORK        texts of 2 GB and 40 MB among tiny ones
    python scripts/chaos/pressure.py slow-model WORK  a model that is slower than the parsers
    python scripts/chaos/pressure.py slow-store WORK  an S3 server behind --delay per request
    python scripts/chaos/pressure.py full-store WORK  a Ray with --store-mb for all that waits
    python scripts/chaos/pressure.py full-store-no-spilling WORK  the same, with no way to disk

Makes the documents in WORK, runs ``chunkmill run`` on them, watches its processes twice a
second, and prints when the first bucket was published, how far parsing was ahead of what was
committed, and the most that each kind of process held. Exits 1 where the first bucket came
after three quarters of the documents were parsed, where parsing was further ahead than
``--ahead`` documents, or where the job did not end as it should.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from process_memory import Peaks, held_by_kind  # noqa: E402 - run by path, not installed

EVERY_SECONDS = 0.5
BUCKETS = 8
LATE = 0.75
_LINE = re.compile(
    r"([\d,]+)/([\d,]+) documents done \(([\d,]+) parsed.* (\d+)/(\d+) buckets published"
)
RAY_HEAD = """
import json, sys
import ray
settings = json.loads(sys.argv[1])
context = ray.init(address="local", include_dashboard=False, log_to_driver=False, **settings)
print(context.address_info["gcs_address"], flush=True)
sys.stdin.read()
ray.shutdown()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kind of pressure: words of a document, how many there are, and settings."""

    documents: int
    words: int
    settings: tuple[str, ...] = ("model.name=hash:64",)
    huge: bool = False


CASES = {
    "huge": Case(documents=10_000, words=20, huge=True),
    "slow-model": Case(documents=3_000, words=150, settings=()),
    "slow-store": Case(documents=5_000, words=60),
    "full-store": Case(documents=1_024, words=60_000),
    "full-store-no-spilling": Case(documents=1_024, words=60_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A line of the job's log: seconds since the start, documents, and buckets."""

    seconds: float
    committed: int
    parsed: int
    published: int


@dataclass(kw_only=True)
class Followed:
    """What was seen of a job."""

    began: float = field(default_factory=time.monotonic)
    total: int = 0
    moments: list[Moment] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def read(self, line: str) -> None:
        """Take one line of its log."""
        found = _LINE.search(line)
        if found is None:
            self.others.append(line.rstrip())
            return
        committed, self.total, parsed, published, _ = (
            int(number.replace(",", "")) for number in found.groups()
        )
        seconds = time.monotonic() - self.began
        self.moments.append(
            Moment(seconds=seconds, committed=committed, parsed=parsed, published=published)
        )

    @property
    def first_published(self) -> Moment | None:
        """Return the first line that tells of a published bucket."""
        return next((moment for moment in self.moments if moment.published), None)

    @property
    def ahead(self) -> int:
        """Return the most documents that were parsed and not yet committed."""
        return max((moment.parsed - moment.committed for moment in self.moments), default=0)


def make_documents(folder: Path, case: Case) -> None:
    """Write texts that differ, a thousand to a folder."""
    for number in range(case.documents):
        path = folder / f"{number // 1000:03d}" / f"note-{number:06d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        sentences = (
            f"Berth {number + i} takes vessel {number * 31 + i * 7} on day {i}."
            for i in range(max(case.words // 8, 1))
        )
        path.write_text(" ".join(sentences))
    if case.huge:
        write_long(folder / "huge-2-gb.txt", 2_000_000_000)
        write_long(folder / "large-40-mb.txt", 40_000_000)


def write_long(path: Path, size: int) -> None:
    """Write a text of about so many bytes."""
    line = "A line of a text that never seems to end, with its number {}.\n\n"
    with path.open("w") as file:
        number = 0
        while file.tell() < size:
            file.write("".join(line.format(number + i) for i in range(10_000)))
            number += 10_000


@contextlib.contextmanager
def small_ray(store_mb: int, *, spilling: bool) -> Iterator[tuple[str, int]]:
    """Start a Ray with a small object store; yield its address and the process that holds it."""
    settings: dict[str, object] = {
        "object_store_memory": store_mb * 2**20,
        "num_cpus": os.cpu_count(),
        "_system_config": {"automatic_object_spilling_enabled": spilling},
    }
    with subprocess.Popen(
        [sys.executable, "-c", RAY_HEAD, json.dumps(settings)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as head:
        address = head.stdout.readline().strip() if head.stdout else ""
        yield address, head.pid
        head.communicate("")


@contextlib.contextmanager
def slow_server(seconds: float) -> Iterator[tuple[str, dict[str, str]]]:
    """Start an S3 server behind the slow proxy; yield a place in it and the environment."""
    from tests.servers import swift_server  # noqa: PLC0415 - one of the cases only

    with swift_server() as server:
        bucket = server.make_bucket("pressure")
        target = server.endpoint.removeprefix("http://")
        command = [sys.executable, str(Path(__file__).with_name("slow_proxy.py")), target]
        with subprocess.Popen(
            [*command, str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as proxy:
            port = proxy.stdout.readline().strip() if proxy.stdout else ""
            endpoint = {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}"}
            yield f"s3://{bucket}/out", {**server.environment, **endpoint}
            proxy.communicate("")


def follow(
    command: Sequence[str], environment: dict[str, str], roots: Sequence[int]
) -> tuple[int, Followed, Peaks, str]:
    """Run the job; return its exit code, what it told, the peaks, and its last words."""
    followed, peaks = Followed(), Peaks()
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as job:

        def listen() -> None:
            for line in job.stderr or ():
                followed.read(line)

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        while job.poll() is None:
            peaks.take(held_by_kind([job.pid, *roots]))
            time.sleep(EVERY_SECONDS)
        listener.join()
        output = job.stdout.read() if job.stdout else ""
    return job.returncode, followed, peaks, output


def run_case(options: argparse.Namespace) -> int:
    """Run one case and print its figures; return the exit code."""
    case, source = CASES[options.case], options.work / f"{options.case}-source"
    if options.documents:
        case = Case(**{**_fields(case), "documents": options.documents})
    if not source.exists():
        make_documents(source, case)
    dst, environment = str(options.work / f"{options.case}-out"), {}
    command = [sys.executable, "-m", "jobs", "run", str(source)]
    settings = [*case.settings, f"output.n_buckets={BUCKETS}", *options.set]
    roots: list[int] = []
    with contextlib.ExitStack() as stack:
        if options.case == "slow-store":
            dst, environment = stack.enter_context(slow_server(options.delay))
        if options.case.startswith("full-store"):
            spilling = options.case == "full-store"
            address, pid = stack.enter_context(small_ray(options.store_mb, spilling=spilling))
            command += ["--address", address]
            roots.append(pid)
        for setting in settings:
            command += ["--set", setting]
        code, followed, peaks, output = follow(
            [*command, dst, "--json", "--max-failed", "1"], environment, roots
        )
    return told(options, case, code, followed, peaks, output)


def _fields(case: Case) -> dict[str, object]:
    return {name: getattr(case, name) for name in Case.__slots__}


def told(  # noqa: PLR0917 - what there is to tell
    options: argparse.Namespace,
    case: Case,
    code: int,
    followed: Followed,
    peaks: Peaks,
    output: str,
) -> int:
    """Print what was seen, and return whether it is as it should be."""
    seconds = time.monotonic() - followed.began
    print(f"{options.case}: {case.documents} documents, exit code {code} after {seconds:.0f} s")
    print("\n".join(followed.others[-5:]))
    if output:
        report = json.loads(output)["report"] or {}
        print("documents", report.get("documents"), "errors", report.get("errors"))
    first, total = followed.first_published, max(followed.total, 1)
    if first is not None:
        print(
            f"first bucket published by second {first.seconds:.0f}: {first.parsed} of {total} "
            f"documents were parsed, {first.committed} committed"
        )
    print(f"most documents parsed and not yet committed: {followed.ahead}")
    print("\n".join(peaks.lines()), flush=True)
    early = first is not None and first.parsed <= LATE * total
    return int(code != 0 or not early or followed.ahead > options.ahead)


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", choices=list(CASES))
    parser.add_argument("work", type=Path)
    parser.add_argument("--documents", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds for each request")
    parser.add_argument("--store-mb", type=int, default=80, help="the least that Ray takes is 75")
    parser.add_argument("--ahead", type=int, default=800, help="documents parsed, not committed")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    return run_case(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
