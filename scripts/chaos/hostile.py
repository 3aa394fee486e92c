"""Run a real job over hostile files among good ones, and see that they cost only themselves.

    python scripts/chaos/hostile.py CORPUS WORK [--repeat 5] [--good 300] [--seconds 10]

CORPUS holds ``hard_and_ordinary`` and ``bulk`` with their manifests. Hostile are those files
of the first for which an error is right or which are made to break readers, and bombs and
misdeeds made on the spot (``hostile_files.py``). The job runs twice: with a budget that
holds, and, all files renamed, with one that does not.

Checked: each good file has the text that it has when parsed alone; every file is
accounted for; outcomes are right, the same each time, and the same under other names (but
for time and memory, which hang on what else the machine does);
the memory of all processes together stays bounded; afterwards no process and no temporary
folder is left; the exit code tells the budget. Prints a table; exits 1 on any violation.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import pyarrow.dataset as ds  # noqa: E402 - needs the path above
from hostile_files import hostile_files  # noqa: E402 - as above
from marked_processes import MARK, Memory, command_of  # noqa: E402 - as above

from jobs.config import LimitsConfig, ParserConfig  # noqa: E402 - as above
from jobs.parsing.pool import ChildParser  # noqa: E402 - as above

MIB = 1 << 20
LEFT_S = 30.0
EXTENSIONS = ("", ".pdf", ".docx", ".txt", ".html", ".bin", ".jpg", ".xlsx")
HOSTILE = re.compile(
    r"error|corrupt|encrypt|password|bomb|fuzz|malform|unsafe|crash|truncat|recurs|loop|memory|empty",
    re.IGNORECASE,
)
ORDINARY = "converts with its text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the job made of a file; ``digest`` is that of its text, None where there is none."""

    status: str
    kind: str | None
    digest: str | None


@dataclass(kw_only=True)
class Case:
    """One file, how often it stands in the source, and what is known of it."""

    content: bytes
    name: str
    good: bool = False
    kinds: frozenset[str] | None = None
    readable: bool = True
    keys: list[str] = field(default_factory=list)


def cases(corpus: Path, n_good: int, seed: int) -> list[Case]:
    """Return the files of a run: hostile ones of the corpus and our own, and good ones."""
    chosen = [
        Case(content=file.content, name=file.name, kinds=file.kinds, readable=file.readable)
        for file in hostile_files()
    ]
    for row in _manifest(corpus / "hard_and_ordinary"):
        about = " ".join((row["why_hard"], row["right_outcome"], row["path"]))
        if row["right_outcome"] != ORDINARY and HOSTILE.search(about):
            content = (corpus / "hard_and_ordinary" / row["path"]).read_bytes()
            chosen.append(Case(content=content, name=row["path"]))
    bulk = sorted(_manifest(corpus / "bulk"), key=lambda row: row["path"])
    for row in random.Random(seed).sample(bulk, min(n_good, len(bulk))):  # noqa: S311 - a sample
        content = (corpus / "bulk" / row["path"]).read_bytes()
        chosen.append(Case(content=content, name=row["path"], good=True))
    return chosen


def _manifest(folder: Path) -> list[dict[str, str]]:
    with (folder / "manifest.tsv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def lay_out(files: Sequence[Case], folder: Path, repeat: int, *, seed: int | None) -> None:
    """Write the files below a folder, hostile ones several times; renamed with a seed."""
    chance = random.Random(seed)  # noqa: S311 - names, not secrets
    for number, case in enumerate(files):
        case.keys = []
        for copy in range(1 if case.good else repeat):
            if seed is None:
                key = f"{'good' if case.good else 'hostile'}/{number:04}-{copy}/{case.name}"
            else:
                key = f"{chance.randbytes(2).hex()}/{chance.randbytes(9).hex()}"
                key += chance.choice(EXTENSIONS)
            path = folder / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(case.content)
            case.keys.append(key)


def alone(files: Sequence[Case], settings: ParserConfig, work: Path) -> dict[str, Outcome]:
    """Parse each good file in a process of its own."""
    outcomes = {}
    parser = ChildParser(settings, LimitsConfig(document_seconds=300), max_documents=1)
    path = work / "alone"
    for case in files:
        if case.good:
            path.write_bytes(case.content)
            outcome = parser.parse(path, name="alone")
            text = outcome.document.text if outcome.document else None
            outcomes[case.keys[0]] = Outcome(
                status=outcome.status, kind=outcome.error_kind, digest=_digest(text)
            )
    parser.close()
    return outcomes


def _digest(text: str | None) -> str | None:
    return None if not text else hashlib.sha256(text.encode()).hexdigest()


@dataclass(kw_only=True)
class Run:
    """One run of the job and what was seen of it."""

    outcomes: dict[str, Outcome]
    rows: Counter[str]
    exit_code: int
    seconds: float
    peak: int
    most_processes: int
    left: list[str]


def run_job(source: Path, work: Path, name: str, options: argparse.Namespace, budget: str) -> Run:
    """Run the job over a folder and watch it."""
    place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=work))
    dst = place / "out"
    mark = place.name
    settings = (
        *("model.name=hash:64", "parser.hook=hostile:act", "parser.ocr=none"),
        *(f"limits.document_seconds={options.seconds}", "limits.document_disk_mb=256"),
        *(f"limits.document_memory_mb={options.memory_mb}", "output.n_buckets=4"),
        *(f"resources.parse_workers={options.workers}", f"resources.tmp_dir={place}"),
    )
    command = [sys.executable, "-m", "jobs", "run", str(source), str(dst), "-q"]
    command += ["--max-failed", budget]
    for setting in settings:
        command += ["--set", setting]
    hooks = os.pathsep.join((str(ROOT), str(ROOT / "tests/jobs/parsing")))
    environment = {**os.environ, MARK: mark, "PYTHONPATH": hooks, "TMPDIR": str(place)}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    began = time.monotonic()
    with Memory(mark) as memory, (place / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=place, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        exit_code = process.wait()
        seconds = time.monotonic() - began
        left = _left_processes(memory)
    left += [str(path) for path in place.rglob("chunkmill-tmp-*")]
    outcomes, rows = _outcomes(dst)
    return Run(
        outcomes=outcomes,
        rows=rows,
        exit_code=exit_code,
        seconds=seconds,
        peak=memory.peak,
        most_processes=memory.most_processes,
        left=left,
    )


def _left_processes(memory: Memory) -> list[str]:
    """Return the processes that outlive the job by some time."""
    end = time.monotonic() + LEFT_S
    while (left := memory.processes()) and time.monotonic() < end:
        time.sleep(1)
    return [f"{path.name}: {command_of(path)}" for path in left]


def _outcomes(dst: Path) -> tuple[dict[str, Outcome], Counter[str]]:
    if not (dst / "documents").is_dir():
        return {}, Counter()
    columns = ["source_key", "status", "error_kind", "text", "parent_doc_id"]
    outcomes: dict[str, Outcome] = {}
    rows: Counter[str] = Counter()
    for row in ds.dataset(dst / "documents").to_table(columns=columns).to_pylist():
        rows[row["source_key"]] += 1
        outcomes[row["source_key"]] = Outcome(
            status=row["status"], kind=row["error_kind"], digest=_digest(row["text"])
        )
    return outcomes, rows


class Report:
    """Gathers violations and prints the table."""

    def __init__(self) -> None:
        self.violations: list[str] = []

    def check(self, what: str, problems: Sequence[str]) -> None:
        """Print one line of the table, and the first problems below it."""
        print(f"{'ok  ' if not problems else 'FAIL'} {what}", flush=True)
        for problem in problems[:20]:
            print(f"       {problem}")
        self.violations += problems


def check_run(
    report: Report, run: Run, files: Sequence[Case], expected: Mapping[str, Outcome], right: int
) -> None:
    """Check all that can be told of one run alone."""
    keys = {key for case in files for key in case.keys}
    own = {key for key in run.outcomes if "!/" not in key}
    problems = [f"{key}: no row" for key in sorted(keys - own)]
    problems += [f"{key}: not in the source" for key in sorted(own - keys)]
    problems += [f"{key}: {n} rows" for key, n in run.rows.items() if n > 1]
    report.check(f"{len(keys)} files are accounted for", problems)
    good = [case for case in files if case.good]
    problems = list(_unlike(good, run, expected))
    report.check(f"{len(good)} good files are as when parsed alone", problems)
    hostile = [case for case in files if not case.good]
    report.check(f"{len(hostile)} hostile files end rightly", list(_wrong(hostile, run)))
    report.check("each does so every time", list(_unsteady(hostile, run)))
    report.check("no process and no temporary folder is left", run.left)
    code = [] if run.exit_code == right else [f"exit code {run.exit_code}"]
    report.check(f"the exit code is {right}", code)


def _unlike(good: Sequence[Case], run: Run, expected: Mapping[str, Outcome]) -> Iterator[str]:
    for case in good:
        found = run.outcomes.get(case.keys[0])
        if found is not None and found != expected[case.name]:
            yield f"{case.keys[0]}: {found}, but alone {expected[case.name]}"


def _wrong(hostile: Sequence[Case], run: Run) -> Iterator[str]:
    for case in hostile:
        for key in case.keys:
            found = run.outcomes.get(key)
            if found is None or case.kinds is None:
                continue
            read = found.status in {"ok", "partial"}
            if not (case.readable if read else found.kind in case.kinds):
                yield f"{key}: {found.status}/{found.kind}, right is {sorted(case.kinds)}"


def _unsteady(hostile: Sequence[Case], run: Run) -> Iterator[str]:
    for case in hostile:
        seen = _settled(run, case.keys)
        if len(seen) > 1:
            yield f"{case.name}: {sorted((o.status, o.kind or '', o.digest or '') for o in seen)}"


def _settled(run: Run, keys: Sequence[str]) -> set[Outcome]:
    """Return the outcomes of a file's copies; which was too slow, hangs on the machine's load."""
    seen = {run.outcomes[key] for key in keys if key in run.outcomes}
    return {outcome for outcome in seen if outcome.kind not in {"timeout", "out_of_memory"}}


def check_names(report: Report, files: Sequence[Case], first: Run, second: Run) -> None:
    """Compare two runs of which the second had other names."""
    problems = []
    for case, old_keys in zip(files, first_keys(files, first), strict=True):
        old, new = _settled(first, old_keys), _settled(second, case.keys)
        if old and new and old != new:
            problems.append(f"{case.name}: {old} became {new}")
    report.check("outcomes are the same under other names", problems)


def first_keys(files: Sequence[Case], run: Run) -> Iterator[list[str]]:
    """Yield, per file, its keys before it was renamed."""
    by_number: dict[int, list[str]] = defaultdict(list)
    for key in run.outcomes:
        if "!/" not in key:
            by_number[int(key.split("/")[1].split("-")[0])].append(key)
    for number in range(len(files)):
        yield by_number[number]


def main() -> int:
    """Run both jobs and print the table."""
    options = _options()
    options.work.mkdir(parents=True, exist_ok=True)
    files = cases(options.corpus, options.good, options.seed)
    if options.only:
        files = [case for case in files if case.good or re.search(options.only, case.name)]
    report = Report()
    plain, renamed = options.work / "src", options.work / "renamed"
    for folder in (plain, renamed):
        shutil.rmtree(folder, ignore_errors=True)
    lay_out(files, plain, options.repeat, seed=None)
    settings = ParserConfig.model_validate({"ocr": "none"})
    found = alone(files, settings, options.work)
    expected = {case.name: found[case.keys[0]] for case in files if case.good}
    first = run_job(plain, options.work, "plain", options, "100%")
    told(report, first, "as they are named", options)
    check_run(report, first, files, expected, 0)
    lay_out(files, renamed, options.repeat, seed=options.seed)
    second = run_job(renamed, options.work, "renamed", options, "1")
    told(report, second, "renamed", options)
    check_run(report, second, files, expected, 3)
    check_names(report, files, first, second)
    print(f"{len(report.violations)} violations")
    return 1 if report.violations else 0


def told(report: Report, run: Run, name: str, options: argparse.Namespace) -> None:
    """Print how a run went, and check its memory."""
    kinds = Counter(f"{o.status}/{o.kind or '-'}" for o in run.outcomes.values())
    print(
        f"\n{name}: {len(run.outcomes)} documents in {run.seconds:.0f} s, exit code {run.exit_code}"
    )
    for kind, n in kinds.most_common():
        print(f"    {n:5} {kind}")
    peak = f"peak of memory {run.peak / MIB:.0f} MiB in {run.most_processes} processes at most"
    over = (
        [f"more than {options.max_memory_mb} MiB"] if run.peak > options.max_memory_mb * MIB else []
    )
    report.check(f"{peak}; bound {options.max_memory_mb} MiB", over)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--good", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=10.0, help="limits.document_seconds")
    parser.add_argument("--memory-mb", type=int, default=1024, help="limits.document_memory_mb")
    parser.add_argument("--workers", type=int, default=2, help="parsing actors")
    parser.add_argument("--max-memory-mb", type=int, default=0, help="bound; 0: from the others")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a pattern on the names of hostile files")
    options = parser.parse_args()
    if not options.max_memory_mb:
        # Ray and the driver, then per worker: actor, readers, and one document at its limit.
        options.max_memory_mb = 3000 + options.workers * (1500 + 1.5 * options.memory_mb)
    return options


if __name__ == "__main__":
    sys.exit(main())
