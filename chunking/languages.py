"""Words that tell how to read a full stop, by language.

Kept apart from the rules so that a language is added by adding words. Words are lower
case and without their last full stop; inner ones stay (``z.b``), blanks between parts
do not (``z. B.`` is looked up as ``z.b``). A word with a capital counts only so written.
"""

from __future__ import annotations

__all__ = [
    "ALIASES",
    "CLOSING",
    "EITHER",
    "ENDINGS",
    "LANGUAGES",
    "LETTERS",
    "MONTHS",
    "NUMBERED",
    "OPEN",
    "OPENERS",
    "ORDINALS",
    "REPORTING",
]

OPEN: dict[str, str] = {
    "en": "excl incl mr mrs ms dr prof gen col lt sgt capt cmdr rev hon sen rep gov pres supt "
    "messrs vs viz cf e.g i.e eg ie op cit ibid dept est adm maj cpl pvt insp asst assoc",
    "da": "f.eks feks bl.a bla d.v.s dvs hr fr frk dr prof skt sct adv ing cand mag stud lic "
    "fhv tidl dir adm red udg kgl gl jf jfr jvf pga p.g.a ift i.f.t mht m.h.t vedr vha v.h.a pr "
    "inkl ekskl evt hhv hhvs iflg if sml f.ks s.u mv.a ang ad forf afd adr if.m i.h.t iht",
    "de": "mult vors fa inh vorm nachm urspr bearb begr gegr kath ev städt staatl zit z.b d.h "
    "banz i.d.r i.d.f z.t z.zt bzw vgl hr hrn fr frl dr prof dipl ing med phil jur rer nat h.c "
    "st inkl zzgl abzgl ggf evtl bspw insb sog gem lt hrsg bzgl geb gest verf vorl allg ehem "
    "entspr einschl i.v.m i.s.d i.s.v i.h.v o.g u.g kfm mag frhr gebr urt beschl i.e.s i.w.s "
    "m.w.n m.e a.d i.a i.v iss sen betr exkl v.a u.u o.a dgl.m mind höchst",
    "nl": "bijv bv d.w.z dwz o.a m.b.t i.v.m t.a.v m.n m.a.w t.o.v i.p.v m.u.v nl dhr mevr mw "
    "mr dr drs prof ir ing ds vgl zgn jhr resp t.b.v st",
    "sv": "t.ex tex bl.a bla d.v.s dvs s.k sk fr.o.m t.o.m f.d p.g.a pga m.a.o hr fr dr prof "
    "enl jfr resp inkl exkl ev f.n t.f m.h.t s:t",
    "no": "iflg f.eks feks bl.a bla d.v.s dvs hr fr dr prof adv jf jfr pga p.g.a ift mht vedr "
    "inkl ekskl evt iht i.h.t st cand tidl m.a.o hhv ifm",
    "fr": "m mm mme mmes mlle mlles dr pr prof me mgr st ste av apr bd p.ex ex cf c.-à-d "
    "c.à.d d éd gén",
    "es": "sr sra srta sres sras dr dra prof profa d dña da ud uds vd vds p.ej ej ee avda av "
    "gral lic ing cnel fco ma cía dpto prov excmo excma ilmo",
    "it": "sig sigg sig.ra sig.na dott dott.ssa prof prof.ssa ing avv arch geom on p.es es "
    "cfr d.lgs d.l d.p.r d.m l ca rag mons",
    "pt": "sr sra srs srta dr dra prof profa eng exmo exma p.ex ex d av v.exa cf vide",
    "pl": "np m.in tzw tzn tj ul al św prof dr hab inż mgr por zob wg ds im płk gen ks bp pl "
    "lek red ws jw wyd",
    "ru": "т.е т.к т.н т.о ул см ср напр им акад проф д-р тов н.э пл пер просп наб гр г-н "
    "г-жа инж доц св о",
    "el": "π.χ δηλ κ κα κος κοι βλ πρβλ αγ δρ καθ λεωφ οδ",
    "tr": "dr prof doç yrd av sn örn bkz ör t.c m.ö m.s yy mah müh arş gör",
    "cs": "např tj tzv tzn ul nám dr prof ing mgr bc doc mudr judr phdr rndr resp popř viz "
    "event sv p pí sl vč kupř",
    "fi": "esim ts ns ks vrt tri prof mm tms.m os ao ent synt",
    "hu": "pl ill dr prof kb ún ifj özv id vö gr br ld",
    "he": "פרופ",
    "hi": "डॉ श्री सुश्री प्रो पं कु",
    "ar": "د أ م",
}
"""Abbreviations that practically never end a sentence."""

NUMBERED: dict[str, str] = {
    "en": "cir no nos fig figs eq eqs sec secs ch vol vols pp p art arts cl para paras ca "
    "approx c max min tel ext app ex",
    "da": "maks nr stk kap afs afsn art pkt par s p kl tlf tlfnr fig tab bd årg ca max min lb "
    "lbk lbkg bek cirk stkr d vol lov bilag note str",
    "de": "anl az nr nrn abs art ziff lit kap s str tel bd abb tab anm rn rz rdnr hl max min "
    "aufl jg ca buchst vol sp bl z hs fn kl gl",
    "nl": "max min nr art blz p pag lid sub ca hfdst fig tab bijl vol tel par",
    "sv": "prop max min nr kap st tel s p kl sid fig tab bil vol ca d mom art not",
    "no": "maks prp meld innst max min nr kap art pkt s p kl tlf fig tab bd ca d vol avsn",
    "fr": "n no nos art al chap fig vol p pp tabl tab t tél par env ann sect v",
    "es": "núm nro art arts cap fig pág págs vol tel n párr t tab ap aprox inc s",
    "it": "n nn art artt cap fig pag pagg vol tel co lett tab par sez all c",
    "pt": "n núm art arts cap fig pág págs vol tel al tab inc p pp aprox",
    "pl": "m maks min art ust pkt nr str tab rys poz s par lit t ok pp p rozdz tel",
    "ru": "стр рис табл ст п пп ч гл кв д с т корп оф вып илл разд",
    "el": "σελ αρ αριθ άρθ παρ εικ πιν τηλ τόμ κεφ ν αρθ",
    "tr": "s sf no tel bl md fık cad sok c",
    "cs": "č čl odst str s písm tab obr kap tel",
    "fi": "s nro puh kpl n",
    "hu": "old sz bek tel",
    "ar": "ص ج ط وص وج رقم",
    "he": "עמ",
}
"""Abbreviations that a number follows: then they never end a sentence."""

EITHER: dict[str, str] = {
    "en": "st mt inc ltd co corp llc jr sr u.s u.k u.n e.u u.s.a ph.d m.d b.a m.a jan feb mar "
    "apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun ave blvd rd bros hr hrs "
    "d.c a.d b.c al ed eds ft in",
    "da": "m.fl mfl min sek mdr inc ltd m.m.m st tv th",
    "de": "u.a v.chr n.chr e.v a.m s.o s.u jan feb mär apr jun jul aug sep sept okt nov dez "
    "mio mrd tsd std sek gmbh inc ltd co jh jhd jhdt f a.a.o a.f n.f k",
    "nl": "mln mld btw incl excl jl e.v v.chr n.chr",
    "sv": "f ff st",
    "no": "m.fl mfl etg ff",
    "fr": "suiv",
    "es": "ee.uu ss.aa s.a s.l c.v uu ss",
    "it": "s.p.a s.r.l ss segg c.c c.p c.p.c",
    "pt": "ltda s.a segs",
    "pl": "r w tys mln mld zł godz min sek proc k.c k.p.c k.k k.p str",
    "ru": "г гг в вв руб коп долл тыс млн млрд мин сек",
    "el": "εκατ δισ χιλ",
    "tr": "ltd şti",
    "cs": "sb kč mil mld tis hod min",
    "fi": "milj mrd min",
    "hu": "db ft évf",
}
"""Abbreviations that may end a sentence: they do where a word that opens one follows."""

CLOSING: dict[str, str] = {
    "en": "etc a.m p.m mo yr",
    "da": "jan feb mar apr jun jul aug sep sept okt nov dec ff osv o.s.v m.m mm m.v mv m.v.h "
    "mvh m.v.m o.l ol o.lign olign etc kr pct mio mia f.kr e.kr",
    "de": "ff usw u.s.w etc u.v.m uvm o.ä u.ä o.dgl u.dgl dgl",
    "nl": "jan feb mrt apr jun jul aug sep okt nov dec enz etc e.d e.a",
    "sv": "jan feb mar apr jun jul aug sep sept okt nov dec osv o.s.v m.m mm m.fl mfl etc "
    "milj mdr kr e.kr f.kr o.d o.dyl dyl",
    "no": "pst jan feb mar apr jun jul aug sep sept okt nov des osv o.s.v m.m mm mv m.v o.l "
    "etc mill mrd kr f.kr e.kr",
    "fr": "janv févr avr juil sept oct nov déc sqq ss etc env j.-c",
    "es": "ene feb mar abr may jun jul ago sep sept oct nov dic etc a.c d.c a.m p.m",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic ecc etc a.c d.c",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez etc a.c d.c",
    "pl": "itd itp",
    "ru": "т.д т.п др пр",
    "el": "κλπ κ.λπ κτλ κ.ά κ.τ.λ π.μ μ.μ π.Χ μ.Χ",
    "tr": "vb vs vd",
    "cs": "atd apod aj",
    "fi": "jne yms ym tms",
    "hu": "stb",
}
"""Abbreviations after which any capital begins a sentence, a currency's code excepted."""

OPENERS: dict[str, str] = {
    "en": "the a an this that these those it its he she they we i you there here in on at for "
    "from but and so if when while after before however then although as by with to what who "
    "why how his her their our my your one no not yes all some many most each other since "
    "because thus once during despite both such where which now today later finally first "
    "second let please",
    "da": "den det de der en et han hun jeg vi i på ved af til fra for med om og men så hvis "
    "når da efter før derfor derefter herefter dog dette denne disse sådan dermed derudover her "
    "hvor hvad hvem hvordan hvorfor man alle ingen både som nu også ifølge hvert hver mens selv "
    "desuden endelig samtidig siden ligesom fordi selvom heller ikke kun mange nogle",
    "de": "der die das den dem des ein eine einen einem einer es er sie wir ich ihr man im in "
    "am an auf aus bei beim mit nach von vom zu zum zur für um und aber oder doch denn wenn als "
    "da dann danach daher darum deshalb dabei dazu dieser diese dieses diesen damit hier hierzu "
    "jeder jede jedes alle so nun seit seitdem während weil obwohl auch nur noch nicht wie was "
    "wer wo warum sein seine ihre unser unsere später zuvor anschließend allerdings jedoch "
    "außerdem zudem dort heute gestern morgen schließlich insgesamt dadurch deren dessen viele "
    "einige keine kein mehr beide ob siehe falls sofern bis trotz wegen durch gegen ohne unter "
    "über vor bitte soweit nachdem bereits dennoch ferner",
    "no": "den det de der en et han hun jeg vi i på ved av til fra for med om og men så hvis "
    "når da etter før derfor deretter dette denne disse slik her hvor hva hvem hvordan man alle "
    "også ingen mange noen siden selv som mens nå ifølge",
    "sv": "den det de en ett han hon jag vi i på vid av till från för med om och men så när "
    "då efter före därför sedan detta denna dessa här där var vad vem hur man alla också ingen "
    "många några enligt under eftersom dock nu som även",
    "nl": "de het een hij zij ze wij we ik je u er in op bij van voor met uit naar om en maar "
    "of want als dan toen daar daarna daarom deze dit die dat hier hoe wat wie waar waarom alle "
    "zijn haar hun ons ook niet geen nu later na tot over door omdat terwijl",
    "fr": "le la les l un une des ce cet cette ces c il elle ils elles on nous je j vous tu "
    "dans sur à au aux en de du d pour par avec sans mais et ou donc or car si quand lorsque "
    "comme alors puis ensuite après avant qui que quoi où comment pourquoi son sa ses leur "
    "leurs notre nos mon ma ne tout toute tous y ainsi cependant toutefois enfin selon depuis "
    "pendant",
    "es": "el la los las un una unos unas este esta estos estas eso ese esa él ella ellos "
    "ellas yo nosotros en de del a al por para con sin sobre pero y o si cuando donde como "
    "entonces luego después antes que qué quién cómo su sus mi no se lo le así también además "
    "según desde hasta durante aunque porque hay es era fue ya todos todo cada",
    "it": "il lo la i gli le l un una uno questo questa questi queste quello egli ella essi "
    "io noi in nel nella di del della da dal a al alla per con su tra fra ma e o se quando dove "
    "come allora poi dopo prima che chi cosa perché suo sua suoi non si ci così anche inoltre "
    "secondo tutti ogni è era fu però mentre",
    "pt": "o a os as um uma uns umas este esta estes estas isso esse essa ele ela eles elas "
    "eu nós em no na nos nas de do da dos das por para com sem sobre mas e ou se quando onde "
    "como então depois antes que quem seu sua não há é era foi assim também além segundo desde "
    "até durante embora porque todos cada já",
    "fi": "se ne hän he minä me tämä nämä sitten mutta ja kun jos siellä täällä nyt myös ei "
    "on kaikki joka mitä missä miksi koska vaikka lisäksi",
    "cs": "ten ta to ti v ve na po pro při s z a ale když pokud pak potom on ona oni my já "
    "tento tato toto je jsou byl byla do od za podle také tak co kdo kde jak proč jeho její i",
    "pl": "ten ta to ci te w we na po dla przy z ze i a ale gdy jeśli potem on ona oni my ja "
    "jest są nie dziś teraz tam tu tak od do za o u przez pod co kto gdzie jak dlaczego jego "
    "jej ich był była było byli miał miała ma zmarł zmarła został została również jednak "
    "ponadto według",
    "hu": "a az ez és de ha mert majd akkor itt ott egy nem is ő ők ezt azt mi ki hol hogy "
    "miért most aztán ezért",
    "ru": "в во на по с со из к ко у о об от до за для при под над и а но или если когда где "
    "как что кто почему он она оно они мы я вы это этот эта эти тот та те все всё там тут здесь "
    "потом затем после его её их наш не ни так также однако поэтому кроме согласно теперь "
    "сегодня был была было были",
    "el": "ο η το οι τα τον την του της των ένας μια ένα αυτός αυτή αυτό αυτοί στο στη στην "
    "στον σε από για με και αλλά ή αν όταν όπου πως τι ποιος γιατί μετά πριν τότε εδώ εκεί δεν "
    "να θα όλα όλοι ήταν είναι είχε",
    "tr": "o bu şu ben sen biz siz onlar ve ama fakat ancak sonra önce daha şimdi bir her hiç "
    "ne kim nasıl neden niçin orada burada bunun onun çünkü eğer ayrıca böylece hepsi",
}
"""Words that open a sentence more often than they are part of a name."""

MONTHS: dict[str, str] = {
    "en": "january february march april may june july august september october november december",
    "da": "januar februar marts april maj juni juli august september oktober november december",
    "de": "januar jänner februar märz april mai juni juli august september oktober november "
    "dezember",
    "no": "januar februar mars april mai juni juli august september oktober november desember",
    "cs": "ledna února března dubna května června července srpna září října listopadu prosince",
    "fi": "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta "
    "elokuuta syyskuuta lokakuuta marraskuuta joulukuuta",
    "tr": "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
}

LETTERS: dict[str, str] = {
    "en": "p c v s d b f m n r",
    "da": "d s f b p c k m t v o i u e",
    "no": "d s f b p c k m t v o i",
    "sv": "d s f p c k m t o n",
    "nl": "p v d t m o i r",
    "ru": "",
}
"""Small letters that abbreviate a word; of a language that is not listed, all."""

ENDINGS: dict[str, str] = {"de": "str bl anz", "no": "gt", "sv": "gat"}
"""Abbreviations at the end of longer words (``Hauptstr.``, ``Bundesgesetzbl.``)."""

REPORTING: dict[str, str] = {
    "zh": r"[\u4e00-\u9fff]{1,6}?(?:说|道|问|喊|叫|答|笑|说道|问道|喊道|回答)[，。,.]",
    "ja": r"(?:と|って)(?!ても|ころ|にかく|りあえず|もかく|ある|き)",
    "ko": r"(?:이?라고|이?라는|이?라며|하고|고|며|는)\s?",
    "ar": r"(?:قال|قالت|صاح|صاحت|سأل|سألت|أجاب|أجابت|همس|صرخ|رد)\b",
    "he": r"(?:אמר|אמרה|שאל|שאלה|צעק|צעקה|ענה|ענתה|לחש|לחשה|הוסיף|קרא)\b",
    "hi": r"(?:\S+\s){0,3}(?:कहा|पूछा|बोला|बोली|बोले|चिल्लाया|चिल्लाई)",
}
"""Regular expressions of what goes on after a quotation in scripts without capitals."""

ORDINALS = "da de no cs fi hu pl tr hr sk sl et lv is"
"""Languages that write an ordinal as a number with a full stop."""
ALIASES = {"nb": "no", "nn": "no", "sk": "cs", "iw": "he", "cmn": "zh", "yue": "zh", "fil": "tl"}
LANGUAGES = frozenset(OPEN) | frozenset({"zh", "ja", "ko", "th"})
"""ISO 639-1 codes of the languages that have rules of their own, or need none."""
