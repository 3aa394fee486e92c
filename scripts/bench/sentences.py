"""Where sentences end, measured: ``python scripts/bench/sentences.py [LANG=FILE ...]``.

Accuracy: the share of the hand-made cases of ``tests/chunking/sentence_cases.py`` that
come out exactly as marked, by language, ours beside whichever peers are installed
(sentencex, pysbd, blingfire, PyICU, icu4py). Speed: MB of UTF-8 a second on one thread,
the best of three, for the files given (``en=book.txt``) or prose made here; telling the
language of each paragraph is timed apart. A case is one paragraph: a peer that cuts a
text without its blanks is compared after trimming.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from chunking.sentences import split_sentences  # noqa: E402 - run by path, not installed
from tests.chunking.sentence_cases import CASES, KNOWN_WRONG  # noqa: E402 - as above

Splitter = Callable[[str, str], Sequence[str]]
"""From a text and its language to its sentences, blanks around them or not."""

MB = 1e6
SIZE = 2_000_000
ROUNDS = 3
PROSE = {
    "en": "The harbour was closed on Sunday, because the ferry from Dover (see Fig. 3) had lost "
    "its rudder. Dr. Smith, who had been on board since 9.30 a.m., said that nobody was hurt. "
    "What will happen next? The company expects to resume service by 12 May 2021, at the latest.",
    "da": "Havnen var lukket søndag, fordi færgen fra Gedser (se fig. 3) havde mistet sit ror. Hr. "
    "Hansen, som havde været om bord siden kl. 9.30, sagde, at ingen var kommet til skade, jf. "
    "lovens § 5, stk. 2, nr. 3. Hvad sker der nu? Selskabet sejler igen den 12. maj 2021.",
    "de": "Der Hafen war am Sonntag geschlossen, weil die Fähre aus Kiel (vgl. Abb. 3) ihr Ruder "
    "verloren hatte. Herr Dr. Meier, der seit 9.30 Uhr an Bord war, sagte, dass z. B. nach § 3 "
    "Abs. 2 Nr. 3 BGB niemand hafte. Was geschieht nun? Die Firma will am 12. Mai 2021 fahren.",
}


def ours(text: str, language: str) -> list[str]:
    """Split as the job does."""
    return [text[a:b] for a, b in split_sentences(text, 0, len(text), language or None)]


def _sentencex() -> Splitter:
    import sentencex  # noqa: PLC0415 - a peer that may be absent

    return lambda text, language: list(sentencex.segment(language or "en", text))


def _pysbd() -> Splitter:
    import pysbd  # noqa: PLC0415 - a peer that may be absent
    from pysbd.languages import LANGUAGE_CODES  # noqa: PLC0415 - as above

    segmenters = {code: pysbd.Segmenter(language=code, clean=False) for code in LANGUAGE_CODES}
    return lambda text, language: segmenters.get(language, segmenters["en"]).segment(text)


def _blingfire() -> Splitter:
    import blingfire  # noqa: PLC0415 - a peer that may be absent

    def split(text: str, _: str) -> list[str]:
        return [text[a:b] for a, b in blingfire.text_to_sentences_and_offsets(text)[1]]

    return split


def _pyicu() -> Splitter:
    import icu  # noqa: PLC0415 - a peer that may be absent

    def split(text: str, language: str) -> list[str]:
        breaker = icu.BreakIterator.createSentenceInstance(icu.Locale(language or "en"))
        units = icu.UnicodeString(text)
        breaker.setText(units)
        edges = [0, *breaker]
        return [str(units[a:b]) for a, b in pairwise(edges)]

    return split


def _icu4py() -> Splitter:
    from icu4py.breakers import SentenceBreaker  # noqa: PLC0415 - a peer that may be absent

    return lambda text, language: list(SentenceBreaker(text, language or "en"))


PEERS: dict[str, tuple[str, Callable[[], Splitter]]] = {
    "sentencex": ("sentencex", _sentencex),
    "pysbd": ("pysbd", _pysbd),
    "blingfire": ("blingfire", _blingfire),
    "PyICU": ("icu", _pyicu),
    "icu4py": ("icu4py", _icu4py),
}


def splitters() -> dict[str, Splitter]:
    """Return ours and every peer that is installed, by name and version."""
    found: dict[str, Splitter] = {"ours": ours}
    for name, (module, make) in PEERS.items():
        if importlib.util.find_spec(module) is not None:
            found[f"{name} {metadata.version(name)}"] = make()
    return found


def right(split: Splitter, language: str, marked: str) -> bool:
    """Return whether a marked text comes out exactly as marked."""
    wanted = [part.strip() for part in marked.split("|")]
    found = (part.strip() for part in split(marked.replace("|", ""), language))
    return [part for part in found if part] == wanted


def accuracy(all_splitters: dict[str, Splitter]) -> None:
    """Print the share of right cases by language, the known wrong ones counted too."""
    cases = {language: list(marked) for language, marked in CASES.items()}
    for language, marked in KNOWN_WRONG:
        cases[language].append(marked)
    print("accuracy (exact cases)")
    print(f"{'':10}{'cases':>6}" + "".join(f"{name:>18}" for name in all_splitters))
    totals = dict.fromkeys(all_splitters, 0)
    for language, texts in cases.items():
        row = ""
        for name, split in all_splitters.items():
            n = sum(right(split, language, marked) for marked in texts)
            totals[name] += n
            row += f"{n / len(texts):>18.0%}"
        print(f"{language or 'unknown':10}{len(texts):>6}{row}")
    n_all = sum(map(len, cases.values()))
    print(f"{'all':10}{n_all:>6}" + "".join(f"{n / n_all:>18.1%}" for n in totals.values()))


def seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the least CPU time of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def speed(all_splitters: dict[str, Splitter], files: dict[str, Path]) -> None:
    """Print MB/s on one thread; peers get a tenth of the text, in one round."""
    print("\nspeed (MB/s of UTF-8, one thread)")
    print(f"{'':10}{'MB':>6}" + "".join(f"{name:>18}" for name in all_splitters))
    for language in sorted({*PROSE, *files}):
        text = _text(language, files)
        row = ""
        for name, split in all_splitters.items():
            part = text if name == "ours" else text[: len(text) // 10]
            took = seconds(partial(split, part, language), ROUNDS if name == "ours" else 1)
            row += f"{len(part.encode()) / MB / took:>18.2f}"
        print(f"{language:10}{len(text.encode()) / MB:>6.1f}{row}")


def identification(files: dict[str, Path]) -> None:
    """Print what telling the language of each paragraph costs."""
    print("\nlanguage of paragraphs (MB/s of UTF-8, one thread; counted apart)")
    _tell_all([PROSE["en"]])
    for language in sorted({*PROSE, *files}):
        text = _text(language, files)
        paragraphs = [text[at : at + 600] for at in range(0, len(text), 600)]
        took = seconds(partial(_tell_all, paragraphs))
        each = took / len(paragraphs) * 1000
        print(f"{language:10}{len(text.encode()) / MB / took:>8.1f}  {each:.3f} ms a paragraph")


def _tell_all(paragraphs: Sequence[str]) -> list[str | None]:
    from jobs.parsing.language import paragraph_language  # noqa: PLC0415 - loads its model

    return [paragraph_language(paragraph, "fr") for paragraph in paragraphs]


def _text(language: str, files: dict[str, Path]) -> str:
    if language in files:
        return files[language].read_text(encoding="utf-8", errors="replace")
    paragraph = PROSE[language]
    return "\n\n".join([paragraph] * (SIZE // len(paragraph)))


def main() -> None:
    """Print accuracy and speed."""
    files = {}
    for argument in sys.argv[1:]:
        language, _, path = argument.partition("=")
        files[language] = Path(path)
    found = splitters()
    accuracy(found)
    speed(found, files)
    if importlib.util.find_spec("py3langid") is not None:
        identification(files)


if __name__ == "__main__":
    main()
