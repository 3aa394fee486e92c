"""Every fault of a store and of the way to it, against a real S3 server behind a proxy."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from chunking.errors import AccessDeniedError, DestinationError, ObjectNotFoundError, StoreError
from jobs import patience
from jobs.adapters.stores import prove_writable, s3, s3_body, s3_client
from jobs.adapters.stores.base import BrokenAnswerError, CredentialsError, UnreachableError
from jobs.adapters.stores.s3 import S3Store
from jobs.adapters.stores.s3_client import Connection
from jobs.traffic import TRAFFIC, Role
from tests.faults import FaultyProxy, faulty_proxy
from tests.jobs.adapters.stores.conftest import PART_BYTES, use
from tests.servers import S3Server

pytestmark = pytest.mark.s3

BODY = random.Random(3).randbytes(300_000)
OPERATIONS: dict[str, tuple[str, Callable[[S3Store], object], object]] = {
    "get": ("GET", lambda store: store.get("old"), BODY),
    "tail": ("GET", lambda store: store.get_tail("old", 7), BODY[-7:]),
    "range": ("GET", lambda store: store.read_range("old", 5, 20), BODY[5:25]),
    "list": ("GET", lambda store: [info.key for info in store.list()], ["old"]),
    "head": ("HEAD", lambda store: getattr(store.head("old"), "size", None), len(BODY)),
    "put": ("PUT", lambda store: store.put("new", b"x"), None),
    "create": ("PUT", lambda store: store.create("new", b"x"), True),
    "copy": ("PUT", lambda store: store.copy("old", "new"), None),
    "delete": ("DELETE", lambda store: store.delete("old"), None),
}
ONE_OFF = [
    *("slow_down", "too_many", "unavailable", "internal", "gateway"),
    *("refuse", "reset", "lose_answer", "skewed", "expired"),
]


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Wait no time for anything, and tell how long it would have been."""
    waited: list[float] = []
    monkeypatch.setattr(patience, "sleep", waited.append)
    TRAFFIC.take()
    return waited


@pytest.fixture
def proxy(swift: S3Server) -> Iterator[FaultyProxy]:
    """Run a proxy that breaks requests on their way to Swift."""
    with faulty_proxy(swift.endpoint) as running:
        yield running


def behind(store: S3Store, proxy: FaultyProxy, role: Role = "dataset", **facts: int) -> S3Store:
    """Return the same store, reached through the proxy."""
    connection = replace(store.connection, endpoint_url=proxy.endpoint, role=role)
    return S3Store(store.bucket, store.prefix, connection, **facts)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        (name, fault)
        for fault in ONE_OFF
        for name in OPERATIONS
        if name != "head" or fault not in ("skewed", "expired")
    ],
)
def test_a_fault_that_passes_changes_nothing(
    swift_store: S3Store, proxy: FaultyProxy, waits: list[float], name: str, fault: str
) -> None:
    """Whatever befalls one request, it is sent once more, counted, and does what it should."""
    method, operation, result = OPERATIONS[name]
    swift_store.put("old", BODY)
    TRAFFIC.take()
    proxy.method, proxy.faults = method, [fault]
    assert operation(behind(swift_store, proxy)) == result
    assert len(waits) == 1
    counted = TRAFFIC.take()
    assert counted["dataset.retries"] == 1
    assert counted["dataset.wait_seconds"] == pytest.approx(sum(waits))
    assert ("dataset.throttles" in counted) == (fault in ("slow_down", "too_many", "unavailable"))
    kind = {"tail": "get", "range": "get"}.get(name, name)
    assert counted[f"dataset.requests.{kind}"] == 2
    assert "dataset.failures" not in counted


@pytest.mark.parametrize("fault", ["skewed", "expired"])
def test_refusals_that_cannot_say_why(swift_store: S3Store, proxy: FaultyProxy, fault: str) -> None:
    """An answer to HEAD has no body: why it was refused is found by a GET, or was cured by it."""
    swift_store.put("old", BODY)
    store = behind(swift_store, proxy)
    proxy.method, proxy.faults = "HEAD", [fault]
    info = store.head("old")
    assert info is not None
    assert info.size == len(BODY)
    proxy.faults = [fault]
    assert store.head("never") is None


def test_a_fault_that_stays_ends_in_one_line(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """Retries are bounded in number, and the line names the object and what the store said."""
    proxy.always = "slow_down"
    with pytest.raises(UnreachableError, match=r"PutObject of s3://.*/k failed: .*\(SlowDown\)"):
        behind(swift_store, proxy).put("k", b"x")
    counted = TRAFFIC.take()
    assert counted["dataset.retries"] == patience.MAX_RETRIES
    assert counted["dataset.failures"] == 1
    assert swift_store.head("k") is None


@pytest.mark.parametrize("fault", ["internal", "refuse"])
def test_a_broken_document_is_given_up_early(
    swift_store: S3Store, proxy: FaultyProxy, waits: list[float], fault: str
) -> None:
    """Where a failure may be the one document's own, a few retries are enough."""
    swift_store.put("k", b"x")
    proxy.method, proxy.always = "GET", fault
    with pytest.raises(BrokenAnswerError):
        behind(swift_store, proxy, "source").get("k")
    assert len(waits) == 5


@pytest.mark.parametrize("fault", ["slow_down", "gateway"])
def test_a_throttled_source_is_waited_for(
    swift_store: S3Store, proxy: FaultyProxy, fault: str
) -> None:
    """What a store says of itself is no fault of a document: it has the whole patience."""
    swift_store.put("k", b"x")
    proxy.method, proxy.faults = "GET", [fault] * 40
    assert behind(swift_store, proxy, "source").get("k") == b"x"
    assert TRAFFIC.take()["source.retries"] == 40


def test_nobody_at_the_endpoint(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """A server that is gone is one that cannot be reached, and it is named."""
    store = behind(swift_store, replace(proxy, endpoint="http://127.0.0.1:9"))
    with pytest.raises(UnreachableError, match=r"no answer from http://127\.0\.0\.1:9 for s3://"):
        store.get("k")


@pytest.mark.usefixtures("fresh_clients")
def test_a_server_that_never_answers(
    swift_store: S3Store, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that gets no answer is given up after its time limit and sent again."""
    monkeypatch.setattr(s3_client, "_TIME_LIMITS", {True: (1, 0.5), False: (1, 0.5)})
    proxy.faults = ["hang"]
    behind(swift_store, proxy).put("k", b"x")
    assert swift_store.get("k") == b"x"


def test_a_server_that_dribbles(
    swift_store: S3Store, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes now and then are no answer: the rest is asked for again."""
    monkeypatch.setattr(s3_body, "_STALL_SECONDS", 0.2)
    swift_store.put("k", BODY)
    proxy.method, proxy.faults = "GET", ["dribble"]
    assert behind(swift_store, proxy).get("k") == BODY
    assert proxy.requests.count("GET") == 2


@pytest.mark.parametrize("fault", ["cut", "cut_unsized", "unsized"])
@pytest.mark.parametrize("name", ["get", "tail", "range", "list"])
def test_a_body_is_whole_or_taken_up_where_it_broke(
    swift_store: S3Store, proxy: FaultyProxy, name: str, fault: str
) -> None:
    """A short body is told with and without its length in the answer; none is believed."""
    method, operation, result = OPERATIONS[name]
    swift_store.put("old", BODY)
    proxy.method, proxy.faults = method, [fault, fault]
    assert operation(behind(swift_store, proxy)) == result


def test_a_large_body_that_breaks_often(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """As long as it comes on, an object is read to its end however often it breaks."""
    body = random.Random(4).randbytes(9 * 2**20)
    swift_store.put("k", body)
    proxy.method, proxy.faults = "GET", ["cut"] * 8
    assert behind(swift_store, proxy, "source").get("k") == body


def test_replaced_while_it_was_read(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """Two versions of an object are never glued together; read whole, it is read anew."""
    swift_store.put("k", b"a" * 100_000)
    proxy.method, proxy.faults = "GET", ["cut"]
    with behind(swift_store, proxy).open("k") as found:
        swift_store.put("k", b"b" * 100_000)
        with pytest.raises(StoreError, match="replaced while it was read"):
            list(found.chunks())
    proxy.faults, proxy.meanwhile = ["cut"], lambda: None
    assert behind(swift_store, proxy).get("k") == b"b" * 100_000


def test_token_that_expires_is_done_without(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """A listing goes on at its last key where the store has forgotten the token of a page."""
    keys = sorted([*(f"many/{i:03}" for i in range(50)), "many/ö", "many/\U0001f600", "many/a b+"])
    for key in keys:
        swift_store.put(key, b"x")
    proxy.method, proxy.part, proxy.faults = "GET", "continuation-token", ["forgotten", "internal"]
    listed = behind(swift_store, proxy, page_keys=20).list("many/")
    assert [info.key for info in listed] == keys
    assert proxy.faults == []


@pytest.mark.slow
def test_listing_of_more_than_a_page_of_s3(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """1,205 keys in pages of the real size, of which the second fails at first."""
    keys = [f"many/{i:05}" for i in range(1205)]
    for key in keys:
        swift_store.put(key, b"")
    proxy.method, proxy.part, proxy.faults = "GET", "continuation-token", ["reset"]
    assert [info.key for info in behind(swift_store, proxy).list()] == keys


def test_copy_that_fails_in_its_answer(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """An error in the body of an answer of success is an error, and the copy is made again."""
    swift_store.put("old", BODY)
    proxy.faults = ["copy_error"]
    behind(swift_store, proxy).copy("old", "new")
    assert swift_store.get("new") == BODY


def test_copy_of_what_is_not_there(swift_store: S3Store) -> None:
    """A missing source is said so, and nothing is counted as a failure."""
    with pytest.raises(ObjectNotFoundError, match="no-such does not exist"):
        swift_store.copy("no-such", "new")
    assert "dataset.failures" not in TRAFFIC.take()


def test_copy_in_parts(
    swift_store: S3Store, proxy: FaultyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object above the limit of one copy request is copied in parts."""
    monkeypatch.setattr(s3, "_COPY_BYTES", PART_BYTES)
    body = random.Random(2).randbytes(12 * 2**20)
    (tmp_path / "body").write_bytes(body)
    store = behind(swift_store, proxy, part_bytes=PART_BYTES)
    store.upload("source", tmp_path / "body")
    proxy.part, proxy.faults = "target", ["too_large"]
    store.copy("source", "target")
    assert swift_store.get("target") == body


def test_upload_whose_part_fails_for_good_leaves_nothing(
    swift_store: S3Store, swift: S3Server, proxy: FaultyProxy, tmp_path: Path
) -> None:
    """A failed part is sent again; one that goes on failing aborts the upload, parts and all."""
    body = random.Random(2).randbytes(PART_BYTES + 1)
    (tmp_path / "body").write_bytes(body)
    store = behind(swift_store, proxy, part_bytes=PART_BYTES)
    proxy.part, proxy.faults = "partNumber=2", ["internal", "reset"]
    store.upload("big", tmp_path / "body")
    assert swift_store.get("big") == body
    proxy.always = "internal"
    with pytest.raises(StoreError, match="InternalError"):
        store.upload("never", tmp_path / "body")
    assert swift_store.head("never") is None
    left = swift.client().list_multipart_uploads(Bucket=store.bucket).get("Uploads", [])
    assert [upload for upload in left if upload["Key"].startswith(store.prefix)] == []


def test_lost_answer_of_a_losing_create(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """A creator whose answer was lost and who meets other bytes has lost."""
    swift_store.put("k", b"theirs")
    proxy.faults = ["lose_answer"]
    assert not behind(swift_store, proxy).create("k", b"mine")
    assert swift_store.get("k") == b"theirs"


def test_another_creates_between_two_attempts(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """A creator whose first attempt had no effect, and who is overtaken before the second."""
    proxy.faults, proxy.meanwhile = ["reset"], lambda: swift_store.create("k", b"theirs")
    assert not behind(swift_store, proxy).create("k", b"mine")


def test_every_answer_of_a_create_is_lost(
    swift_store: S3Store, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When retries are used up, what is in the store decides; without it, the error stands."""
    monkeypatch.setattr(patience, "MAX_RETRIES", 1)
    store = behind(swift_store, proxy)
    proxy.faults = ["lose_answer"] * 2
    assert store.create("k", b"mine")
    proxy.faults, proxy.meanwhile = ["reset"] * 2, lambda: swift_store.create("l", b"theirs")
    assert not store.create("l", b"mine")
    proxy.faults, proxy.meanwhile = ["slow_down"] * 2, lambda: None
    with pytest.raises(StoreError, match="SlowDown"):
        store.create("another", b"mine")
    assert swift_store.head("another") is None


def test_conflict_of_a_create(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """409 ConditionalRequestConflict means: try again, a few times."""
    proxy.faults = ["conflict", "conflict"]
    assert behind(swift_store, proxy).create("k", b"mine")
    proxy.always = "conflict"
    with pytest.raises(StoreError, match="ConditionalRequestConflict"):
        behind(swift_store, proxy).create("l", b"mine")


def test_create_that_meets_what_is_not_shown_yet(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """An object that is in the way, and is said not to exist, is looked for again."""
    swift_store.put("k", b"theirs")
    proxy.method, proxy.faults = "GET", ["missing"]
    assert not behind(swift_store, proxy).create("k", b"mine")
    proxy.always = "missing"
    with pytest.raises(StoreError, match="said to exist, and is not there"):
        behind(swift_store, proxy).create("k", b"mine")


@pytest.mark.parametrize(
    ("fault", "words"),
    [("unconditional", "does not honour create-if-absent"), ("no_condition", "create-if-absent")],
)
@pytest.mark.usefixtures("fresh_clients")
def test_store_without_conditional_puts(
    moto: S3Server, monkeypatch: pytest.MonkeyPatch, fault: str, words: str
) -> None:
    """A store that ignores the condition, or refuses it, is no destination; nothing is left."""
    use(moto, monkeypatch)
    with faulty_proxy(moto.endpoint) as proxy:
        proxy.always = fault
        store = S3Store(moto.make_bucket(), "", Connection(endpoint_url=proxy.endpoint))
        with pytest.raises(DestinationError, match=words) as caught:
            prove_writable(store)
        assert "\n" not in str(caught.value)
        proxy.always = None
        assert list(store.list()) == []


@pytest.mark.parametrize(("fault", "words"), [("skewed", "clock"), ("expired", "expired")])
def test_what_one_more_request_does_not_cure(
    swift_store: S3Store, proxy: FaultyProxy, waits: list[float], fault: str, words: str
) -> None:
    """A clock that is wrong, or a token that has expired and stays so, is told at once."""
    proxy.always = fault
    with pytest.raises(CredentialsError, match=words):
        behind(swift_store, proxy).put("k", b"x")
    assert len(waits) == 1


@pytest.mark.usefixtures("fresh_clients")
def test_credentials_that_are_renewed_go_on(
    swift: S3Server, swift_store: S3Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials that run out are asked for again by botocore, in the middle of the work."""
    for name in swift.environment:
        monkeypatch.delenv(name)
    with _credentials_of(swift, seconds=2) as (url, asked):
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)
        connection = replace(swift_store.connection, region=swift.region)
        store = S3Store(swift_store.bucket, swift_store.prefix, connection)
        for number in range(3):
            store.put(f"k{number}", b"x")
        assert len(list(store.list())) == 3
    assert len(asked) > 1


@pytest.mark.usefixtures("fresh_clients")
def test_credentials_that_somebody_rewrites_go_on(
    swift: S3Server,
    swift_store: S3Store,
    proxy: FaultyProxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Credentials in a file are read again once the store says that they have expired."""
    file = tmp_path / "credentials"

    def write(access_key: str) -> None:
        keys = f"aws_access_key_id={access_key}\naws_secret_access_key={swift.secret_key}\n"
        file.write_text(f"[default]\n{keys}")

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    write("test:former")
    store = behind(swift_store, proxy)
    proxy.faults = ["expired", "expired"]
    proxy.meanwhile = lambda: write(swift.access_key)
    store.put("k", b"x")
    assert swift_store.get("k") == b"x"


class _Credentials(BaseHTTPRequestHandler):
    """What the metadata service of a container answers."""

    server: HTTPServer

    def do_GET(self) -> None:
        """Give credentials that soon expire."""
        server, seconds, asked = self.server.facts  # type: ignore[attr-defined]
        asked.append(self.path)
        expires = datetime.now(UTC) + timedelta(seconds=seconds)
        body = {
            "AccessKeyId": server.access_key,
            "SecretAccessKey": server.secret_key,
            "Token": None,
            "Expiration": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_arguments: object) -> None:
        """Keep quiet."""


@contextmanager
def _credentials_of(server: S3Server, *, seconds: float) -> Iterator[tuple[str, list[str]]]:
    """Serve credentials that run out after so many seconds; yield the URL and the requests."""
    asked: list[str] = []
    http = HTTPServer(("127.0.0.1", 0), _Credentials)
    http.facts = (server, seconds, asked)  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}/role", asked
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def test_deleting_where_many_at_once_is_unknown(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """A store that does not know the request is asked object by object."""
    keys = [f"k{i}" for i in range(3)]
    for key in keys:
        swift_store.put(key, b"x")
    proxy.answers["unknown"] = (501, b"<Error><Code>NotImplemented</Code></Error>")
    proxy.method, proxy.faults = "POST", ["unknown"] * 8
    behind(swift_store, proxy).delete_many(keys)
    assert list(swift_store.list()) == []
    assert proxy.requests.count("DELETE") == 3


def test_objects_that_were_left_out_are_deleted_again(
    swift_store: S3Store, proxy: FaultyProxy
) -> None:
    """A deletion that succeeds but for some objects is no success: those are tried again."""
    for key in ("a", "b"):
        swift_store.put(key, b"x")
    errors = "".join(
        f"<Error><Key>{swift_store.prefix}{key}</Key><Code>InternalError</Code></Error>"
        for key in ("a", "b")
    )
    proxy.answers["partly"] = (200, f"<DeleteResult>{errors}</DeleteResult>".encode())
    proxy.method, proxy.faults = "POST", ["partly"]
    behind(swift_store, proxy).delete_many(["a", "b"])
    assert list(swift_store.list()) == []
    assert sorted(proxy.requests) == ["DELETE", "DELETE", "POST"]


def test_deleting_without_permission(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """A refusal is one error, not one per object."""
    proxy.answers["denied"] = (403, b"<Error><Code>AccessDenied</Code></Error>")
    proxy.method, proxy.faults = "POST", ["denied"]
    with pytest.raises(AccessDeniedError, match="DeleteObjects"):
        behind(swift_store, proxy).delete_many(["a", "b"])
    assert proxy.requests == ["POST"]
