from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from chunking.sentences import MAX_SENTENCE_CHARS, split_sentences
from tests.chunking.strategies import ODD, WORDS

CASES: list[tuple[str | None, str]] = [
    # English: "|" marks where a sentence ends.
    ("en", "It rained.|The boats stayed in."),
    ("en", "Dr. Smith met Mrs. Jones at 10 a.m. on Monday.|They spoke."),
    ("en", "She lives in Washington, D.C.|He does not."),
    ("en", "The U.S. Army marched.|The war went on in the U.S.|It lasted."),
    ("en", "J. R. R. Tolkien wrote it.|C. S. Lewis read it."),
    ("en", "See Fig. 3 and Eq. 4.|Section No. 5 follows."),
    ("en", "Pi is 3.14159.|Version 2.10.1 is out.|Use v1.2.|It works."),
    ("en", "Visit https://example.com/a.b?c=d.|Then write to a.b@example.org.|Done."),
    ("en", "Node.js runs.|ASP.NET does, too."),
    ("en", "Wait... what?|No!|Really?!|Yes."),
    ("en", "He paused…|Then he left."),
    ("en", "He paused … and left."),
    ("en", '"Stop!" he cried.|"Why?" she asked.|He left.'),
    ("en", 'She said "no."|Then she left.'),
    ("en", "He came (late, as ever).|(Nobody minded.)|We ate."),
    ("en", "We sell nuts, bolts, etc. to anyone.|We sell nuts, etc.|The shop is open."),
    ("en", "1. Install it.|2. Run it.|3. Read the log."),
    ("en", "Yahoo! is a company.|So is Acme Inc. of Ohio."),
    ("en", "It fell in 1990.|The wall was gone."),
    ("en", "It is i.e. this, e.g. that, cf. Miller and vs. Smith."),
    ("en", "So did I.|Then we went home."),
    ("en", "The result is known.[1]|The proof is short.[2][3]|It follows."),
    ("en", "Acme Ltd. Directors met.|Ph.D. Students came."),
    ("en", "Prices rose 5 p.c. in Jan. 2020.|They fell in Feb. 2021."),
    ("en", "Is it *done*.|_Yes._|Good."),
    # Danish
    ("da", "Det er f.eks. Hansen, bl.a. Jensen og m.fl. Andre kom ikke."),
    ("da", "Mødet er den 1. januar.|Det begynder kl. 10.30."),
    ("da", "Den 2. Verdenskrig begyndte i 1939.|Den sluttede i 1945."),
    ("da", "Han købte æbler, pærer osv.|Derefter gik han hjem."),
    ("da", "Jf. lovens § 5, stk. 2, nr. 3, er det ca. 4 pct.|Det er meget."),
    ("da", "Frederik 3. Var han konge?|Ja, i 1648."),
    ("da", "Prisen er 1.250,50 kr.|Det er dyrt."),
    ("da", "Hr. Hansen og fru Olsen kom d. 12.03.|De gik igen."),
    ("da", "Se s. 12 ff.|Kap. 3 handler om æg."),
    ("da", "Hvorfor?|Fordi det regner!|Nå."),
    # German
    ("de", "Das gilt z. B. für Berlin, d. h. für alle."),
    ("de", "Das gilt z.B. Hunden.|Die bellen."),
    ("de", "Nach § 3 Abs. 2 Nr. 3 BGB ist das so.|Danach nicht."),
    ("de", "Am 3. Oktober 1990 war es so weit.|Es regnete."),
    ("de", "Am 1. Januar und im 19. Jahrhundert."),
    ("de", "Ludwig XIV. war König.|Er regierte lange."),
    ("de", "Er wurde Dritter usw.|Die anderen gingen."),
    ("de", "Prof. Dr. Müller sprach.|Hr. Maier schwieg."),
    ("de", "Das kostet 1.000,50 Euro.|Das ist viel."),
    ("de", "„Komm her!“, rief er.|„Nein.“|Sie ging."),
    ("de", "»Gut.«|Er nickte."),
    ("de", "Vgl. Art. 5 GG.|Siehe auch Bd. 2."),
    # French, Spanish, Italian, Portuguese, Dutch
    ("fr", "M. Dupont arrive.|Mme Durand part."),
    ("fr", "«\u00a0Bonjour\u00a0!\u00a0»|Il part."),
    ("fr", "Est-ce vrai\u202f?|Oui, p. ex. ici."),
    ("es", "¿Qué tal?|¡Bien!|El Sr. García vino.|Ud. no."),
    ("it", "Il sig. Rossi venne.|La dott.ssa Verdi no."),
    ("pt", "O Sr. Silva veio.|A Dra. Costa não."),
    ("nl", "Dat is bijv. Jan, d.w.z. niemand.|Klaar."),
    # Nordic and others
    ("sv", "Det är t.ex. Anna.|Hon kom bl.a. Bo till hjälp."),
    ("no", "Møtet er 17. mai.|Det er f.eks. Ola."),
    ("fi", "Se on esim. Matti.|Hän tuli 1. tammikuuta."),
    ("pl", "To jest np. Jan.|Prof. Nowak był tam."),
    ("cs", "Je to např. Jan.|Přišel 1. ledna."),
    ("tr", "Dr. Ali geldi.|Gitti."),
    ("ru", "Это т. е. так.|Москва, ул. Ленина.|Он ушёл."),
    ("el", "Τι κάνεις;|Καλά είμαι.|Εσύ;"),
    # No blank needed, or no capitals to go by
    ("zh", "今天下雨。|我们没有出去。|你呢？|很好！"),
    ("zh", "他说：“下雨了。”|我们走吧。"),
    ("zh", "版本3.14已发布。|请看https://example.com/a。"),
    ("ja", "雨です。|行きません。|本当？|はい！"),
    ("ja", "「雨ですか。」と彼は言った。|終わり。"),
    ("ko", "비가 옵니다.|집에 있습니다.|정말요?|네."),
    ("ar", "هل أنت بخير؟|نعم.|شكرا لك!"),
    ("ur", "یہ ایک ہے۔|یہ دو ہے۔"),
    ("he", "ירד גשם.|נשארנו בבית."),
    ("hi", "बारिश हुई।|हम घर पर रहे।|क्या सच?"),
    ("hy", "Անձրեւ էր։|Մնացինք տանը։"),
    # Unknown language
    (None, "Dr. Smith came.|He left."),
    (None, "Das ist z. B. Berlin.|Das ist f.eks. Aarhus."),
]


@pytest.mark.parametrize(("language", "marked"), CASES)
def test_hand_made_cases(language: str | None, marked: str) -> None:
    """Each case splits exactly where it is marked."""
    text = " ".join(marked.split("|")) if language not in ("zh", "ja") else marked.replace("|", "")
    spans = split_sentences(text, 0, len(text), language)
    assert [text[a:b] for a, b in spans] == marked.split("|")


def test_terminators_without_a_blank() -> None:
    """Scripts that need no blank after a terminator are split where none stands."""
    for language, text in (("hi", "बारिश हुई।हम रहे।"), ("ar", "هل أنت؟نعم؟"), ("zh", "好。你呢？")):
        assert len(split_sentences(text, 0, len(text), language)) == 2


def test_lists_and_blank_lines_end_sentences() -> None:
    """A bullet, a number at a line's start and a blank line begin a new sentence."""
    text = "Bring\n- bread\n- wine\n\nand go\nhome\n2. now"
    spans = split_sentences(text, 0, len(text), "en")
    assert [text[a:b] for a, b in spans] == ["Bring", "- bread", "- wine", "and go\nhome", "2. now"]


def test_line_breaks_inside_a_sentence_stay() -> None:
    """A line end alone, as from a scan, ends no sentence."""
    text = "The harbour was\nclosed on Sunday. The ferry\nwaited."
    assert len(split_sentences(text, 0, len(text), "en")) == 2


def test_a_transcript_without_marks_is_cut_at_blanks() -> None:
    """Text without any sentence end is cut between words, at bounded length."""
    text = "and then we went on " * 3000
    spans = split_sentences(text, 0, len(text), "en")
    assert max(b - a for a, b in spans) <= MAX_SENTENCE_CHARS
    assert all(b == len(text.rstrip()) or text[b] == " " for a, b in spans)


def test_a_range_is_split_within_its_bounds() -> None:
    """Only the given range is split, in offsets of the whole text."""
    text = "No. Yes. One two. Three. No."
    assert split_sentences(text, 9, 24, "en") == [(9, 17), (18, 24)]


def test_blank_and_empty_ranges_have_no_sentence() -> None:
    """Nothing visible, no span."""
    for text in ("", " \n\t \u00a0"):
        assert split_sentences(text, 0, len(text), None) == []


@pytest.mark.parametrize(
    "piece", [".", " ", "\n", ". ", "a. ", "?!", ")", ".)", "1. ", "\n- ", "x"]
)
def test_runs_of_marks_take_linear_time(piece: str) -> None:
    """A long run of any mark ends in one pass, and loses nothing."""
    text = "Begin " + piece * 100_000 + " end"
    spans = split_sentences(text, 0, len(text), "en")
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)


@profile(deadline=None, max_examples=200, derandomize=True)
@given(
    text=st.lists(
        st.one_of(
            st.sampled_from(
                [*WORDS, ". ", "? ", "。", "\n", "\n\n", " ", "3.", "z. B. ", "...", "»"]
            ),
            st.text(alphabet=ODD, max_size=3),
            st.text(max_size=4),
        ),
        max_size=40,
    ).map("".join),
    language=st.sampled_from([None, "en", "da", "de", "ja", "el", "xx", "pt-BR"]),
)
def test_spans_are_exact(text: str, language: str | None) -> None:
    """Spans are in order, trimmed, not blank, and cover all visible text."""
    spans = split_sentences(text, 0, len(text), language)
    position = 0
    for start, end in spans:
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip() != ""
        position = end
    assert not text[position:].strip()
