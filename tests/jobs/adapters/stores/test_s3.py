"""What only S3 stores do: errors by their codes, lost answers, broken bodies, credentials."""

from __future__ import annotations

import pickle
import random
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chunking.errors import AccessDeniedError, ConfigError, DestinationError, StoreError
from jobs.adapters.stores import open_store, prove_writable, s3
from jobs.adapters.stores.base import CredentialsError, NoSuchRootError, UnreachableError
from jobs.adapters.stores.s3 import S3Store
from jobs.adapters.stores.s3_client import Connection
from jobs.config import SourceConfig
from tests.faults import FaultyProxy, faulty_proxy
from tests.servers import S3Server

pytestmark = pytest.mark.s3


@pytest.fixture
def swift_store(
    swift: S3Server, buckets: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> S3Store:
    """Give an empty prefix on the server that checks signatures."""
    for name, value in swift.environment.items():
        monkeypatch.setenv(name, value)
    bucket = buckets.get(swift.endpoint) or swift.make_bucket()
    buckets[swift.endpoint] = bucket
    return S3Store(bucket, f"{random.getrandbits(64):x}/", Connection(endpoint_url=swift.endpoint))


@pytest.fixture
def proxy(swift: S3Server) -> Iterator[FaultyProxy]:
    """Run a proxy that breaks requests on their way to Swift."""
    with faulty_proxy(swift.endpoint) as running:
        yield running


def behind(store: S3Store, proxy: FaultyProxy) -> S3Store:
    """Return the same store, reached through the proxy."""
    connection = replace(store.connection, endpoint_url=proxy.endpoint)
    return S3Store(store.bucket, store.prefix, connection)


def test_destination_is_proved(s3_store: S3Store) -> None:
    """Both servers honour create-if-absent, and the proof leaves nothing behind."""
    prove_writable(s3_store)
    assert list(s3_store.list()) == []


def test_newline_in_a_key(swift_store: S3Store) -> None:
    """A key may hold any character that XML can carry, and some that it cannot."""
    for key in ("new\nline", "return\rkey", "control\x01key"):
        swift_store.put(key, b"x")
        assert [info.key for info in swift_store.list(key)] == [key]
        assert swift_store.get(key) == b"x"


def test_copy_in_parts(s3_store: S3Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object above the limit of one copy request is copied in parts."""
    monkeypatch.setattr(s3, "_COPY_BYTES", 5 * 2**20)
    body = random.Random(2).randbytes(12 * 2**20)
    (tmp_path / "body").write_bytes(body)
    s3_store.upload("source", tmp_path / "body")
    s3_store.copy("source", "target")
    assert s3_store.get("target") == body


def test_pickled_store_works(s3_store: S3Store) -> None:
    """A store that was used can be sent to a worker, and holds no credential."""
    s3_store.put("a", b"x")
    data = pickle.dumps(s3_store)
    assert b"testing" not in data
    assert pickle.loads(data).get("a") == b"x"  # noqa: S301 - our own bytes


def test_wrong_bucket(swift_store: S3Store) -> None:
    """A bucket that does not exist is named."""
    store = S3Store("no-such-bucket-here", "", swift_store.connection)
    with pytest.raises(NoSuchRootError, match="no-such-bucket-here/ does not exist"):
        store.check()
    with pytest.raises(DestinationError, match="does not exist"):
        prove_writable(store)


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("AWS_ACCESS_KEY_ID", "test:nobody", "access key|not permit|signature|secret"),
        ("AWS_SECRET_ACCESS_KEY", "wrong", "secret key does not fit"),
    ],
)
@pytest.mark.usefixtures("fresh_clients")
def test_wrong_credentials(
    swift_store: S3Store, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, reason: str
) -> None:
    """A wrong key id and a wrong secret are told apart, by whatever request comes first."""
    monkeypatch.setenv(variable, value)
    calls = (swift_store.check, lambda: swift_store.get("x"), lambda: swift_store.head("x"))
    for call in calls:
        with pytest.raises(CredentialsError, match=reason):
            call()


@pytest.mark.usefixtures("fresh_clients")
def test_no_permission(swift_store: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without rights is refused, in one line without a secret."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test:reader")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "reading")
    with pytest.raises(AccessDeniedError) as caught:
        swift_store.check()
    assert not isinstance(caught.value, CredentialsError)
    assert "\n" not in str(caught.value)
    assert "reading" not in str(caught.value)
    with pytest.raises(DestinationError, match="cannot write to s3://"):
        prove_writable(swift_store)


@pytest.mark.usefixtures("fresh_clients")
def test_no_credentials(swift_store: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any credentials the message says where they are looked for."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(CredentialsError, match="AWS_ACCESS_KEY_ID"):
        swift_store.check()


@pytest.mark.usefixtures("fresh_clients")
def test_unknown_profile(swift_store: S3Store) -> None:
    """A profile that does not exist is a configuration error."""
    connection = replace(swift_store.connection, profile="nobody")
    with pytest.raises(ConfigError, match="nobody"):
        S3Store(swift_store.bucket, "", connection).check()


@pytest.mark.usefixtures("fresh_clients")
def test_profile(
    swift: S3Server, swift_store: S3Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials come from a profile where one is named."""
    for name in swift.environment:
        monkeypatch.delenv(name)
    (tmp_path / "credentials").write_text(
        f"[team]\naws_access_key_id={swift.access_key}\naws_secret_access_key={swift.secret_key}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    connection = replace(swift_store.connection, profile="team", region=swift.region)
    S3Store(swift_store.bucket, "", connection).check()


@pytest.mark.usefixtures("fresh_clients")
def test_anonymous(moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """An anonymous request carries no signature and needs no credentials."""
    bucket = moto.make_bucket()
    moto.client().put_object(Bucket=bucket, Key="k", Body=b"x", ACL="public-read")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    source = SourceConfig(endpoint_url=moto.endpoint)
    assert open_store(f"s3://{bucket}", source, anonymous=True).get("k") == b"x"


def test_endpoint_that_refuses() -> None:
    """Nobody at the endpoint: an error within seconds that names it."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}"
    source = SourceConfig(endpoint_url=endpoint)
    with pytest.raises(UnreachableError, match=endpoint):
        open_store("s3://bucket", source, anonymous=True).check()  # type: ignore[attr-defined]


def test_endpoint_that_is_no_store() -> None:
    """Something else at the endpoint is an error of the store, not a crash."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_answer_nonsense, args=(listener,), daemon=True).start()
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(StoreError):
            S3Store("bucket", "", Connection(endpoint_url=endpoint, anonymous=True)).check()


def _answer_nonsense(listener: socket.socket) -> None:
    for _ in range(4):
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.recv(65536)
            connection.sendall(b"SSH-2.0-server\r\n")


def test_bad_endpoint_url() -> None:
    """An endpoint without a scheme is refused by name."""
    with pytest.raises(ConfigError, match="no credentials") as caught:
        open_store("s3://bucket", SourceConfig(endpoint_url="https://user:secret@host"))
    assert "secret" not in str(caught.value)
    for url in ("localhost:9000", "ftp://host", "https://"):
        with pytest.raises(ConfigError, match=re.escape(url)):
            open_store("s3://bucket", SourceConfig(endpoint_url=url))


def test_throttling_is_waited_out(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """503 SlowDown is tried again, by botocore alone."""
    proxy.faults = ["slow_down"]
    behind(swift_store, proxy).put("k", b"x")
    assert swift_store.get("k") == b"x"
    assert proxy.requests == ["PUT", "PUT"]


def test_lost_answer_of_a_create(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """A creator whose answer was lost meets its own bytes and has won."""
    proxy.faults = ["lose_answer"]
    assert behind(swift_store, proxy).create("k", b"mine")
    assert swift_store.get("k") == b"mine"


def test_lost_answer_of_a_losing_create(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """A creator whose answer was lost and who meets other bytes has lost."""
    swift_store.put("k", b"theirs")
    proxy.faults = ["lose_answer"]
    assert not behind(swift_store, proxy).create("k", b"mine")
    assert swift_store.get("k") == b"theirs"


def test_every_answer_of_a_create_is_lost(
    swift_store: S3Store, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When retries are used up, what is in the store decides."""
    store = behind(swift_store, proxy)
    monkeypatch.setattr(
        S3Store,
        "request",
        lambda self, name, key, **more: getattr(self.connection.client(attempts=2), name)(
            Bucket=self.bucket, Key=self.prefix + key, **more
        ),
    )
    proxy.faults = ["lose_answer"] * 2
    assert store.create("k", b"mine")
    proxy.faults = ["slow_down"] * 2
    with pytest.raises(StoreError, match="SlowDown"):
        store.create("another", b"mine")
    assert swift_store.head("another") is None


def test_conflict_of_a_create(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """409 ConditionalRequestConflict means: try again."""
    proxy.faults = ["conflict", "conflict"]
    assert behind(swift_store, proxy).create("k", b"mine")


def test_body_cut_half_way(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """A body that breaks off is taken up where it broke."""
    body = random.Random(3).randbytes(3 * 2**20 + 5)
    swift_store.put("k", body)
    proxy.method, proxy.faults = "GET", ["cut", "cut"]
    assert behind(swift_store, proxy).get("k") == body
    assert proxy.requests.count("GET") == 3


def test_replaced_while_it_was_read(swift_store: S3Store, proxy: FaultyProxy) -> None:
    """Two versions of an object are never glued together."""
    swift_store.put("k", b"a" * 100_000)
    proxy.method, proxy.faults = "GET", ["cut"]
    with behind(swift_store, proxy).open("k") as found:
        swift_store.put("k", b"b" * 100_000)
        with pytest.raises(StoreError, match="replaced while it was read"):
            list(found.chunks())


def test_store_that_ignores_the_condition(moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that lets the second creator win is refused as a destination."""
    for name, value in moto.environment.items():
        monkeypatch.setenv(name, value)
    store = S3Store(moto.make_bucket(), "", Connection(endpoint_url=moto.endpoint))

    def unconditional(self: S3Store, name: str, key: str, **arguments: object) -> object:
        arguments.pop("IfNoneMatch", None)
        return getattr(self.connection.client(), name)(
            Bucket=self.bucket, Key=self.prefix + key, **arguments
        )

    monkeypatch.setattr(S3Store, "request", unconditional)
    with pytest.raises(DestinationError, match="create-if-absent"):
        prove_writable(store)
    assert list(store.list()) == []


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
