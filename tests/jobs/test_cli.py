"""Every end of the program is one line and an exit code."""

from __future__ import annotations

import sys

import pytest

from chunking.errors import ConfigError, StoreError
from jobs import cli


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigError("wrong key"), 2), (StoreError("store away"), 1), (KeyError("defect"), 1)],
)
def test_errors_are_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    code: int,
) -> None:
    """Usage errors end in 2, all others in 1; a defect hides its traceback, not its name."""

    def fail() -> None:
        raise error

    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.setattr(sys, "argv", ["chunkmill", "run"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    told = capsys.readouterr().err
    assert told.startswith("chunkmill: ")
    assert len(told.splitlines()) == 1
    assert str(error.args[0]) in told
