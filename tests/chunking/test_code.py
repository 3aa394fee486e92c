"""Code: whole where it fits, cut at definitions and blank lines, named by its file."""

from __future__ import annotations

import pytest

from chunking.code import line_costs, read_info
from chunking.model import BlockKind
from chunking.settings import ChunkingSettings, Strategy
from chunking.splitting import line_starts
from tests.chunking.laws import violations
from tests.chunking.making import STRATEGIES, built, chunked, texts
from tests.chunking.strategies import ADDITIVE, DocumentBuilder


def test_code_is_cut_at_blank_lines_and_keeps_its_tabs() -> None:
    """Code above the cap is cut between definitions; every character stays."""
    body = "\n\n".join(f"def f{i}(x):\n\ty = x + {i}\n\treturn y * x" for i in range(40))
    code = f"```py\n{body}\n```"
    document = built(("paragraph", "Code:"), ("code", code))
    units, chunks = chunked(document, ChunkingSettings())
    assert not violations(document, units, chunks, ChunkingSettings(), ADDITIVE.count)
    assert all(text.startswith("def f") for text in texts(document, chunks)[1:])
    assert "\ty = x + 7" in "".join(texts(document, chunks))


def test_a_comment_in_code_is_no_heading() -> None:
    """A line that looks like a heading inside a fence stays in its block."""
    document = built(("heading", "Install"), ("code", "```sh\n# fetch\nmake\n```"))
    (chunk,) = chunked(document, ChunkingSettings())[1]
    assert (chunk.kind, chunk.heading_path) == ("code", ("Install",))


def cheapest(code: str) -> list[str]:
    """Return the lines before which a cut of code costs least, the first line left out."""
    starts = line_starts(code, 0, len(code))
    costs = line_costs(code, starts, len(code))[1:]
    low = min(costs)
    lines = [code[start:].split("\n", 1)[0] for start in starts[1:]]
    return [line for line, cost in zip(lines, costs, strict=True) if cost == low]


FAMILIES = {
    "python": (
        "import os\n\nX\n\n# of a\n@cache\ndef a(x):\n    y\n\n    return y\n\nclass B:\n    c = 1",
        ["# of a", "class B:"],
    ),
    "braces": (
        "use x;\n\n/// of a\n#[inline]\npub fn a() {\n    b();\n\n    c();\n}\nimpl B {\n    d\n}",
        ["/// of a", "impl B {"],
    ),
    "c": (
        "#include <a>\n\nint n;\n\n/* of a */\nint a(int x)\n{\n  return x;\n}\nvoid b(int y) {\n}",
        ["/* of a */", "void b(int y) {"],
    ),
    "javascript": (
        "export const a = async (x) => {\n}\n// of b\nfunction b() {\n}\nexport default class C {",
        ["// of b", "export default class C {"],
    ),
    "ruby": (
        "require 'a'\n\nmodule A\n  x\nend\ndef b\n  if c\n    d\n  else\n    e\n  end\nend",
        ["module A", "def b"],
    ),
    "shell": ("set -e\n\na() {\n  ls\n}\n\nfunction b {\n  ls\n}", ["a() {", "function b {"]),
    "sql": (
        "SELECT 1;\n\nCREATE OR REPLACE FUNCTION a() AS\n  x;\nCREATE TABLE b (\n  c int\n);",
        ["CREATE OR REPLACE FUNCTION a() AS", "CREATE TABLE b ("],
    ),
    "toml": ("a = 1\n\n[tool.b]\nc = 2\n[[d]]\ne = 3", ["[tool.b]", "[[d]]"]),
    "css": ("@import x;\n\nbody {\n  a: b;\n}\n.c > d {\n  e: f;\n}", ["body {", ".c > d {"]),
    "none": ("one\n  two\n\nthree\n  four", ["three"]),
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_definitions_are_the_best_places(family: str) -> None:
    """A cut costs least before a definition, its comments and decorators on the same side."""
    code, best = FAMILIES[family]
    assert cheapest(code) == best


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_comments_and_decorators_stay_with_their_definition(boundaries: Strategy) -> None:
    """Under every strategy a chunk begins with the comment, never between it and the code."""
    parts = [
        f"# of f{i}\n# more of it\n@cached\ndef f{i}(x):\n\ty = x + {i}\n\treturn y * x"
        for i in range(40)
    ]
    document = built(("code", "```py\n" + "\n\n".join(parts) + "\n```"))
    chosen = ChunkingSettings(boundaries=boundaries)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    found = texts(document, chunks)
    assert len(found) > 5
    assert all(text.startswith("# of f") for text in found[1:])
    assert found[-1].endswith("x\n```")


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_no_chunk_is_a_lone_fence(boundaries: Strategy) -> None:
    """The opening fence stays with the first line, the closing one with the last."""
    for n in range(36, 44):
        lines = [f"value_{i} = {i}" for i in range(n)]
        document = built(
            ("paragraph", "It rained all day. " * 12), ("code", "\n".join(["```", *lines, "```"]))
        )
        chosen = ChunkingSettings(boundaries=boundaries, min_tokens=0)
        units, chunks = chunked(document, chosen)
        assert not violations(document, units, chunks, chosen, ADDITIVE.count)
        assert not any(text.strip("`") in ("", "\n") for text in texts(document, chunks))
        assert not any(text.endswith("day.\n\n```") for text in texts(document, chunks))


INFO = {
    "python": ("python", None),
    "C++": ("c++", None),
    'python title="src/a.py"': ("python", "src/a.py"),
    "ts {title: 'a b.ts'}": ("ts", "a b.ts"),
    '{.python filename="a.py"}': ("python", "a.py"),
    '{filename="x.rs"}': (None, "x.rs"),
    "js:src/app.js": ("js", "src/app.js"),
    "python src/a.py": ("python", "src/a.py"),
    "src/a.py": (None, "src/a.py"),
    "Dockerfile": (None, "Dockerfile"),
    "json {1,3-4}": ("json", None),
    "{python}": ("python", None),
    "sh $ make": ("sh", None),
    "asp.net": ("asp.net", None),
    "": (None, None),
}


@pytest.mark.parametrize("info", INFO)
def test_an_info_string_names_language_and_file(info: str) -> None:
    """Every usual form is read; what is no file is none."""
    assert read_info(info) == INFO[info]


NAMED: dict[str, tuple[list[tuple[BlockKind, str]], str | None]] = {
    "fence": ([("code", '```py title="a/b.py"\nx\n```')], "a/b.py"),
    "caption before": ([("caption", "In a/b.py (part)"), ("code", "```py\nx\n```")], "a/b.py"),
    "caption after": ([("code", "```py\nx\n```"), ("caption", "From `b.py`.")], "b.py"),
    "a path in front": ([("paragraph", "a/b.py:"), ("code", "```py\nx\n```")], "a/b.py"),
    "a site": ([("caption", "From www.example.com"), ("code", "```py\nx\n```")], None),
    "a version": ([("caption", "Listing 1.2 for v2.0, e.g. here."), ("code", "```\nx\n```")], None),
    "prose": ([("paragraph", "We edit a.py now:"), ("code", "```py\nx\n```")], None),
    "two files": (
        [("code", '```py title="a.py"\nx\n```'), ("code", '```py title="b.py"\nx\n```')], None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NAMED)
def test_a_chunk_knows_the_file_of_its_code(case: str) -> None:
    """By the fence, by a caption, by a line that is a path; never by guess."""
    blocks, name = NAMED[case]
    (chunk,) = chunked(built(*blocks), ChunkingSettings())[1]
    assert chunk.metadata == ({"file_name": name} if name else {})


def test_every_part_of_cut_code_has_language_and_file() -> None:
    """What stands in the fence of a long block holds for all of its chunks."""
    body = "\n\n".join(f"def f{i}(x):\n    return x + {i}" for i in range(80))
    builder = DocumentBuilder()
    builder.add("paragraph", "As follows:")
    builder.add("code", f'```py title="a.py"\n{body}\n```', code_language="py")
    chunks = chunked(builder.build(), ChunkingSettings())[1]
    assert len(chunks) > 5
    assert {(chunk.code_language, chunk.metadata.get("file_name")) for chunk in chunks} == {
        ("py", "a.py")
    }


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_only_a_line_above_the_cap_is_cut(boundaries: Strategy) -> None:
    """A minified line is cut inside; its neighbours are not."""
    lines = ["a = 1", "b = " + "x1 + " * 300 + "1", "c = 2"]
    document = built(("code", "\n".join(["```", *lines, "```"])))
    chosen = ChunkingSettings(boundaries=boundaries)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    assert all(("a = 1" in t) == ("```\na = 1" in t) for t in texts(document, chunks))
