"""Glob patterns on keys."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.globs import KeyFilter, glob_regex, has_magic, literal_start, split_magic


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.md", ["a.md", ".md"], ["a/b.md", "a.mdx", "a.MD"]),
        ("**/*.md", ["a.md", "a/b.md", "a/b/c.md"], ["a.txt"]),
        ("**", ["a", "a/b", ""], []),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a/c"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]),
        ("a**b", ["ab", "a/x/b"], ["a/x/c"]),
        ("?.md", ["a.md", "é.md"], ["/.md", ".md", "ab.md"]),
        ("[abc]", ["a", "c"], ["d", "ab"]),
        ("[a-c]x", ["bx"], ["dx"]),
        ("[!a-c]x", ["dx"], ["bx", "/x"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[^a]", ["^", "a"], ["b"]),
        ("[[]x]", ["[x]"], ["x"]),
        ("[", ["["], ["x"]),
        ("a.b+c(d)", ["a.b+c(d)"], ["aXb+c(d)", "a.bbc(d)"]),
        ("new\nline*", ["new\nline\n!"], ["new"]),
    ],
)
def test_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    """Stars stay in a component, double stars do not, all else is literal."""
    assert all(glob_regex(pattern).fullmatch(key) for key in yes)
    assert not any(glob_regex(pattern).fullmatch(key) for key in no)


@settings(deadline=None, max_examples=60)
@given(st.text(st.characters(exclude_characters="*?[", exclude_categories=["Cs"]), max_size=20))
def test_text_without_magic_matches_itself(text: str) -> None:
    """A pattern without a glob character matches its own text alone."""
    assert not has_magic(text)
    assert glob_regex(text).fullmatch(text)
    assert not glob_regex(text).fullmatch(text + "x")
    assert split_magic(text) == (text, "")
    assert literal_start(text) == text


def test_split() -> None:
    """The folder above the first pattern is where a listing begins."""
    assert split_magic("/a/b/*.md") == ("/a/b/", "*.md")
    assert split_magic("/a/b[1]/c") == ("/a/", "b[1]/c")
    assert split_magic("*") == ("", "*")
    assert literal_start("2024-*/x") == "2024-"


def test_rules() -> None:
    """Markers and the files that systems leave behind are no documents, whatever is included."""
    every = KeyFilter()
    assert not any(
        every.takes(key, 0) for key in ("a/", ".DS_Store", "x/.DS_Store", "Thumbs.db", "~$a.docx")
    )
    assert all(every.takes(key, 1) for key in ("a/", ".hidden", "x.DS_Store", "a~$b", "thumbs.db"))
    some = KeyFilter(include=("docs/",), exclude=("*.tmp", "docs/old/**"))
    assert some.takes("docs/a.md", 1)
    assert not some.takes("docs/a.tmp", 1)
    assert not some.takes("docs/old/a.md", 1)
    assert not some.takes("a.md", 1)
    assert some.skips_folder("docs/old/")
    assert not some.skips_folder("docs/")
