from __future__ import annotations

import io
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError, ResponseStreamingError

from jobs.protocol import fail_points
from scripts.chaos.harness import judge
from scripts.chaos.harness.plain_reader import FolderTables, PlainReader
from scripts.chaos.harness.plans import EVENTS, N_REAL_WORLDS, make_schedule
from scripts.chaos.harness.real_sources import real_world
from scripts.chaos.harness.s3_proxy import Request, S3Proxy, Trigger
from scripts.chaos.harness.sources import World
from tests.servers import S3Server

CHECKOUT = Path(__file__).resolve().parents[2]
NAMES = [str(number) for number in range(1, 201)]


def test_schedules_are_drawn_from_their_name() -> None:
    """The same name gives the same schedule, another name another one."""
    assert [make_schedule(name) for name in NAMES] == [make_schedule(name) for name in NAMES]
    assert len({make_schedule(name) for name in NAMES}) == len(NAMES)


def test_two_hundred_schedules_meet_everything() -> None:
    """Among them are all events, histories, kinds of datasets and many fail points."""
    schedules = [make_schedule(name) for name in NAMES]
    rounds = [turn for schedule in schedules for turn in schedule.rounds]
    assert {event.kind for turn in rounds for event in turn.events} == set(EVENTS)
    assert {schedule.history for schedule in schedules} == {"fresh", "update", "meanwhile"}
    assert {schedule.local for schedule in schedules} == {True, False}
    assert {schedule.world for schedule in schedules} == {0, 1, 2, 3}
    assert any(turn.clock for turn in rounds)
    armed = {turn.fail_point.partition(":")[0] for turn in rounds if turn.fail_point}
    assert armed <= set(fail_points.FAIL_POINTS)
    assert len(armed) > 20


def test_what_ends_a_run_comes_last() -> None:
    """No event of a round waits for a moment that its run does not live to see."""
    order = (
        "lease",
        "dataset",
        "plan",
        "fetch",
        "unit",
        "marker",
        "data",
        "version",
        "copy",
        "end",
    )
    n_rounds = 0
    for turn in (turn for name in NAMES for turn in make_schedule(name).rounds):
        moments = {
            event.kind: (order.index(event.post), event.number)
            for event in turn.events
            if event.post in order
        }
        end = next((moments[kind] for kind in ("kill driver", "SIGTERM") if kind in moments), None)
        if end is not None and len(moments) > 1:
            n_rounds += 1
            assert end == max(moments.values())
    assert n_rounds > 20


@pytest.mark.parametrize("number", range(N_REAL_WORLDS))
def test_real_worlds_hold_the_formats_in_three_states(number: int) -> None:
    """Each has documents for the real parsers, of which some change and one goes."""
    states = real_world(number).states
    suffixes = {Path(key).suffix for key in states["first"] if key.startswith("samples/")}
    assert suffixes >= {".docx", ".html", ".pdf", ".pptx", ".xlsx"}
    for state in ("meanwhile", "second"):
        gone = states["first"].keys() - states[state].keys()
        assert any(key.startswith("notes/") for key in gone)
        assert any(states[state].get(key) != data for key, data in states["first"].items())


def test_a_source_changes_in_the_same_way_each_time() -> None:
    """A world's documents are the same whenever it is made, and its states differ."""
    one, two = World(1, 12), World(1, 12)
    assert one.states == two.states
    first, second = one.states["first"], one.states["second"]
    assert first.keys() - second.keys()
    assert second.keys() - first.keys()
    assert any(first[key] != second[key] for key in first.keys() & second.keys())


def _request(number: int) -> Request:
    return Request(kind="marker", number=number, method="PUT", key="", port=0)


def test_an_event_waits_for_its_request() -> None:
    """It happens once, on its side of the request, at the number or the next one seen."""
    proxy, seen = S3Proxy(0), Counter[int]()

    def action(request: Request) -> str:
        seen[request.number] += 1
        return "drop"

    proxy.arm([Trigger(kind="marker", number=2, before=False, action=action)])
    for number in (1, 2, 3):
        proxy.met(_request(number), before=True)
    assert proxy.met(_request(1), before=False) is None
    assert proxy.met(_request(3), before=False) == "drop"
    assert proxy.met(_request(4), before=False) is None
    assert seen == {3: 1}
    proxy.close()


@pytest.mark.s3
def test_the_proxy_tells_requests_and_spoils_them(swift: S3Server) -> None:
    """A commit is told from a fetch; errors, cut bodies and lost requests reach the client."""
    bucket = swift.make_bucket()
    proxy = S3Proxy(int(swift.endpoint.rpartition(":")[2]))
    proxy.source, proxy.dataset = f"/{bucket}/in/", f"/{bucket}/out/"
    client: Any = S3Server(
        endpoint=proxy.endpoint, access_key=swift.access_key, secret_key=swift.secret_key
    ).client()
    try:
        marker = "out/_chunkmill/runs/00000001-20250101T000000Z/units/000003.json"
        client.put_object(Bucket=bucket, Key=marker, Body=b"{}")
        client.put_object(Bucket=bucket, Key="in/a b.txt", Body=b"0123456789")
        assert client.get_object(Bucket=bucket, Key="in/a b.txt")["Body"].read() == b"0123456789"
        assert proxy.counts["marker"] == proxy.counts["fetch"] == 1
        cut = Trigger(kind="fetch", number=1, before=False, action=lambda _: "cut")
        proxy.arm([cut])
        with pytest.raises(ResponseStreamingError):
            client.get_object(Bucket=bucket, Key="in/a b.txt")["Body"].read()
        proxy.arm([Trigger(kind="marker", number=1, before=True, action=lambda _: "drop")])
        client.put_object(Bucket=bucket, Key=marker, Body=b"again")
        assert proxy.counts["marker"] == 2
        proxy.spoil(50, "internal")
        with pytest.raises(ClientError, match="InternalError"):
            client.list_objects_v2(Bucket=bucket)
    finally:
        proxy.close()


def _write(folder: Path, table: str, name: str, rows: list[dict[str, Any]]) -> None:
    path = folder / table / name
    path.parent.mkdir(parents=True, exist_ok=True)
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    path.write_bytes(sink.getvalue())


def _chunks(doc_id: str, version: str, indices: list[int]) -> list[dict[str, Any]]:
    return [{"doc_id": doc_id, "doc_version": version, "chunk_index": i} for i in indices]


def test_the_reader_sees_what_is_double_or_half(tmp_path: Path) -> None:
    """A document in two files, with a gap, in two versions or with too few chunks is told."""
    _write(tmp_path, "chunks", "a.parquet", _chunks("one", "v1", [0, 1]))
    reader = PlainReader(FolderTables(tmp_path))
    reader.look()
    assert reader.faults == []
    assert list(reader.differences({("one", "v1"): 2})) == []
    assert "with 2 chunks, not 3" in next(reader.differences({("one", "v1"): 3}))
    _write(tmp_path, "chunks", "b.parquet", _chunks("one", "v1", [0, 1]))
    _write(tmp_path, "chunks", "c.parquet", _chunks("two", "v1", [0, 2]))
    _write(tmp_path, "chunks", "d.parquet", _chunks("six", "v1", [0]) + _chunks("six", "v2", [1]))
    reader.look()
    reader.look()
    told = "\n".join(reader.faults)
    assert len(reader.faults) == 3
    assert "document one is in chunks/a.parquet and chunks/b.parquet" in told
    assert re.search("document two are not 0 to 1", told)
    assert "document six in two versions" in told


def test_a_feed_that_does_not_give_what_is_published_is_told(tmp_path: Path) -> None:
    """Replayed in run order; a deleted chunk that was never given is told, too."""
    _write(tmp_path, "chunks", "a.parquet", [{"chunk_id": "x"}, {"chunk_id": "y"}])
    first = [{"chunk_id": "x", "op": "upsert"}, {"chunk_id": "z", "op": "upsert"}]
    second = [{"chunk_id": "y", "op": "upsert"}, {"chunk_id": "z", "op": "delete"}]
    _write(tmp_path, "changes", "run=00000001/a.parquet", first)
    _write(tmp_path, "changes", "run=00000002/a.parquet", second)
    assert list(judge.replay_faults(tmp_path)) == []
    _write(tmp_path, "changes", "run=00000003/a.parquet", [{"chunk_id": "w", "op": "delete"}])
    assert "had not given" in "".join(judge.replay_faults(tmp_path))
    _write(tmp_path, "changes", "run=00000003/a.parquet", [{"chunk_id": "y", "op": "delete"}])
    assert "lacks 1" in "".join(judge.replay_faults(tmp_path))


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.ray
@pytest.mark.s3
def test_two_schedules_end_equal(swift: S3Server, tmp_path: Path) -> None:
    """The harness runs: a killed driver over an existing dataset, and a worker at a fail point."""
    del swift  # asked for, so that the test is skipped where it cannot run
    script = CHECKOUT / "scripts" / "chaos" / "schedules.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path, "--only", "1,3"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "violations: 0 in 0 schedules" in done.stdout
