"""Other forms of a word: without accents, with other letters for the same sound, the singular of an irregular plural.

A word as it is written comes first; these stand in for it. ``é`` is ``e``; ``ß`` is ``ss``; ``ä`` is ``a`` and ``ae``;
``ø`` is ``o``; ``ł`` is ``l``. In Arabic signs for short vowels and the forms of hamza and alef are one, and a word is
found without its article. Hebrew loses its points.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_LETTERS = str.maketrans(
    {
        "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i", "ħ": "h",
        "ŧ": "t", "ŋ": "n", "ĳ": "ij", "ς": "σ", "ё": "е", "ґ": "г",
    }
)  # fmt: skip
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "ß": "ss", "æ": "ae", "œ": "oe"})
_SPELLED = re.compile("[äöüåø]")
_KEPT = re.compile("[й]")
"""Letters of their own, though Unicode takes them for others with a mark."""

_ARABIC = re.compile("[\u0600-\u06ff]")
_VOWELS = re.compile("[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
_ARABIC_LETTERS = str.maketrans("أإآٱىةؤئکی", "اااايهويكي")
_ARTICLE = re.compile("^(?:[وفبك]?ال|لل)(?=.{2})")
_HEBREW = re.compile("[\u0591-\u05bd\u05bf-\u05c7]")

_IRREGULAR = (
    "indices index, matrices matrix, vertices vertex, vortices vortex, appendices appendix, codices codex, apices "
    "apex, helices helix, cortices cortex, directrices directrix, criteria criterion, phenomena phenomenon, "
    "automata automaton, polyhedra polyhedron, bacteria bacterium, curricula curriculum, strata stratum, errata "
    "erratum, memoranda memorandum, symposia symposium, millennia millennium, quanta quantum, spectra spectrum, "
    "maxima maximum, minima minimum, optima optimum, extrema extremum, addenda addendum, schemata schema, lemmata "
    "lemma, stigmata stigma, mice mouse, lice louse, geese goose, feet foot, teeth tooth, men man, women woman, "
    "children child, oxen ox, people person, analyses analysis, crises crisis, theses thesis, hypotheses "
    "hypothesis, syntheses synthesis, parentheses parenthesis, diagnoses diagnosis, axes axis, oases oasis, "
    "ellipses ellipsis, emphases emphasis, prognoses prognosis, antitheses antithesis, metamorphoses "
    "metamorphosis, nuclei nucleus, radii radius, stimuli stimulus, fungi fungus, cacti cactus, foci focus, loci "
    "locus, alumni alumnus, syllabi syllabus, bacilli bacillus, calculi calculus, moduli modulus, tori torus, "
    "abaci abacus, termini terminus, corpora corpus, genera genus, algae alga, larvae larva, formulae formula, "
    "antennae antenna, vertebrae vertebra, nebulae nebula, alumnae alumna, leaves leaf, lives life, knives knife, "
    "wives wife, wolves wolf, shelves shelf, halves half, calves calf, loaves loaf, thieves thief, scarves scarf, "
    "hooves hoof, elves elf, dwarves dwarf, sheaves sheaf"
)


@cache
def irregular() -> dict[str, str]:
    """Return irregular plural → singular."""
    pairs = (pair.split() for pair in _IRREGULAR.split(", "))
    return {plural: singular for plural, singular in pairs}  # noqa: C416


def folded(word: str) -> str:
    """Return a lower-cased ``word`` in plain letters."""
    if word.isascii():
        return word
    if _ARABIC.search(word):
        return _VOWELS.sub("", word).translate(_ARABIC_LETTERS)
    word = _HEBREW.sub("", word.translate(_LETTERS))
    if _KEPT.search(word):
        return "".join(part if part == "й" else _without_marks(part) for part in re.split("(й)", word))
    return _without_marks(word)


def forms(word: str) -> tuple[str, ...]:
    """Return the other forms of a lower-cased ``word``, none that is the word itself."""
    if word.isascii():
        singular = irregular().get(word)
        return (singular,) if singular else ()
    found = [folded(word)]
    if _ARABIC.search(word):
        found.append(_ARTICLE.sub("", found[0]))
    elif _SPELLED.search(word):
        found.append(_without_marks(word.translate(_SPELLED_OUT).translate(_LETTERS)))
    return tuple(dict.fromkeys(one for one in found if one and one != word))


def _without_marks(word: str) -> str:
    """Return a word of Latin, Greek or Cyrillic letters without accents; others are left as they are."""
    if word.isascii():
        return word
    letters = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(char for char in letters if not "\u0300" <= char <= "\u036f"))
