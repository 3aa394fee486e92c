"""What the processes of a job hold, by what they are for; on Linux, from ``/proc``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import psutil

__all__ = ["Held", "Peaks", "held_by_kind"]

KINDS = (
    ("jobs.parsing", "parsing children"),
    ("FetchParse", "parse actors"),
    ("EmbedUnit", "embed actors"),
    ("MeterActor", "meter"),
    ("-m jobs", "driver"),
    ("raylet/raylet", "raylet"),
    ("gcs_server", "gcs"),
    ("ray::", "other ray workers"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the processes of one kind hold together, in bytes where it is memory.

    ``private``: without pages of files and of shared memory, of which ``shared`` is the most
    that one of them has; for the raylet that is the object store, as far as it was touched.
    """

    processes: int = 0
    private: int = 0
    shared: int = 0
    files: int = 0
    threads: int = 0

    def and_also(self, other: Held) -> Held:
        """Return both together."""
        return Held(
            processes=self.processes + other.processes,
            private=self.private + other.private,
            shared=max(self.shared, other.shared),
            files=self.files + other.files,
            threads=self.threads + other.threads,
        )


def kind_of(process: psutil.Process) -> str:
    """Return what a process is for."""
    line = " ".join(process.cmdline())
    return next((kind for mark, kind in KINDS if mark in line), "other ray services")


def held_by_kind(roots: Iterable[int]) -> dict[str, Held]:
    """Return what is held now by these processes and all that descend from them."""
    found: dict[str, Held] = {}
    for root in roots:
        try:
            process = psutil.Process(root)
            family = [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
        for member in family:
            try:
                with member.oneshot():
                    kind, held = kind_of(member), _held(member)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
            found[kind] = found.get(kind, Held()).and_also(held)
    return found


def _held(process: psutil.Process) -> Held:
    memory = process.memory_info()
    return Held(
        processes=1,
        private=memory.rss - memory.shared,
        shared=memory.shared,
        files=process.num_fds(),
        threads=process.num_threads(),
    )


@dataclass(kw_only=True)
class Peaks:
    """The most that was seen of each kind, number by number."""

    by_kind: dict[str, Held] = field(default_factory=dict)

    def take(self, held: Mapping[str, Held]) -> None:
        """Take note of what is held now."""
        for kind, now in held.items():
            before = self.by_kind.get(kind, Held())
            names = Held.__slots__
            most = {name: max(getattr(before, name), getattr(now, name)) for name in names}
            self.by_kind[kind] = Held(**most)

    def lines(self) -> list[str]:
        """Return the rows of a table."""
        mib = 2**20
        return [
            "| kind | processes | private MiB | shared MiB | files | threads |",
            f"{'|---' * 6}|",
            *(
                f"| {kind} | {held.processes} | {held.private / mib:.0f} | {held.shared / mib:.0f}"
                f" | {held.files} | {held.threads} |"
                for kind, held in sorted(self.by_kind.items())
            ),
        ]
