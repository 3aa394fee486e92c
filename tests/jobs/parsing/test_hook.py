from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chunking.errors import ConfigError, DocumentError
from chunking.model import Document
from jobs.config import Config, LimitsConfig, ParserConfig
from jobs.config_load import load_config
from jobs.parsing.convert import convert
from jobs.parsing.hook import apply_hook, fix_hook, load_hook
from jobs.parsing.pool import ChildParser
from tests.jobs.parsing import hooks

TEXT = """# Harbour

Lead of the Harbour.

## Harbour dues

Cookie settings

- one Harbour
- Cookie two
- three

| Berth | Fee |
| --- | --- |
| Harbour | 12 |
| Quay | 7 |

```python
print("Harbour")
```

Last words.
"""


@pytest.fixture
def document(tmp_path: Path) -> Document:
    """Return a document with a block of most kinds."""
    path = tmp_path / "document"
    path.write_text(TEXT, encoding="utf-8")
    return convert(path, format="md", name="a.md", settings=ParserConfig()).document


def hooked(document: Document, hook: Callable[..., None]) -> Document:
    """Return what a hook leaves of a document."""
    return apply_hook(hook, document, name="hooks:it", key="ops/a.md", format="md")


def texts(document: Document) -> list[str]:
    """Return the texts of its blocks."""
    return [document.text[block.start : block.end] for block in document.blocks]


def test_a_hook_that_does_nothing_changes_nothing(document: Document) -> None:
    """The draft taken back unchanged gives the same document."""
    assert hooked(document, hooks.nothing) == document


def test_text_and_metadata_are_changed_and_offsets_hold(document: Document) -> None:
    """Spans, row starts, gaps and heading paths are those of the new text."""
    changed = hooked(document, hooks.tidy)
    assert changed.text == (
        "Port of Lindö\n\nLead of the Port of Lindö.\n\nPort of Lindö dues\n\n"
        "- one Port of Lindö\n- three\n\n"
        "| Berth | Fee |\n| --- | --- |\n| Port of Lindö | 12 |\n| Quay | 7 |\n\n"
        '```python\nprint("Port of Lindö")\n```\n\nLast words.'
    )
    assert changed.metadata == {"team": "ops", "seen": "md"}
    table = next(block for block in changed.blocks if block.kind == "table")
    rows = [changed.text[a : a + 9] for a in table.row_starts]
    assert rows == ["| Berth |", "| Port of", "| Quay | "]
    assert table.heading_path == ("Port of Lindö", "Port of Lindö dues")
    assert [block.kind for block in changed.blocks] == [
        block.kind
        for block, text in zip(document.blocks, texts(document), strict=True)
        if "Cookie" not in text
    ]


def test_blank_lines_and_damaged_characters_of_a_hook_are_mended(document: Document) -> None:
    """No part can hold what would end a block, or is no text."""
    changed = hooked(document, hooks.blanks)
    assert "\x00" not in changed.text
    assert all("\n\n" not in text and text == text.rstrip() for text in texts(changed))
    assert len(changed.blocks) == len(document.blocks)
    assert all(block.heading_path[0] == texts(changed)[0] for block in changed.blocks[1:])


def test_a_document_may_lose_everything(document: Document) -> None:
    """No part left is a document without text."""
    changed = hooked(document, hooks.empties)
    assert (changed.text, changed.blocks) == ("", ())


def test_a_table_may_get_rows(document: Document) -> None:
    """Row starts are those of the lines that the hook left."""
    changed = hooked(document, hooks.grows)
    table = next(block for block in changed.blocks if block.kind == "table")
    assert changed.text[table.row_starts[-1] : table.end] == "| new | row |"


@pytest.mark.parametrize(
    "hook",
    [hooks.doubles, hooks.turns, hooks.adds, hooks.opens, hooks.breaks, hooks.returns],
    ids=lambda hook: str(hook.__name__),
)
def test_what_is_no_document_any_more_is_refused(
    document: Document, hook: Callable[..., None]
) -> None:
    """A hook that adds, moves or breaks parts fails the document, not its chunks."""
    with pytest.raises(DocumentError, match=r"^parser\.hook hooks:it: ") as caught:
        hooked(document, hook)
    assert caught.value.kind == "internal"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_such_module:tidy", "cannot be imported .*PYTHONPATH"),
        (f"{hooks.__name__}:no_such_function", "has no function no_such_function"),
        (f"{hooks.__name__}:NOT_CALLABLE", "has no function NOT_CALLABLE"),
    ],
)
def test_a_hook_that_is_not_there_is_said_at_the_start(name: str, reason: str) -> None:
    """One line says which module or function, and what to do."""
    with pytest.raises(ConfigError, match=reason):
        load_hook(name)


def test_the_name_is_a_module_and_a_function() -> None:
    """Anything else is refused with the configuration."""
    with pytest.raises(ConfigError, match=r"parser\.hook"):
        load_config(None, ["parser.hook=tidy"])


def test_the_version_is_that_of_the_file_unless_given() -> None:
    """A changed hook makes documents be read again; without one, nothing changes."""
    plain, hook = Config(), load_config(None, [f"parser.hook={hooks.__name__}:tidy"])
    assert fix_hook(plain) == plain
    fixed = fix_hook(hook)
    assert fixed.parser.hook_version
    assert fixed.fingerprint("r") != hook.fingerprint("r") != plain.fingerprint("r")
    own = load_config(None, [f"parser.hook={hooks.__name__}:tidy", "parser.hook_version=2"])
    assert fix_hook(own).parser.hook_version == "2"


@pytest.fixture
def parser_of() -> Iterator[Callable[[str], ChildParser]]:
    """Make parsers with a hook; all are closed at the end."""
    made: list[ChildParser] = []

    def make(hook: str) -> ChildParser:
        config = ParserConfig.model_validate({"hook": f"{hooks.__name__}:{hook}"})
        limits = LimitsConfig.model_validate({"document_seconds": 5.0})
        made.append(ChildParser(config, limits, preload=None))
        return made[-1]

    yield make
    for parser in made:
        parser.close()


def test_a_hook_runs_in_the_child(parser_of: Callable[..., ChildParser], tmp_path: Path) -> None:
    """The parser's outcome is the hooked document."""
    path = tmp_path / "a"
    path.write_text(TEXT, encoding="utf-8")
    outcome = parser_of("tidy").parse(path, name="ops/a.md")
    assert outcome.status == "ok"
    assert outcome.document is not None
    assert outcome.document.metadata["team"] == "ops"
    assert outcome.document.text.startswith("Port of Lindö")


def test_a_hook_that_fails_costs_its_document(
    parser_of: Callable[..., ChildParser], tmp_path: Path
) -> None:
    """What it raises is the document's error in one line; the next document is untouched."""
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text("Fine.", encoding="utf-8")
    bad.write_text("Please raise.", encoding="utf-8")
    parser = parser_of("fails")
    outcomes = [parser.parse(path, name=path.name) for path in (bad, good)]
    assert [outcome.status for outcome in outcomes] == ["failed", "ok"]
    assert outcomes[0].error_kind == "internal"
    assert outcomes[0].error_message == (
        f"parser.hook {hooks.__name__}:fails: LookupError: no such owner"
    )


@pytest.mark.parametrize(("hook", "kind"), [("hangs", "timeout"), ("connects", "internal")])
def test_a_hook_is_held_to_the_limits(
    parser_of: Callable[..., ChildParser], tmp_path: Path, hook: str, kind: str
) -> None:
    """Time and network are the parser's own."""
    path = tmp_path / "a"
    path.write_text("Words.", encoding="utf-8")
    outcome = parser_of(hook).parse(path, name="a")
    assert (outcome.status, outcome.error_kind) == ("failed", kind)
