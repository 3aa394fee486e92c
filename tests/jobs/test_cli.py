"""Every end of the program is one line and an exit code."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

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


@pytest.mark.parametrize("command", ["run", "status", "inspect", "config show", "config check"])
def test_every_command_takes_the_option_that_a_defect_names(command: str) -> None:
    """``-v`` shows the traceback, as the line about a defect says, whatever was run."""
    done = CliRunner().invoke(cli.app, [*command.split(), "-v", "--help"])
    assert done.exit_code == 0
    assert "--verbose" in done.output


def test_a_traceback_is_shown_where_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With ``-v`` the traceback stands above the line."""
    monkeypatch.setattr(sys, "argv", ["chunkmill", "config", "check", "-v", "--set", "a"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    *above, line = capsys.readouterr().err.splitlines()
    assert above[0].startswith("Traceback")
    assert line.startswith("chunkmill: --set 'a'")


def test_verify_takes_the_option_that_the_line_about_defects_names() -> None:
    """The verifier's own options are its own; the traceback is the program's."""
    done = CliRunner().invoke(cli.app, ["verify", "-v", "no/such/folder"])
    assert done.exit_code == 2
