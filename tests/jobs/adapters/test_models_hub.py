"""Models of the hub: one commit for all, fetched once a node; a small hub of our own serves it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from chunking.errors import ModelError
from jobs.adapters import embedders
from jobs.adapters.embedders import make_embedder, settle
from jobs.adapters.hash_embedder import HashEmbedder
from jobs.adapters.model_files import is_of_hub
from jobs.config import Config, ModelConfig
from tests.job_runs import CHECKOUT
from tests.models import tiny_bert

FIRST, SECOND = "a" * 40, "b" * 40
FILES = {"config.json": b"{}", "model.safetensors": b"weights", "onnx/model.onnx": b"not wanted"}
_LOCATE = (
    "import sys; from jobs.adapters.model_files import locate; "
    "sys.stdin.readline(); print(locate(sys.argv[1], sys.argv[2] or None))"
)


class Hub(ThreadingHTTPServer):
    """Serves one model; ``main`` is the newest commit; ``asked`` counts files sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.main = FIRST
        self.asked: Counter[str] = Counter()

    @property
    def url(self) -> str:
        """Its endpoint."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        """Say what a file is."""
        self._answer(with_body=False)

    def do_GET(self) -> None:
        """Send a file, or the facts of the model."""
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        if path.startswith("/api/models/some/model/tree/"):
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": name}
                for name, data in FILES.items()
            ]
            self._send(json.dumps(tree).encode(), {"Content-Type": "application/json"}, with_body)
            return
        if path.startswith("/api/models/some/model"):
            revision = path.rpartition("/revision/")[2] if "/revision/" in path else "main"
            sha = self.server.main if revision == "main" else revision
            facts = {"id": "some/model", "sha": sha, "siblings": [{"rfilename": f} for f in FILES]}
            self._send(json.dumps(facts).encode(), {"Content-Type": "application/json"}, with_body)
            return
        _, _, rest = path.partition("/some/model/resolve/")
        commit, _, name = rest.partition("/")
        if name not in FILES:
            self.send_error(404)
            return
        if with_body:
            self.server.asked[f"{commit}/{name}"] += 1
            time.sleep(0.3)  # as long as it takes for others to want it too
        self._send(FILES[name], {"X-Repo-Commit": commit, "ETag": f'"{commit}{name}"'}, with_body)

    def _send(self, body: bytes, headers: dict[str, str], with_body: bool) -> None:  # noqa: FBT001
        self.send_response(200)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    """Serve the model for a test."""
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def start(
    endpoint: str, cache: Path, revision: str = "", *, offline: bool = False
) -> subprocess.Popen[str]:
    """Start a process that locates the model once a line reaches it."""
    own = {"HF_ENDPOINT": endpoint, "HF_HOME": str(cache), "HF_HUB_OFFLINE": str(int(offline))}
    return subprocess.Popen(
        [sys.executable, "-c", _LOCATE, "some/model", revision],
        cwd=CHECKOUT,
        env={**os.environ, **own, "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_XET": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def found(process: subprocess.Popen[str]) -> Path:
    """Let a process go on; return what it found."""
    out, err = process.communicate("\n", timeout=300)
    assert process.returncode == 0, err
    return Path(out.strip())


def test_processes_of_a_node_fetch_a_model_once(hub: Hub, tmp_path: Path) -> None:
    """All at the same time: each file is sent once, nobody loads half a model; then no network."""
    waiting = [start(hub.url, tmp_path) for _ in range(3)]
    threads: list[threading.Thread] = []
    paths: list[Path] = []
    for process in waiting:
        thread = threading.Thread(target=lambda p=process: paths.append(found(p)))
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
    assert len(paths) == 3
    (path,) = set(paths)
    assert path.name == FIRST
    assert (path / "model.safetensors").read_bytes() == b"weights"
    assert not (path / "onnx").exists()
    assert hub.asked == {f"{FIRST}/config.json": 1, f"{FIRST}/model.safetensors": 1}

    hub.main = SECOND
    nowhere = "http://127.0.0.1:9"
    pinned = start(nowhere, tmp_path, FIRST)
    offline = start(nowhere, tmp_path, offline=True)
    moved = start(hub.url, tmp_path)
    assert found(pinned) == path
    assert found(offline) == path
    assert found(moved).name == SECOND


def test_half_a_model_is_fetched_to_its_end(hub: Hub, tmp_path: Path) -> None:
    """A snapshot of which a process died half-way is there, but not taken for the whole."""
    half = tmp_path / "hub" / "models--some--model" / "snapshots" / FIRST
    half.mkdir(parents=True)
    (half / "config.json").write_bytes(b"{}")
    assert (found(start(hub.url, tmp_path, FIRST)) / "model.safetensors").is_file()


def test_which_names_are_of_the_hub(tmp_path: Path) -> None:
    """An id is; the model in a package and a folder are not, and are never pinned."""
    assert is_of_hub("some/model")
    assert not is_of_hub("bundled:all-MiniLM-L6-v2")
    assert not is_of_hub(str(tmp_path))
    for name in (str(tmp_path), "bundled:all-MiniLM-L6-v2", "hash:8"):
        config = Config(model=ModelConfig(name=name))
        assert settle(config, HashEmbedder(ModelConfig(name="hash:8")))[0] == config


def test_the_commit_that_was_loaded_goes_to_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A branch, or nothing, is replaced by the commit; the fingerprint does not change by it."""
    snapshot = tmp_path / "models--some--model" / "snapshots" / FIRST
    snapshot.parent.mkdir(parents=True)
    tiny_bert(tmp_path / "made").rename(snapshot)
    monkeypatch.setattr(embedders, "locate", lambda *_: snapshot)
    monkeypatch.setattr("jobs.adapters.sentence_transformer.locate", lambda *_: snapshot)
    for revision in (None, "main"):
        config = Config(model=ModelConfig(name="some/model", revision=revision, dtype="float32"))
        settled, _ = settle(config, make_embedder(config, threads=1))
        assert settled.model.revision == FIRST
        assert settled.fingerprint(FIRST) == config.fingerprint(FIRST)


def write_code(folder: Path) -> Path:
    """Make a model whose transformer is code of its own in its folder."""
    path = tiny_bert(folder)
    (path / "modeling_own.py").write_text(
        "from transformers import BertConfig, BertModel\n\n\n"
        'class OwnConfig(BertConfig):\n    model_type = "chunkmill_own"\n\n\n'
        "class OwnModel(BertModel):\n    config_class = OwnConfig\n"
    )
    config = json.loads((path / "config.json").read_text())
    config |= {
        "model_type": "chunkmill_own",
        "architectures": ["OwnModel"],
        "auto_map": {
            "AutoConfig": "modeling_own.OwnConfig",
            "AutoModel": "modeling_own.OwnModel",
        },
    }
    (path / "config.json").write_text(json.dumps(config))
    return path


def test_code_of_a_model_is_run_only_if_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without leave it is one clear line that names the key; with it the model works."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "m"))
    path = write_code(tmp_path)
    config = Config(model=ModelConfig(name=str(path), dtype="float32"))
    with pytest.raises(ModelError, match=r"set model\.trust_remote_code=true") as caught:
        make_embedder(config, threads=1)
    assert "\n" not in str(caught.value)
    allowed = config.model.model_copy(update={"trust_remote_code": True})
    embedder = make_embedder(config.model_copy(update={"model": allowed}), threads=1)
    assert embedder.embed_texts(["A river stone."]).shape == (1, 32)
    assert embedder.supports_late


def test_modules_of_a_models_own_are_refused_too(tmp_path: Path) -> None:
    """A module that sentence-transformers does not have would be code of the model."""
    path = tiny_bert(tmp_path)
    modules = json.loads((path / "modules.json").read_text())
    modules[1]["type"] = "own_pooling.Pooling"
    (path / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ModelError, match="trust_remote_code"):
        make_embedder(Config(model=ModelConfig(name=str(path))), threads=1)


def test_code_that_the_library_has_by_now_is_not_needed(tmp_path: Path) -> None:
    """A model that still names its code works without it where the architecture is known."""
    path = tiny_bert(tmp_path)
    config = json.loads((path / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "modeling_gone.Gone"}
    (path / "config.json").write_text(json.dumps(config))
    embedder = make_embedder(Config(model=ModelConfig(name=str(path), dtype="float32")), threads=1)
    assert embedder.embed_texts(["A river stone."]).shape == (1, 32)
