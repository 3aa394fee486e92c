"""What a full stop means in each language: abbreviations, ordinals, sentence openers.

Kept apart from the splitter so that a language is added by adding words. Words
are lower case and without their last full stop; inner ones stay (``z.b``).
Blanks inside an abbreviation (``z. B.``) need no entry of their own: each part is
short, and the splitter treats a single letter before a full stop as open.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

__all__ = ["LANGUAGES", "LanguageRules", "rules_for"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageRules:
    """How to read a full stop in one language.

    ``open_words`` are abbreviations that practically never end a sentence;
    ``either_words`` may end one. After an ``either`` word, an initial or an ordinal a
    sentence ends only where one of the ``openers`` follows. ``ordinals``: a number
    with a full stop counts as an ordinal. ``months`` follow an ordinal in a date.
    """

    open_words: frozenset[str]
    either_words: frozenset[str]
    openers: frozenset[str]
    months: frozenset[str]
    ordinals: bool


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPEN: dict[str, str] = {
    "en": "mr mrs ms dr prof gen col lt sgt capt cmdr rev hon sen rep gov pres supt messrs mt ft "
    "vs viz cf e.g i.e eg ie approx fig figs eq eqs sec secs ch vol vols no nos pp p ed eds al "
    "art arts cl para paras op cit ibid dept est st",
    "da": "f.eks feks bl.a bla m.fl d.v.s dvs ca hr fr frk nr stk jf jfr pga p.g.a ift i.f.t mht "
    "m.h.t vedr vha v.h.a mfl pr kap afs art pkt par tlf tlfnr adr str gl kgl kl inkl ekskl "
    "evt hhv hhvs iflg if sml cand prof dr ing adv red udg f.ks s.u o.lign mv.a "
    "ang ad bek lb lbk cirk stkr fmd forf",
    "de": "z.b d.h u.a o.ä o.a i.d.r i.d.f u.u v.a z.t z.zt bzw vgl ca nr nrn abs art ziff lit "
    "kap s hr hrn fr dr prof dipl ing st str tel inkl exkl zzgl abzgl ggf evtl bspw "
    "insb sog gem lt max min mind hrsg jg bd aufl abb tab anm rn rz bzgl hl geb gest "
    "verf vorl allg ehem entspr bes einschl i.v.m i.s.d i.s.v i.h.v o.g u.g a.a.o",
    "nl": "bijv bv d.w.z dwz o.a m.b.t i.v.m t.a.v m.n nl dhr mevr mw mr dr prof ir ing drs nr "
    "art blz p pag ca vgl zgn jl resp incl excl",
    "sv": "t.ex tex bl.a bla d.v.s dvs s.k sk fr.o.m t.o.m f.d p.g.a pga m.a.o ca nr dr prof "
    "kap tel st kl jfr resp inkl exkl ev",
    "no": "f.eks feks bl.a bla d.v.s dvs ca nr hr fr dr prof kl jf pga p.g.a ift mht vedr kap "
    "art pkt tlf evt hhv inkl ekskl iht",
    "fr": "m mm mme mmes mlle mlles dr pr prof me mgr st ste av bd p.ex ex cf c.-à-d n no nos "
    "art al chap fig vol p pp env éd tél",
    "es": "sr sra srta sres dr dra prof d dña ud uds p.ej ej núm nro art cap fig pág págs vol "
    "av avda tel aprox gral lic ing",
    "it": "sig sigg sig.ra sig.na dott dott.ssa prof prof.ssa ing avv arch on p.es es cfr n nn "
    "art artt cap fig pag pagg vol tel ca co",
    "pt": "sr sra srs srta dr dra prof profa eng exmo p.ex ex núm n art cap fig pág págs vol av "
    "tel aprox",
    "pl": "np m.in tzw tzn tj ul al św prof dr hab inż mgr p pp por zob ok art ust pkt nr str "
    "tab rys wg ds im",
    "ru": "т.е т.д т.п г гг ул д кв стр рис табл см ср напр им акад проф д-р тов н.э млн млрд тыс "
    "руб коп ст п пп",
    "el": "π.χ δηλ κ κα κος κ.λπ βλ σελ αρ αριθ άρθ παρ π.μ μ.μ τηλ",
    "tr": "dr prof doç yrd av sn vb örn bkz s sf no tel cad sok mah",
    "cs": "např tj tzv atd apod č čl odst str s ul nám dr prof ing mgr bc sv resp popř viz",
    "fi": "esim ts ns mm ks vrt nro s prof tri puh",
    "hu": "pl ill stb dr prof kb sz ún old",
    "he": "",
    "hi": "डॉ श्री सुश्री प्रो पं",
    "ar": "د أ م ص ج",
}
_EITHER: dict[str, str] = {
    "en": "etc inc ltd co corp llc jr sr u.s u.k u.n e.u u.s.a a.m p.m ph.d m.d b.a m.a jan feb "
    "mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun ave blvd rd bros min max "
    "hr hrs ext tel d.c a.d b.c",
    "da": "osv m.m mm mv m.v o.l o.lign etc jan feb mar apr jun jul aug sep sept okt nov dec mio "
    "mia kr st sek min m.m.m a/s aps inc ltd s m.v.h mvh",
    "de": "usw u.s.w etc u.v.m uvm o.dgl dgl u.ä jan feb mär apr jun jul aug sep sept okt nov dez "
    "mio mrd tsd std sek gmbh inc ltd co v.chr n.chr e.v",
    "nl": "enz etc jan feb mrt apr jun jul aug sep okt nov dec mln mld",
    "sv": "osv o.s.v m.m mm etc jan feb mar apr jun jul aug sep okt nov dec milj kr e.kr f.kr",
    "no": "osv o.s.v m.m mm mv etc jan feb mar apr jun jul aug sep okt nov des mill mrd kr",
    "fr": "etc janv févr avr juil sept oct nov déc apr av.j.-c",
    "es": "etc ee.uu ss.aa s.a a.c d.c ene feb mar abr may jun jul ago sep sept oct nov dic",
    "it": "ecc etc s.p.a s.r.l a.c d.c gen feb mar apr mag giu lug ago set ott nov dic",
    "pt": "etc ltda s.a a.c d.c jan fev mar abr mai jun jul ago set out nov dez",
    "pl": "itd itp r w tys mln mld zł godz min sek",
    "ru": "др пр",
    "el": "κλπ κ.ά μ.χ",
    "tr": "vs",
    "cs": "aj",
    "fi": "jne yms ym",
    "hu": "st",
}
_OPENERS: dict[str, str] = {
    "en": "the a an this that these those it its he she they we i you there here in on at for from "
    "but and so if when while after before however then although as by with to what who why how "
    "his her their our my your one no not yes all some many most each other since because thus "
    "once during despite both such where which now today later finally first second",
    "da": "den det de der en et han hun jeg vi i på ved af til fra for med om og men så hvis "
    "når da "
    "efter før derfor derefter herefter dog dette denne disse sådan dermed derudover her "
    "hvor hvad hvem hvordan hvorfor man alle ingen både som nu også ifølge",
    "de": "der die das den dem des ein eine einen einem einer es er sie wir ich ihr man im in "
    "am an "
    "auf aus bei beim mit nach von vom zu zum zur für um und aber oder doch denn wenn als da "
    "dann danach daher darum deshalb dabei dazu dieser diese dieses diesen damit hier hierzu "
    "jeder jede jedes alle so nun seit seitdem während weil obwohl auch nur noch nicht wie was wer "
    "wo warum sein seine ihre unser unsere später zuvor anschließend allerdings jedoch",
    "no": "den det de der en et han hun jeg vi i på ved av til fra for med om og men så hvis "
    "når da "
    "etter før derfor deretter dette denne disse slik her hvor hva hvem hvordan man alle også",
    "sv": "den det de en ett han hon jag vi i på vid av till från för med om och men så när då "
    "efter före därför sedan detta denna dessa här var vad vem hur man alla också",
    "fi": "se ne hän he minä me tämä nämä sitten mutta ja kun jos siellä täällä",
    "cs": "ten ta to ti v ve na po pro při s z a ale když pokud pak potom on ona oni my já tento",
    "pl": "ten ta to ci w we na po dla przy z i ale gdy jeśli potem on ona oni my ja jest są nie",
    "hu": "a az ez és de ha mert majd akkor itt ott",
}
_MONTHS: dict[str, str] = {
    "en": "january february march april may june july august september october november december",
    "da": "januar februar marts april maj juni juli august september oktober november december",
    "de": "januar jänner februar märz april mai juni juli august september oktober november "
    "dezember",
    "no": "januar februar mars april mai juni juli august september oktober november desember",
    "cs": "ledna února března dubna května června července srpna září října listopadu prosince",
    "fi": "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta "
    "syyskuuta lokakuuta marraskuuta joulukuuta",
    "tr": "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
}
_ORDINALS = _words("da de no cs fi hu pl tr hr sk sl et lv")
_ALIASES = {"nb": "no", "nn": "no", "sk": "cs"}


LANGUAGES = frozenset(_OPEN) | frozenset({"zh", "ja", "ko", "th"})
"""ISO 639-1 codes of the languages that have rules of their own, or need none."""


def _lookup(table: dict[str, str], language: str) -> frozenset[str]:
    # English abbreviations turn up in text of every language (Dr., vs., e.g.).
    return _words(table.get("en", "")) | _words(table.get(language, ""))


@cache
def _rules(language: str) -> LanguageRules:
    if not language:
        return _unknown_language()
    return LanguageRules(
        open_words=_own_words_win(language, "open"),
        either_words=_own_words_win(language, "either"),
        openers=_words(_OPENERS.get(language, _OPENERS["en"])),
        months=_lookup(_MONTHS, language),
        ordinals=language in _ORDINALS,
    )


def _own_words_win(language: str, which: str) -> frozenset[str]:
    """Return the words of one class; a language's own reading beats the English one."""
    own_open, own_either = _words(_OPEN.get(language, "")), _words(_EITHER.get(language, ""))
    if language == "en":
        return own_open if which == "open" else own_either - own_open
    if which == "open":
        return own_open | (_GLOBAL_OPEN - own_either)
    return (own_either | (_words(_EITHER["en"]) & _GLOBAL_EITHER)) - own_open


# Only those English entries that are no common words elsewhere.
_GLOBAL_OPEN = _words("mr mrs ms dr prof vs cf e.g i.e fig eq vol")
_GLOBAL_EITHER = _words("etc inc ltd corp u.s u.k u.n e.u u.s.a ph.d")


def _unknown_language() -> LanguageRules:
    shared = _words(
        "f.eks z.b d.h bl.a p.ex p.ej p.es bijv bzw vgl ca nr abs art kap hr dhr sr sra"
    )
    openers = frozenset().union(*(_words(_OPENERS[code]) for code in ("en", "da", "de", "sv")))
    return LanguageRules(
        open_words=_words(_OPEN["en"]) | shared,
        either_words=_words(_EITHER["en"]) | _words("osv usw enz ecc m.m"),
        openers=openers,
        months=frozenset().union(*(_words(months) for months in _MONTHS.values())),
        ordinals=False,
    )


def rules_for(language: str | None) -> LanguageRules:
    """Return the rules for an ISO 639 code or BCP 47 tag; None means unknown."""
    code = (language or "").replace("_", "-").split("-")[0].lower()
    return _rules(_ALIASES.get(code, code))
