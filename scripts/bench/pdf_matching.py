"""When an engine's item is the labelled one: the rules by which ``pdf_structure.py`` counts.

- **Text** (titles, headings, captions, footnotes, list items): letters and figures only,
  case folded, NFKC, a list item's marker taken off. The label's first words and as much of
  the item agree to 80 % (Ratcliff and Obershelp's ratio), and the longer of the two whole
  texts is at most 1/0.6 of the shorter, so that a page of text matches nothing (``longest``
  is the length of a label that may end later, such as a caption with its headnote). Or their
  boxes agree (intersection over union at least 0.7): right-to-left text and letters
  without a meaning come out of two readers in two ways.
- **Furniture** is compared by words, as engines cut running heads at will: a label is found
  if 80 % of its words are in the page's furniture; an item is right if 80 % of its words
  are in the labelled furniture, and it has no more words than twice all of that.
- **Tables**: intersection over union of the boxes at least 0.5, the best pair first.
- Each label is matched once and each item once. Items that are neither right nor wrong
  (half of them in a region that the labels leave open, such as the inside of a figure) are
  not counted.
- **Cells** of a table: the texts that stand in the labelled grid, compared as a multiset,
  each by its letters and figures whatever their order. Tables that were not found count as
  cells that were not.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Item = Mapping[str, Any]
Box = Sequence[float]

KINDS = ("title", "heading", "list_item", "table", "caption", "footnote", "furniture")
MIN_RATIO = 0.8
MIN_LENGTH_SHARE = 0.6
MIN_BOX_SHARE = 0.7
MIN_TABLE_SHARE = 0.5
MIN_WORDS_SHARE = 0.8
_MAX_FURNITURE = 2.0
_OPEN_SHARE = 0.5
_MARKER = re.compile(r"^\s*(?:[^\w\s]|\(?\w{1,3}[.)])\s+")


@dataclass(slots=True, kw_only=True)
class Count:
    """What an engine found of a kind, and what it says that is not so.

    ``found`` of ``labels`` and ``right`` of ``items``; ``missed`` and ``wrong`` by text.
    """

    labels: int = 0
    found: int = 0
    items: int = 0
    right: int = 0
    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """Share of the labels that were found."""
        return self.found / self.labels if self.labels else 0.0

    @property
    def precision(self) -> float:
        """Share of the items that are right; 0 where there are none."""
        return self.right / self.items if self.items else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        both = self.recall + self.precision
        return 2 * self.recall * self.precision / both if both else 0.0

    def add(self, other: Count) -> None:
        """Add the count of another page."""
        for name in ("labels", "found", "items", "right"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.missed += other.missed
        self.wrong += other.wrong


@dataclass(slots=True, kw_only=True)
class Details:
    """What more was measured on tables and headings that were found.

    ``tables``, of which the numbers of rows, of rows below the header (``body_rows``: an
    engine may make one header of two rows), of columns and of header rows are right;
    ``cells`` counts cells; ``ordered`` of ``pairs`` of a page's headings are above, below or beside
    each other by their levels as they should.
    """

    tables: int = 0
    rows: int = 0
    body_rows: int = 0
    columns: int = 0
    header_rows: int = 0
    cells: Count = field(default_factory=Count)
    pairs: int = 0
    ordered: int = 0


def letters(text: str) -> str:
    """Return the letters and figures of a text, case folded."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in folded if character.isalnum())


def words(text: str) -> list[str]:
    """Return the words of a text, case folded."""
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold())


def same_text(label: Item, item: Item) -> bool:
    """Tell whether an item's text is the labelled one, of which only the start is known."""
    text = item["text"]
    if label["kind"] == "list_item":
        text = _MARKER.sub("", text)
    start, whole = letters(label["text"]), letters(text)
    longest = label.get("longest", label["length"])
    if not label["length"] * MIN_LENGTH_SHARE <= len(whole) <= longest / MIN_LENGTH_SHARE:
        return False
    ratio = difflib.SequenceMatcher(None, start, whole[: len(start)], autojunk=False).ratio()
    return ratio >= MIN_RATIO


def overlap(a: Box, b: Box) -> float:
    """Return the intersection of two boxes over their union."""
    shared = _shared(a, b)
    union = _area(a) + _area(b) - shared
    return shared / union if union > 0 else 0.0


def match(kind: str, labels: Sequence[Item], items: Sequence[Item]) -> Count:
    """Count one kind on one page; ``labels`` and ``items`` are all of the page.

    Titles count as headings, too: whether one is told as such is counted under ``title``.
    """
    of_kind = {"title", "heading"} if kind == "heading" else {kind}
    wanted = [label for label in labels if label["kind"] in of_kind]
    offered = [item for item in items if item["kind"] in of_kind]
    if kind == "furniture":
        return _furniture(wanted, offered, labels)
    pairs = matched(kind, wanted, offered)
    used = set(pairs.values())
    wrong = [
        item for i, item in enumerate(offered) if i not in used and not _open(item, labels, of_kind)
    ]
    return Count(
        labels=len(wanted),
        found=len(pairs),
        items=len(pairs) + len(wrong),
        right=len(pairs),
        missed=[_told(label) for i, label in enumerate(wanted) if i not in pairs],
        wrong=[_told(item) for item in wrong],
    )


def matched(kind: str, labels: Sequence[Item], items: Sequence[Item]) -> dict[int, int]:
    """Return the item of each label that has one, by position."""
    if kind == "table":
        least = MIN_TABLE_SHARE
        sure: list[tuple[int, int]] = []
    else:
        least = MIN_BOX_SHARE
        sure = [
            (i, j)
            for i, label in enumerate(labels)
            for j, item in enumerate(items)
            if same_text(label, item)
        ]
    shares = sorted(
        (-overlap(label["box"], item["box"]), i, j)
        for i, label in enumerate(labels)
        for j, item in enumerate(items)
    )
    # Where a text stands twice on the page, its place tells which one is meant.
    sure.sort(key=lambda pair: -overlap(labels[pair[0]]["box"], items[pair[1]]["box"]))
    pairs: dict[int, int] = {}
    for i, j in [*sure, *((i, j) for share, i, j in shares if -share >= least)]:
        if i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs


def _furniture(wanted: Sequence[Item], offered: Sequence[Item], labels: Sequence[Item]) -> Count:
    offered = [item for item in offered if words(item["text"])]
    known = Counter(word for label in wanted for word in words(label["text"]))
    limit = _MAX_FURNITURE * known.total()
    short = [item for item in offered if len(words(item["text"])) <= limit]
    seen = Counter(word for item in short for word in words(item["text"]))
    found = [label for label in wanted if _share(words(label["text"]), seen) >= MIN_WORDS_SHARE]
    right = [item for item in short if _share(words(item["text"]), known) >= MIN_WORDS_SHARE]
    wrong = [
        item for item in offered if item not in right and not _open(item, labels, {"furniture"})
    ]
    return Count(
        labels=len(wanted),
        found=len(found),
        items=len(right) + len(wrong),
        right=len(right),
        missed=[_told(label) for label in wanted if label not in found],
        wrong=[_told(item) for item in wrong],
    )


def _share(of: Sequence[str], known: Counter[str]) -> float:
    return (Counter(of) & known).total() / len(of) if of else 0.0


def details(
    labels: Sequence[Item], items: Sequence[Item], grids: Sequence[Sequence[str]]
) -> Details:
    """Measure tables and heading levels of a page.

    ``grids``: for each labelled table, the texts in the cells of its grid; empty where no
    grid is labelled.
    """
    found = Details()
    tables = [label for label in labels if label["kind"] == "table"]
    offered = [item for item in items if item["kind"] == "table"]
    pairs = matched("table", tables, offered)
    for i, (label, grid) in enumerate(zip(tables, grids, strict=True)):
        item = offered[pairs[i]] if i in pairs and offered[pairs[i]]["rows"] else {}
        for name in ("rows", "columns", "header_rows"):
            setattr(found, name, getattr(found, name) + (item.get(name) == label[name]))
        if item:
            body = item["rows"] - item["header_rows"]
            found.body_rows += body == label["rows"] - label["header_rows"]
        found.tables += i in pairs
        if grid:
            found.cells.add(_cells(grid, item.get("cells", ())))
    found.pairs, found.ordered = _levels(labels, items)
    return found


def _cells(grid: Iterable[str], cells: Iterable[str]) -> Count:
    wanted, offered = _keys(grid), _keys(cells)
    right = (wanted & offered).total()
    return Count(labels=wanted.total(), found=right, items=offered.total(), right=right)


def _keys(texts: Iterable[str]) -> Counter[str]:
    keys = ("".join(sorted(letters(text))) for text in texts)
    return Counter(key for key in keys if key)


def _levels(labels: Sequence[Item], items: Sequence[Item]) -> tuple[int, int]:
    wanted = [label for label in labels if label["kind"] == "heading" and "level" in label]
    offered = [item for item in items if item["kind"] in {"title", "heading"}]
    pairs = [(wanted[i], offered[j]) for i, j in matched("heading", wanted, offered).items()]
    compared = [
        _sign(a["level"] - b["level"]) == _sign(x["level"] - y["level"])
        for n, (a, x) in enumerate(pairs)
        for b, y in pairs[:n]
    ]
    return len(compared), sum(compared)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _open(item: Item, labels: Sequence[Item], kinds: set[str]) -> bool:
    area = max(_area(item["box"]), 1e-6)
    return any(
        label["kind"] == "ignore"
        and kinds & set(label["kinds"])
        and _shared(item["box"], label["box"]) >= area * _OPEN_SHARE
        for label in labels
    )


def _area(box: Box) -> float:
    return max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0)


def _shared(a: Box, b: Box) -> float:
    return _area((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))


def _told(item: Item) -> str:
    return str(item.get("text") or "table at " + ", ".join(f"{edge:.0f}" for edge in item["box"]))


def grid_cells(table: Item, characters: Iterable[tuple[str, float, float]]) -> Iterator[str]:
    """Yield the text of each cell of a labelled grid, from characters and their middles.

    A cell that spans others (``spans``: first and last row, first and last column) is told
    once, with all that stands in it.
    """
    rows, columns = table["row_edges"], table["column_edges"]
    left, top, right, bottom = table["box"]
    spans = {
        (row, column): (first_row, first)
        for first_row, last_row, first, last in table.get("spans", ())
        for row in range(first_row, last_row + 1)
        for column in range(first, last + 1)
    }
    texts: dict[tuple[int, int], list[str]] = {}
    for character, x, y in characters:
        if left <= x <= right and top <= y <= bottom:
            place = (sum(edge < y for edge in rows), sum(edge < x for edge in columns))
            texts.setdefault(spans.get(place, place), []).append(character)
    yield from ("".join(text) for text in texts.values())
