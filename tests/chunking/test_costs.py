from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from chunking.atoms import Atoms, build_atoms
from chunking.chunker import chunk_document
from chunking.costs import Signal, cut_costs, read_signal
from chunking.layout import Layout, read_layout
from chunking.model import Document
from chunking.settings import PRESETS, ChunkingSettings, Strategy, ThresholdType
from chunking.units import split_units
from tests.chunking.making import ROWS, built, texts, vectors_for
from tests.chunking.strategies import ADDITIVE

LONG = " ".join(f"Ship number {i} left the harbour at dawn." for i in range(16))
SHORT = "The tide came in."


def read(
    document: Document, strategy: Strategy = "optimal", **more: object
) -> tuple[Layout, Atoms]:
    """Return the facts and atoms of a document; the target is 100 tokens unless told."""
    chosen = ChunkingSettings(boundaries=strategy, **{"target_tokens": 100, **more})  # type: ignore[arg-type]
    tokens = ADDITIVE(document.text)
    units = split_units(document, tokens)
    layout = read_layout(document, units, tokens, chosen, ADDITIVE.count)
    return layout, build_atoms(layout)


def costs_of(document: Document, strategy: Strategy = "optimal") -> dict[int, float]:
    """Return the cost of the cut before each atom, by the atom's start."""
    layout, atoms = read(document, strategy)
    cut = cut_costs(layout, atoms, strategy, None).cut
    return dict(zip(atoms.starts[1:-1], cut[1:-1], strict=True))


def block_starts(document: Document) -> list[int]:
    """Return where each block but the first starts."""
    return [block.start for block in document.blocks[1:]]


def test_the_end_of_a_long_paragraph_is_worth_more() -> None:
    """Between long paragraphs a cut gains most, beside a short one hardly anything."""
    document = built(
        ("paragraph", LONG), ("paragraph", LONG), ("paragraph", SHORT), ("paragraph", SHORT)
    )
    costs = costs_of(document)
    long, beside, short = (costs[at] for at in block_starts(document))
    inside = max(cost for at, cost in costs.items() if at not in block_starts(document))
    assert long < beside < inside
    assert beside == pytest.approx(short)
    assert long == pytest.approx(-0.3)


def test_lines_of_unwrapped_text_are_paragraphs() -> None:
    """Where each line is long, its end is worth as much as that of a block."""
    lines = costs_of(built(("paragraph", f"{LONG} \n {LONG}\n{LONG}")))
    blocks = costs_of(built(*[("paragraph", LONG)] * 3))
    gained = sorted(lines.values())[:2]
    assert gained == pytest.approx(sorted(blocks.values())[:2], abs=0.06)
    assert sorted(lines.values())[2] > max(gained) + 0.2


def test_ends_of_wrapped_lines_are_worth_nothing() -> None:
    """A line end that only the width of a page made is a blank like any other."""
    words = f"{LONG} {LONG}".split()
    wrapped = "\n".join(" ".join(words[i : i + 8]) for i in range(0, len(words), 8))
    costs = costs_of(built(("paragraph", wrapped)))
    assert "dawn.\nShip" in wrapped
    assert len(set(costs.values())) == 1


def test_rows_and_code_lines_are_no_paragraphs() -> None:
    """However long its lines are, a table or a block of code has no paragraphs."""
    row = "| " + "word " * 60 + "|"
    table = built(("table", "\n".join(["| a |", "| --- |", *[row] * 6])))
    code = built(("code", "```\n" + "\n".join(["x = " + "y + " * 60 + "1"] * 6) + "\n```"))
    for document in (table, code):
        layout, atoms = read(document)
        plain = cut_costs(layout, atoms, "fixed", None).cut
        found = cut_costs(layout, atoms, "optimal", None).cut
        assert [round(a - b, 6) for a, b in zip(found[2:-1], plain[2:-1], strict=True)] == [
            0.05
        ] * (len(atoms) - 2)


def test_a_heading_belongs_to_the_paragraph_below() -> None:
    """The cut after a heading gains nothing; the section before it ends at the heading."""
    document = built(("paragraph", LONG), ("heading", "Berths"), ("paragraph", LONG))
    heading, paragraph = (costs_of(document)[at] for at in block_starts(document))
    assert heading == pytest.approx(-0.3)
    assert paragraph >= 1e6


def test_fixed_minds_no_paragraphs() -> None:
    """What fills up to a size cuts where the size is reached."""
    document = built(*[("paragraph", LONG)] * 3)
    assert set(costs_of(document, "fixed").values()) == {0.0}


@pytest.mark.parametrize("preset", ["small", "large"])
@pytest.mark.parametrize("strategy", ["optimal", "semantic", "recursive", "structural"])
def test_chunks_are_as_large_as_their_target_on_average(preset: str, strategy: Strategy) -> None:
    """The target is what comes out, not only what is aimed at, under every strategy."""
    chosen = ChunkingSettings(**{**PRESETS[preset], "boundaries": strategy})  # type: ignore[arg-type]
    numbers = np.random.default_rng(3).integers(0, 10**6, 4000).tolist()
    words = [" ".join(f"w{n}" for n in numbers[i : i + 2 + i % 23]) for i in range(0, 4000, 9)]
    document = built(("paragraph", " ".join(f"The {piece} ends." for piece in words)))
    tokens = ADDITIVE(document.text)
    units = split_units(document, tokens)
    chunks = chunk_document(document, units, tokens, vectors_for(units), chosen, ADDITIVE.count)
    mean = len(tokens.ids) / len(chunks)
    assert 0.8 * chosen.target_tokens <= mean <= 1.2 * chosen.target_tokens


@pytest.mark.parametrize("strategy", ["optimal", "recursive", "structural", "semantic"])
def test_paragraphs_of_the_targets_size_are_the_chunks(strategy: Strategy) -> None:
    """Without a signal in the vectors a text falls apart at its paragraphs."""
    paragraph = " ".join(f"Ship number {i} left the harbour." for i in range(14))
    document = built(*[("paragraph", paragraph)] * 12)
    chosen = ChunkingSettings(boundaries=strategy)
    tokens = ADDITIVE(document.text)
    units = split_units(document, tokens)
    vectors = np.ones((len(units), 4), dtype=np.float32)
    chunks = chunk_document(document, units, tokens, vectors, chosen, ADDITIVE.count)
    assert texts(document, chunks) == [paragraph] * 12


def test_an_edit_in_one_section_moves_no_cut_of_another() -> None:
    """Optimal boundaries depend on their section alone."""
    rng = np.random.default_rng(5)
    own = [f"Ship {n} left the quay {m}." for n, m in rng.integers(0, 99, (60, 2)).tolist()]
    found = []
    for other in (own[:40], own[7:29]):
        document = built(
            ("heading", "One"), ("paragraph", " ".join(other)),
            ("heading", "Two"), ("paragraph", " ".join(own)),
        )  # fmt: skip
        tokens = ADDITIVE(document.text)
        units = split_units(document, tokens)
        vectors = np.asarray(
            [np.random.default_rng(len(units) - i).normal(size=8) for i in range(len(units))]
        )
        chosen = ChunkingSettings()
        chunks = chunk_document(document, units, tokens, vectors, chosen, ADDITIVE.count)
        second = document.blocks[2].start
        found.append(texts(document, [chunk for chunk in chunks if chunk.start >= second]))
    assert len(found[0]) > 2
    assert found[0] == found[1]


def signal_costs(values: Sequence[float], threshold_type: ThresholdType, amount: float) -> Signal:
    """Return the signal of a document of one paragraph with these distances."""
    text = " ".join(f"Ship {i} left." for i in range(len(values) + 1))
    layout, _ = read(
        built(("paragraph", text)), "semantic", threshold_type=threshold_type, threshold=amount
    )
    return read_signal(layout, np.asarray(values), thresholded=True)


@pytest.mark.parametrize(
    ("threshold_type", "amount"),
    [
        ("absolute", 0.5),
        ("percentile", 70),
        ("stddev", 0.5),
        ("interquartile", 0.3),
        ("gradient", 70),
    ],
)
def test_semantic_boundaries_gain_by_their_distance(
    threshold_type: ThresholdType, amount: float
) -> None:
    """Above the threshold a cut gains more than below, the more, the farther, up to a bound."""
    values = [0.1, 0.2, 0.1, 0.6, 0.1, 0.15, 0.9, 0.1, 0.1, 2.0, 0.1, 0.05]
    signal = signal_costs(values, threshold_type, amount)
    text = " ".join(f"Ship {i} left." for i in range(len(values) + 1))
    layout, atoms = read(built(("paragraph", text)), "semantic")
    cut = np.asarray(cut_costs(layout, atoms, "semantic", signal).cut[1:-1])
    over = signal.over
    assert over.any()
    assert not over.all()
    if threshold_type != "gradient":  # a boundary there is a rise, however low it stands
        assert cut[over].max() < cut[~over].min()
        order = np.argsort(values, kind="stable")
        assert (np.diff(cut[order]) <= 1e-9).all()
    assert cut.min() >= 0.4 - 2.0 - 1e-9


def test_equal_distances_gain_alike() -> None:
    """Without differences no place is better than another, and nothing is divided by 0."""
    for value in (0.0, 0.3):
        signal = signal_costs([value] * 8, "percentile", 95)
        text = " ".join(f"Ship {i} left." for i in range(9))
        layout, atoms = read(built(("paragraph", text)), "semantic")
        cut = cut_costs(layout, atoms, "semantic", signal).cut[1:-1]
        assert np.isfinite(cut).all()
        assert len(set(cut)) == 1


def test_rows_gain_nothing_by_paragraphs_beside_prose() -> None:
    """A table between paragraphs counts as one, whatever its rows."""
    table = "\n".join(["| Berth | Vessel |\n| --- | --- |", *ROWS[:40]])
    document = built(("paragraph", LONG), ("table", table), ("paragraph", LONG))
    before, after = (costs_of(document)[at] for at in block_starts(document))
    assert before == pytest.approx(after) == pytest.approx(-0.3)
