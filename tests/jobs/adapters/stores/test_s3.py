"""What only S3 stores do: errors by their codes, lost answers, broken bodies, credentials."""

from __future__ import annotations

import pickle
import re
import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from chunking.errors import AccessDeniedError, ConfigError, DestinationError, StoreError
from jobs.adapters.stores import open_store, prove_writable
from jobs.adapters.stores.base import CredentialsError, NoSuchRootError, UnreachableError
from jobs.adapters.stores.s3 import S3Store
from jobs.adapters.stores.s3_client import Connection
from jobs.config import SourceConfig
from tests.servers import S3Server

pytestmark = pytest.mark.s3


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
