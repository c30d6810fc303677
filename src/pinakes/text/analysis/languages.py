"""Detection of the language of a text, and stemming for languages other than English.

A language is detected by its most common words: they are a fifth to a half of any running text, and rare in texts of
other languages. If that is unclear, letters decide; else the language is unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from threading import Lock

import Stemmer

from pinakes.text.analysis.folding import folded

ENGLISH = "english"
_PROFILES = {
    "english": "the of and to in is that it was for on are with as his they be at this have from or by not but what "
    "all were we when your can there an which their if will would",
    "german": "der die das und ist in den von zu mit sich auf für nicht ein eine einer eines einem einen dem des im "
    "auch als an wird werden sind oder bei nach aus wie wenn durch kann nur über hat zur zum dass noch "
    "ich sie wir es",
    "french": "le la les de des du et est en un une dans que qui pour sur pas par au aux avec ce cette ces il elle "
    "sont ne se plus ou son sa ses nous vous ils être été leur mais comme à chaque",
    "spanish": "el la los las de del y en que un una es por con para se no su sus al lo como más pero este esta "
    "entre cuando muy sin sobre también hasta hay son fue ha ser desde todos ya",
    "italian": "il lo la gli le di del della dei delle e è che un una in per con non si da dal al alla nel nella "
    "sono come più anche ma questo questa se ha essere dalla sul ogni loro",
    "portuguese": "o os as de do da dos das e em que um uma é para com não por no na nos nas se ao mais como mas foi "
    "sua seu pelo pela ou quando muito são também está já",
    "dutch": "de het een van en in is dat op te zijn voor met niet aan er die worden wordt door als bij ook maar "
    "om naar uit nog kan deze over hij ze we dit heeft tot of",
    "swedish": "och i att det som en på är av för med den till inte om ett har de från kan var men så eller ska när "
    "vid sig där efter även också alla under",
    "danish": "og i at det er en til af på der de med for ikke den som et har fra kan om var vi men eller skal når "
    "ved sig efter også blev meget hvor mange nogle",
    "norwegian": "og i det er på en til som av for at med de ikke den et har fra om kan var men så eller skal når ved "
    "seg etter også ble mye hvor noen dette mellom",
    "finnish": "ja on ei että se oli hän mutta ovat myös kun tai joka niin kuin voi sen ole mitä jos jotka sekä vain "
    "tämä tämän siitä olla voidaan kanssa mukaan",
    "hungarian": "a az és hogy nem is egy ez van meg volt de csak már ha vagy el azt minden mint még kell lehet ezt "
    "között után által szerint illetve amely",
    "romanian": "și de în la a cu nu este o un pe din că sau care mai pentru sunt se al ale ca fi prin după fost lui "
    "această acest între până doar",
    "polish": "i w na z się nie do to że jest o jak po za od przez dla co przy oraz są lub może być tym które który "
    "która ich tego przed tylko",
    "czech": "a v na se je že z o s do i to k ve pro za by jsou jako ale po od být nebo které který která při jeho "
    "také tak až jen podle",
    "turkish": "ve bir bu da de için ile olarak çok daha olan gibi en ne kadar var sonra ya veya ancak her göre "
    "değil olduğu tarafından ise hem",
    "russian": "и в не на я что с по как из у за от это к но для так же его бы то было или при они все мы она вы "
    "если также только может быть есть",
    "greek": "και το να του η της με για την από είναι στο που ο οι τα των σε δεν τη θα στη στην τον μια ένα ως αυτό",
    "arabic": "في من على إلى أن هذا هذه التي الذي عن مع لا ما أو كان هو هي كل بعد قد لم بين ذلك كما عند و غير حيث",
    "catalan": "el la els les de del i en que un una és per amb no es al com més però aquest aquesta són als dels "
    "també entre fins seva seu ha va",
    "estonian": "ja on ei et see ta oli kui ka või mis oma selle siis nii kes aga ning kuid seda olid ma pole mida",
    "lithuanian": "ir yra kad į su iš tai kaip bet ar nuo per po buvo jis jų ne dėl taip už tik prie gali",
    "indonesian": "yang dan di dari untuk dengan pada ini itu dalam tidak adalah akan atau juga ke oleh sebagai dapat "
    "telah karena mereka lebih ada",
    "hindi": "के का की में है और से को पर यह कि एक ने हैं भी नहीं था तो इस हो लिए कर या जो वह",
}
"""The most common words of the languages with a Snowball stemmer, by Snowball's names."""

LANGUAGES = frozenset(_PROFILES)

_SAMPLE = 3000
_LEAST_WORDS = 12
_LEAST_SHARE = 0.18
_AHEAD = 1.3
"""A language is told where its commonest words are so much of the text, and so many times those of any other."""

_LEAST_IN_FEW, _SHARE_OF_FEW, _AHEAD_IN_FEW = 3, 0.3, 2
"""The same in a text of less than twelve words, where so many of them are common ones."""

_LEAST_FOREIGN = 0.8
_GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff]+")
_RUSSIAN = re.compile("[а-яё]+")
_RUSSIAN_ONLY = frozenset("ёыэ")
"""Letters of Russian that no other language with a stemmer has, nor Ukrainian, Bulgarian, Serbian."""

_REMEMBERED = 100_000


def _by_word() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for language, words in _PROFILES.items():
        for word in words.split():
            found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items()}


_LANGUAGES_OF = _by_word()
COMMON_WORDS = frozenset(_LANGUAGES_OF)
"""The most common words of all languages."""


def detect(words: Iterable[str], among: Collection[str] = LANGUAGES) -> str | None:
    """Return the language of a text with these ``words``, None if it is uncertain or not ``among`` these."""
    sample = list(islice((word for word in words if word[0].isalpha()), _SAMPLE))
    counts, found = Counter(map(str.lower, sample)), Counter[str]()
    for word in counts.keys() & _LANGUAGES_OF.keys():
        for language in _LANGUAGES_OF[word]:
            found[language] += counts[word]
    foreign = [word for word in sample if not word.isascii()]
    is_foreign = len(foreign) >= _LEAST_FOREIGN * max(1, len(sample))
    told = _by_words(found, len(sample)) or (_by_letters(foreign) if is_foreign else None)
    return told if told in among else None


def _by_words(found: Counter[str], seen: int) -> str | None:
    if not found:
        return None
    [(language, count), (_, second)] = [*found.most_common(2), ("", 0)][:2]
    if seen < _LEAST_WORDS:
        is_sure = count >= max(_LEAST_IN_FEW, _SHARE_OF_FEW * seen, _AHEAD_IN_FEW * second)
    else:
        is_sure = count >= max(_LEAST_SHARE * seen, _AHEAD * second)
    return language if is_sure else None


def _by_letters(words: Sequence[str]) -> str | None:
    """Return the language identified by its letters, even for short texts: Greek, or Russian with ё, ы and э."""
    letters = set("".join(words).lower())
    if _GREEK.fullmatch("".join(filter(str.isalpha, letters))):
        return "greek"
    is_russian = letters & _RUSSIAN_ONLY and _RUSSIAN.fullmatch("".join(filter(str.isalpha, letters)))
    return "russian" if is_russian else None


class Stems:
    """Stems words by Snowball, without accents. Cached and thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._stemmers: dict[str, Stemmer.Stemmer] = {}
        self._known: dict[tuple[str, str], str] = {}

    def stem(self, language: str, word: str) -> str:
        """Return the stem of a lower-cased ``word`` in a Snowball ``language``."""
        known = self._known.get((language, word))
        if known is not None:
            return known
        with self._lock:
            stemmer = self._stemmers.get(language)
            if stemmer is None:
                stemmer = self._stemmers[language] = Stemmer.Stemmer(language, 0)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            stem = self._known[(language, word)] = folded(stemmer.stemWord(word))
        return stem
