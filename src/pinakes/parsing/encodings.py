"""Guesses the encoding of text that is not UTF-8, by letter frequencies and word shapes under each candidate."""

from __future__ import annotations

import codecs
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from pinakes.core.regexes import lazy

_SAMPLE_BYTES: Final = 24_576
_SURE: Final = 0.6
"""Minimum lead over the next best reading, in nats per non-ASCII letter, for up to the first ``_ENOUGH`` of them."""
_ENOUGH: Final = 12
_LEAST_WIDE_BYTES: Final = 9
"""Fewer bytes that may be East Asian are nearly as probable in several encodings."""
_WORST: Final = -7.5
"""Log probability of a letter that the language does not use."""
_PUNCTUATION: Final = -4.5
_PLACED: Final = 3.5
"""What a mark where marks usually stand regains: it is then more probable than a common letter."""
_SYMBOL: Final = -9.0
_BROKEN: Final = -6.0
"""Penalty for a capital after a small letter, a sign inside a word, or mixed scripts in a word."""
_LEAST_MEAN: Final = -6.5
"""A reading with a lower mean log probability is text in no known language."""
_LEAST_MEAN_EAST_ASIAN: Final = -10.0
_ASCII: Final = -3.5
"""Log probability of an ASCII letter: counted where multi-byte readings have fewer of them than others."""

_LETTERS: Final = {
    "en": "éèñïöüçêâôóáíàäåøæ",
    "de": "üäößé",
    "fr": "éèàêçùâîôûœïëæÿ",
    "es": "óíáéñúü",
    "pt": "ãçáéíõóêâúàô",
    "it": "èàùòéìî",
    "ca": "àéòóèíçïúü",
    "sv": "äåöé",
    "da": "åøæé",
    "is": "íáðóéúýþöæ",
    "nl": "éëïèöüê",
    "pl": "ąęłóśżćńź",
    "cs": "íáěéčřžýšůúňťďó",
    "sk": "áíéčýžúšľťôňäďóŕĺ",
    "hu": "áéöóőüíúű",
    "ro": "ăîâşţșț",
    "hr": "čšžćđ",
    "sq": "ëç",
    "tr": "ıüşğçöiâî",
    "et": "äõüöšž",
    "lv": "āīēšņūļķģžč",
    "lt": "ėšųžįąčūę",
    "mt": "ħżġċàòùèì",
    "eo": "ĉĝŭŝĵĥ",
    "se": "ášđčžŋŧ",
    "cy": "âŵŷêôîûïáö",
    "ga": "áéíóúṁḃḋṡḟċġṗṫ",
    "vi": "\u0300đ\u0301\u0323ưôáêàâ\u0309ơóăé\u0303íúèùãìòõ",
    "ru": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё",
    "uk": "оанивтеірсклудмпзяьгйбчцхїєшжщюфґ",
    "be": "анеіроткслвяудмцыпьзбгшйчжхўэёюф",
    "bg": "аоеинтсрвдлпкмзгуъячбщжцйхфшюь",
    "sr": "аоеинрсјтувкдмплзгбњшчжљћцхђфџ",
    "kk": "аеынрітлдсқмкоғбұйпшзүжөәяңуигхвщюэцчһф",
    "el": "αοιετσνηυρπκμλςωδγχθφβξζψίάόέήύώϊϋ",
    "he": "יוהלארתבשמנםדכעחקפסזגטןץךף",
    "ar": "اليمونترةبعدفهسكحجقىصشأخطذضءثزغإئظؤآ",
    "th": "านรอกเง่ยลมวดท้สตะปบัคีหแจิพชขใไืุูโผณซธถึ์ศภษฐฉญฝฏฎฒฟฮๆำ็ฤฬ",
}
"""Language → its non-ASCII letters, the most frequent first."""

_LATIN_1: Final = ("en", "de", "fr", "es", "pt", "it", "ca", "sv", "da", "is", "nl", "sq")
_LATIN_2: Final = ("pl", "cs", "sk", "hu", "ro", "hr", "de")
_CYRILLIC: Final = ("ru", "uk", "be", "bg", "sr")
_WRITTEN_IN: Final = (
    ("cp1252", _LATIN_1),
    ("cp1250", _LATIN_2),
    ("cp1251", _CYRILLIC),
    ("iso8859-2", _LATIN_2),
    ("iso8859-15", ("fr", "et", "de", "es", "pt", "it", "nl", "da", "sv")),
    ("koi8-r", ("ru", "bg")),
    ("koi8-u", ("uk",)),
    ("cp866", ("ru", "be", "bg")),
    ("iso8859-5", _CYRILLIC),
    ("mac_cyrillic", _CYRILLIC),
    ("cp1253", ("el",)),
    ("iso8859-7", ("el",)),
    ("cp1254", ("tr",)),
    ("iso8859-3", ("tr", "mt", "eo")),
    ("cp1255", ("he",)),
    ("iso8859-8", ("he",)),
    ("cp862", ("he",)),
    ("cp1256", ("ar",)),
    ("iso8859-6", ("ar",)),
    ("cp1257", ("lt", "lv", "et", "pl", "da")),
    ("iso8859-13", ("lt", "lv", "et", "pl", "da")),
    ("iso8859-4", ("lt", "lv", "et", "se")),
    ("cp874", ("th",)),
    ("mac_roman", _LATIN_1),
    ("mac_latin2", (*_LATIN_2, "lt", "lv", "et")),
    ("mac_greek", ("el",)),
    ("mac_turkish", ("tr",)),
    ("cp850", _LATIN_1),
    ("cp437", ("en", "de", "fr", "es", "it", "sv")),
    ("cp852", _LATIN_2),
    ("cp857", ("tr",)),
    ("cp737", ("el",)),
    ("cp1258", ("vi",)),
    ("iso8859-16", ("ro", "pl", "hr", "hu")),
    ("iso8859-10", ("is", "se", "lt", "lv")),
    ("iso8859-14", ("cy", "ga")),
    ("cp855", _CYRILLIC),
    ("cp775", ("lt", "lv", "et", "pl")),
    ("cp860", ("pt",)),
    ("cp861", ("is",)),
    ("mac_iceland", ("is",)),
    ("mac_croatian", ("hr", "da")),
    ("mac_romanian", ("ro",)),
    ("hp_roman8", _LATIN_1),
    ("kz1048", ("kk",)),
    ("ptcp154", ("kk",)),
    ("cp720", ("ar",)),
)
"""Single-byte encodings, the most common first, and the languages written in them."""

_EAST_ASIAN_BYTES: Final = 4096
"""Bytes of a possibly East Asian text that are examined."""
_EAST_ASIAN_LETTER: Final = lazy(r"[\u3000-\u9fff\uac00-\ud7a3\uff01-\uff5e\uff66-\uff9f]")
_ALONE: Final = lazy(r"(?<=[A-Za-z])[^\x00-\x7f]|[^\x00-\x7f](?=[A-Za-z])")
_USUAL: Final = 0.9
_THAI_MARKS: Final = "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
_NO_THAI: Final = lazy(
    f"(?<![\u0e01-\u0e2e{_THAI_MARKS}])[{_THAI_MARKS}\u0e30\u0e33]|[\u0e40-\u0e44](?![\u0e01-\u0e2e])|[{_THAI_MARKS}]{{3}}"
)
"""Vowels and marks in impossible positions."""
_MOST_ALONE: Final = 0.2
_STATEFUL: Final = ((b"\x1b$)C", "iso2022_kr"), (b"\x1b$", "iso2022_jp_2"), (b"\x1b(J", "iso2022_jp_2"), (b"~{", "hz"))
_MARKS: Final = frozenset("“”„‚‘’«»‹›–—…•€£¥§©®™°·¿¡№\u00a0´`×½¼²³µ±−")
_INSIDE: Final = frozenset("’‘'·-\u00ad")
_IN_PLACE: Final = lazy(
    r"(?i:(?<=[^\W\d_])’(?=(?:[dmst]|re|ve|ll)\b)|(?:\b(?:[cdjlmnost]|qu|un)|ll)’(?=[^\W\d_]))"
    r"|(?<!\S)[–—](?!\S)|(?<=\d)–(?=\d)|(?<=\w)…(?![\w.…])"
)
"""Apostrophes of common contractions, dashes between words or numbers, and ellipses behind words."""
_OPENING: Final = lazy(r"(?<![^\s(\[])[“‘„«»”’‚]\u00a0?(?=\w)")
_CLOSING: Final = lazy(r"(?<=[\w.,!?…])\u00a0?[”’“»«‘](?![\w“”„‘’«»])")
_LATIN_LETTER: Final = lazy("[A-Za-z]")
_SAFE: Final = lazy(
    r"(?:utf[-_]?(?:8|16|32)|iso8859|hp[-_]|iso2022|cp(?:125\d|437|737|775|8[56]\d|874|932|949|950|1125)|koi8|mac[-_]|gb|big5|euc"
    r"|shift_jis|johab|hz|tis|ptcp154|kz1048)"
)
_WIDER: Final = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "tis-620": "cp874",
    "big5": "big5hkscs",
}
"""Encoding name → the superset that is often meant by it."""

_EBCDIC_WORDS: Final = bytes(
    {*range(0x81, 0x8A), *range(0x91, 0x9A), *range(0xA2, 0xAA), *range(0xC1, 0xCA), *range(0xD1, 0xDA)}
    | {*range(0xE2, 0xEA), *range(0xF0, 0xFA)}
)
_EBCDIC_SIGNS: Final = bytes((0x40, 0x4B, 0x6B, 0x60, 0x61, 0x7A, 0x7D, 0x7F, 0x4D, 0x5D, 0x15, 0x25, 0x0D, 0x5E, 0x7E))
_EAST_ASIAN: Final = ("gb18030", "big5", "cp949", "euc_jp", "cp932")
"""Multi-byte encodings."""

_FREQUENT: Final = {
    "gb18030": (
        "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"
        "用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实"
    ),
    "big5": (
        "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡"
        "用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實"
    ),
    "cp949": "이다는에의가을를은로하고기지사한시자도인서리대해어아라일정부나수스그장보전제상",
    "euc_jp": (
        "日一国人年大十二本中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女書先名川水"
        "西電語会社者事業内"
    ),
}
"""Encoding → the most frequent characters of its language, for Japanese without kana."""
_COSTS: Final = {"gb18030": (-5.8, -8.8), "big5": (-5.8, -8.8), "cp949": (-4.6, -8.4), "euc_jp": (-6.7, -9.2)}
"""Log probability of a frequent character, and of any other common one."""
_KANA: Final = -4.5
_HALF_WIDTH_KANA: Final = -3.6
_SIGN: Final = -5.0
_RARE: Final = -14.0
_BROKEN_KANA: Final = -6.0
_LEAD_BYTES: Final = {
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "big5": ("big5", 0xA4, 0xC6),
    "cp949": ("euc_kr", 0xB0, 0xC8),
    "euc_jp": ("euc_jp", 0xB0, 0xCF),
}
"""The standard that orders characters by use, and the first bytes of those in everyday use."""
_IS_SIGN: Final = re.compile("[\u3000-\u3029\uff01-\uff5e\u2010-\u2026\u00b7]")
_IS_KANA: Final = re.compile("[\u3041-\u3093\u30a1-\u30f6\u30fc]")
_IS_HALF_WIDTH: Final = re.compile("[ｦ-ﾟ]")
_NO_HALF_WIDTH: Final = re.compile("(?<![ｳｶ-ﾄﾊ-ﾎ])ﾞ|(?<![ﾊ-ﾎ])ﾟ|(?<![ｦ-ﾟ])(?:[ｧ-ｰ]|[ｦｱ-ﾝ](?![ｦ-ﾟ]))")
"""Half-width marks and small kana in impossible positions, and isolated kana."""


@dataclass(frozen=True, slots=True)
class EncodingGuess:
    """The most probable encoding of a text; ``sure``: no other is nearly as probable."""

    encoding: str
    sure: bool


class _Reading(NamedTuple):
    score: float
    encoding: str
    text: str


def known_encoding(charset: str | None) -> str | None:
    """Return the codec of a declared encoding, None if it is unknown or not a text encoding.

    Codecs that unpack, escape or compute (zip, idna, unicode_escape, utf-7) are unsafe for untrusted files.
    """
    try:
        name = codecs.lookup(charset.strip()[:40]).name if charset else ""
    except (LookupError, ValueError):
        return None
    name = _WIDER.get(name, name)
    return name if _SAFE.match(name) else None


def guess(data: bytes) -> EncodingGuess:
    """Guess the encoding of ``data``, text that is not UTF-8, from a sample of its lines with non-ASCII bytes."""
    sample = _sample(data)
    words = b" ".join(dict.fromkeys(sample.split()))  # repeated words add no information
    wide = [name for name in _EAST_ASIAN if _fits(sample, name)]
    words = words[:_EAST_ASIAN_BYTES] if wide else words
    readings = sorted([*_single_byte(words), *_east_asian(words, wide)], reverse=True)
    if not readings:
        return EncodingGuess("cp1252", sure=False)
    best = readings[0]
    other = next((one for one in readings[1:] if one.text != best.text), None)
    lead = best.score - other.score if other else math.inf
    letters = min(_ENOUGH, max(1, _foreign(best.text)))
    least = _LEAST_MEAN_EAST_ASIAN if best.encoding in _EAST_ASIAN else _LEAST_MEAN
    is_long = not wide or _foreign(sample.decode("latin-1")) >= _LEAST_WIDE_BYTES
    return EncodingGuess(best.encoding, sure=is_long and lead >= _SURE * letters and _mean(best) >= least)


def wide_encoding(data: bytes) -> str | None:
    """Return the UTF-16 or UTF-32 encoding of ``data`` without a byte-order mark, None if it is neither."""
    sample = data[: _SAMPLE_BYTES - _SAMPLE_BYTES % 4]
    if len(data) < 4 or (b"\0" not in sample and not _has_controls(sample)):
        return None
    found = {name: _plausible(sample, name) for name in ("utf-16-le", "utf-16-be")}
    best = max(found, key=lambda name: found[name])
    return best if found[best] > 0.0 else None


def shifting_encoding(data: bytes) -> str | None:
    """Return the 7-bit encoding with escape sequences (ISO-2022, HZ) of ``data``, None if it has none."""
    if b"\x1b" not in data and b"~{" not in data:
        return None
    for mark, name in _STATEFUL:
        if mark in data:
            try:
                text = data.decode(name)
            except UnicodeDecodeError:
                continue
            if not text.isascii():
                return name
    return None


def is_ebcdic(data: bytes) -> bool:
    """Return whether ``data`` is text in an EBCDIC code page."""
    sample = data[:_SAMPLE_BYTES]
    if not sample:
        return False
    words = len(sample) - len(sample.translate(None, _EBCDIC_WORDS))
    signs = len(sample) - len(sample.translate(None, _EBCDIC_SIGNS))
    spaces = sample.count(0x40)
    return words > 0.5 * len(sample) and spaces >= 0.04 * len(sample) and words + signs >= 0.93 * len(sample)


def _sample(data: bytes) -> bytes:
    """Return the lines of ``data`` with non-ASCII bytes, cut if they are very long."""
    lines: list[bytes] = []
    size = 0
    for line in data[: 64 * _SAMPLE_BYTES].split(b"\n"):
        if not line.isascii():
            lines.append(line[:_SAMPLE_BYTES])
            size += len(line) + 1
            if size >= _SAMPLE_BYTES:
                break
    return b"\n".join(lines) if lines else data[:_SAMPLE_BYTES]


def _single_byte(sample: bytes) -> list[_Reading]:
    readings = []
    for order, (encoding, languages) in enumerate(_WRITTEN_IN):
        try:
            text = sample.decode(encoding)
        except UnicodeDecodeError:
            continue
        is_latin = _is_latin(_LETTERS[languages[0]][0])
        shape = _shape(text) + _PLACED * _marks_in_place(text if is_latin else _LATIN_LETTER.sub("*", text))
        letters = [char for char in text.lower() if char > "\x7f" and (char.isalpha() or _is_mark(char))]
        score = max(_letters_score(letters, language) for language in languages)
        shape += _BROKEN * len(_NO_THAI.findall(text)) if encoding == "cp874" else 0.0
        readings.append(_Reading(score + shape - order * 0.05, encoding, text))
    return readings


def _is_mark(char: str) -> bool:
    return (char > "\x7f" and unicodedata.combining(char) > 0) or "\u0e31" <= char <= "\u0e4e"


@cache
def _costs(language: str) -> dict[str, float]:
    letters = _LETTERS[language]
    weights = [1 / (rank + 3) for rank in range(len(letters))]
    total = sum(weights)
    return {letter: math.log(weight / total) for letter, weight in zip(letters, weights, strict=True)}


def _letters_score(letters: list[str], language: str) -> float:
    costs = _costs(language)
    return sum(costs.get(letter, _WORST) for letter in letters)


def _shape(text: str) -> float:
    """Return a penalty for the unusual word shapes of ``text``: 0 for none, otherwise negative."""
    score = 0.0
    before = " "
    for at, char in enumerate(text):
        after = text[at + 1 : at + 2]
        if char <= "\x7f":
            if char.isalpha() and before > "\x7f" and before.isalpha():
                score += _pair(before, char)
        elif char.isalpha():
            if before.isalpha():
                score += _pair(before, char)
            score += (before.isdigit() or after.isdigit()) * _BROKEN / 2
        elif "\x80" <= char < "\xa0":
            score += 3 * _SYMBOL
        elif not _is_mark(char):
            inside = before.isalpha() and after.isalpha() and char not in _INSIDE
            score += (_PUNCTUATION if char in _MARKS else _SYMBOL) + inside * _BROKEN
        before = char
    return score


def _marks_in_place(text: str) -> int:
    """Return how many typographic marks are where texts have them; quotation marks only in pairs."""
    pairs = min(len(_OPENING.findall(text)), len(_CLOSING.findall(text)))
    return len(_IN_PLACE.findall(text)) + 2 * pairs


def _pair(before: str, char: str) -> float:
    odd = before.islower() and char.isupper()
    mixed = _is_latin(before) != _is_latin(char)
    return (odd + mixed) * _BROKEN


def _is_latin(char: str) -> bool:
    return char < "\u0250"


def _foreign(text: str) -> int:
    return sum(char > "\x7f" for char in text)


def _mean(reading: _Reading) -> float:
    return reading.score / max(1, _foreign(reading.text))


def _east_asian(sample: bytes, encodings: Sequence[str]) -> list[_Reading]:
    texts = ((encoding, _decoded(sample, encoding)) for encoding in encodings)
    return [
        _Reading(_east_asian_score(text, encoding) - _ASCII * _within(sample, text), encoding, text)
        for encoding, text in texts
        if text
    ]


def _within(sample: bytes, text: str) -> int:
    """Return how many ASCII bytes are parts of multi-byte characters of ``text``."""
    return sum(byte < 0x80 for byte in sample) - sum(char <= "\x7f" for char in text)


def _fits(sample: bytes, encoding: str) -> bool:
    """Return whether ``sample`` is East Asian text in ``encoding``: mostly words of two or more characters."""
    text = _decoded(sample, encoding)
    if text is None:
        return False
    foreign = [char for char in text if char > "\x7f"]
    usual = sum(bool(_EAST_ASIAN_LETTER.match(char)) for char in foreign)
    alone = len(_ALONE.findall(text))
    return usual >= max(1.0, _USUAL * len(foreign)) and alone <= _MOST_ALONE * len(foreign)


def _decoded(sample: bytes, encoding: str) -> str | None:
    """Return ``sample`` decoded, with U+FFFD for a character cut at its end; None if it is not in ``encoding``."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(sample)
    except UnicodeDecodeError:
        return None
    return f"{text}\ufffd" if decoder.getstate()[0] else text


def _has_controls(sample: bytes) -> bool:
    return bool(re.search(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]", sample))


_LEAST_CHARACTERS: Final = 4
"""The minimum number of different characters in a text: fewer are a table of numbers."""


def _plausible(sample: bytes, encoding: str) -> float:
    """Return how likely ``sample`` is text in this UTF-16 encoding, 0.0 if it is not."""
    text = (_decoded(sample, encoding) or "").removesuffix("\ufffd")
    if not text:
        return 0.0
    kinds = [unicodedata.category(char) for char in text]
    good = sum(
        kind[0] in "LNPZ" or char in "\n\r\t" or kind in ("Mn", "Mc", "Sm", "Sc")
        for kind, char in zip(kinds, text, strict=True)
    )
    plain = sum(char in " \n\r\t,.;:!?-'\"()、。，．！？" or char.isascii() for char in text)
    blocks = len({ord(char) >> 8 for char in text if not "\u4e00" <= char <= "\ud7a3"})
    if (
        len(set(text)) < _LEAST_CHARACTERS
        or good < 0.97 * len(text)
        or (not plain and len({ord(char) >> 8 for char in text}) > 1)
        or blocks > 8 + len(text) / 200
    ):
        return 0.0
    return good / len(text) - blocks / 100 + plain / len(text)


def _east_asian_score(text: str, encoding: str) -> float:
    """Return the log probability of the non-ASCII characters of ``text`` in the language of ``encoding``."""
    table = "euc_jp" if encoding == "cp932" else encoding
    broken = _BROKEN_KANA * len(_NO_HALF_WIDTH.findall(text))
    return broken + sum(_character_cost(char, table) for char in text if char > "\x7f")


@cache
def _frequent(table: str) -> frozenset[str]:
    return frozenset(_FREQUENT[table])


def _character_cost(char: str, table: str) -> float:
    if _IS_SIGN.match(char):
        return _SIGN
    if _IS_KANA.match(char):
        return _KANA if table == "euc_jp" else _RARE
    if table == "euc_jp" and _IS_HALF_WIDTH.match(char):
        return _HALF_WIDTH_KANA
    if char in _frequent(table):
        return _COSTS[table][0]
    standard, first, last = _LEAD_BYTES[table]
    lead = char.encode(standard, "ignore")[:1]
    return _COSTS[table][1] if lead and first <= lead[0] <= last else _RARE
