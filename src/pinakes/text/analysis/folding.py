"""Variants of a word: without accents, with equivalent letters, the singular of an irregular plural.

A word as it is written comes first; these stand in for it. ``é`` is ``e``; ``ß`` is ``ss``; ``ä`` is ``a`` and ``ae``;
``ø`` is ``o``; ``ł`` is ``l``. In Arabic signs for short vowels and the forms of hamza and alef are one, and a word is
found without its article, and a Hebrew one, which loses its points. What an apostrophe joins to an article (``l'été``)
is found without that; a word with hyphens (``e-mail``, ``SHA-256``) also as one word.
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
"""Separate letters, although Unicode decomposes them into a letter and a mark."""

_ARABIC = re.compile("[\u0600-\u06ff]")
_VOWELS = re.compile("[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
_ARABIC_LETTERS = str.maketrans("أإآٱىةؤئکی", "اااايهويكي")
_ARTICLE = re.compile("^(?:[وفبك]?ال|لل)(?=.{2})")
_HEBREW = re.compile("[\u0591-\u05bd\u05bf-\u05c7]")
_HEBREW_ARTICLE = re.compile("^[וב]?ה(?=[א-ת]{3})")
_ELISION = re.compile(
    "^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu|un|gl|all|dall|dell|nell|sull|coll|quest|quell|sant)'(?=[^\\W\\d_]{3})"
)
"""Articles and pronouns elided before a vowel: ``l'été``, ``d'eau``, ``dell'arte``; no short English words."""

_HYPHENED = re.compile(r"[^\W\d_]+(?:-[^\W_]+){1,2}|(?=[\d-]{10,30}$)\d+(?:-\d+)+")
"""Words of two or three parts of which the first is of letters, and long numbers in groups."""

_IRREGULAR = (
    "indices index, matrices matrix, vertices vertex, vortices vortex, appendices appendix, codices codex, apices "
    "apex, helices helix, cortices cortex, directrices directrix, criteria criterion, phenomena phenomenon, automata "
    "automaton, polyhedra polyhedron, bacteria bacterium, curricula curriculum, strata stratum, errata erratum, "
    "memoranda memorandum, symposia symposium, millennia millennium, quanta quantum, spectra spectrum, maxima "
    "maximum, minima minimum, optima optimum, extrema extremum, addenda addendum, schemata schema, lemmata lemma, "
    "stigmata stigma, mice mouse, lice louse, geese goose, feet foot, teeth tooth, men man, women woman, children "
    "child, oxen ox, people person, analyses analysis, crises crisis, theses thesis, hypotheses hypothesis, syntheses "
    "synthesis, parentheses parenthesis, diagnoses diagnosis, axes axis, oases oasis, ellipses ellipsis, emphases "
    "emphasis, prognoses prognosis, antitheses antithesis, metamorphoses metamorphosis, nuclei nucleus, radii radius, "
    "stimuli stimulus, fungi fungus, cacti cactus, foci focus, loci locus, alumni alumnus, syllabi syllabus, bacilli "
    "bacillus, calculi calculus, moduli modulus, tori torus, abaci abacus, termini terminus, corpora corpus, genera "
    "genus, algae alga, larvae larva, formulae formula, antennae antenna, vertebrae vertebra, nebulae nebula, alumnae "
    "alumna, leaves leaf, lives life, knives knife, wives wife, wolves wolf, shelves shelf, halves half, calves calf, "
    "loaves loaf, thieves thief, scarves scarf, hooves hoof, elves elf, dwarves dwarf, sheaves sheaf, wharves wharf, "
    "selves self, bookshelves bookshelf, midwives midwife, housewives housewife, penknives penknife, subindices "
    "subindex, submatrices submatrix, radices radix, bases basis, neuroses neurosis, paralyses paralysis, hydrolyses "
    "hydrolysis, catalyses catalysis, ganglia ganglion, mitochondria mitochondrion, taxa taxon, phyla phylum, sera "
    "serum, ova ovum, septa septum, referenda referendum, momenta momentum, vacua vacuum, stadia stadium, aquaria "
    "aquarium, uteri uterus, thesauri thesaurus, octopi octopus, bureaux bureau, plateaux plateau, tableaux tableau, "
    "chateaux chateau, dice die, pence penny, quizzes quiz, aliases alias, gases gas, buses bus, canvases canvas, "
    "lenses lens, policemen policeman, firemen fireman, chairmen chairman, businessmen businessman, craftsmen "
    "craftsman, salesmen salesman, grandchildren grandchild, schoolchildren schoolchild"
)


@cache
def irregular() -> dict[str, str]:
    """Return irregular plural → singular."""
    pairs = (pair.split() for pair in _IRREGULAR.split(", "))
    return {plural: singular for plural, singular in pairs}  # noqa: C416


def folded(word: str) -> str:
    """Return a lower-cased ``word`` without accents."""
    if word.isascii():
        return word
    if _ARABIC.search(word):
        return _VOWELS.sub("", word).translate(_ARABIC_LETTERS)
    word = _HEBREW.sub("", word.translate(_LETTERS))
    if _KEPT.search(word):
        return "".join(part if part == "й" else _without_marks(part) for part in re.split("(й)", word))
    return _without_marks(word)


def forms(word: str) -> tuple[str, ...]:
    """Return the variants of a lower-cased ``word``, except itself."""
    if word.isascii():
        other = irregular().get(word) or (_ELISION.sub("", word) if "'" in word else _joined(word))
        return (other,) if other != word else ()
    found = [folded(word), folded(_joined(word))]
    if _ARABIC.search(word):
        found.append(_ARTICLE.sub("", found[0]))
    elif _ELISION.match(word):
        found += [_ELISION.sub("", one) for one in (word, found[0])]
    elif _HEBREW_ARTICLE.match(found[0]):
        found.append(_HEBREW_ARTICLE.sub("", found[0]))
    elif _SPELLED.search(word):
        found.append(_without_marks(word.translate(_SPELLED_OUT).translate(_LETTERS)))
    return tuple(dict.fromkeys(one for one in found if one and one != word))


def _joined(word: str) -> str:
    """Return a word without its hyphens where it is often written so: ``e-mail``, ``utf-8``, ``978-3-16-148410-0``."""
    return word.replace("-", "") if "-" in word and _HYPHENED.fullmatch(word) else word


def _without_marks(word: str) -> str:
    """Return a word of Latin, Greek or Cyrillic letters without accents; other words are not changed."""
    if word.isascii():
        return word
    letters = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(char for char in letters if not "\u0300" <= char <= "\u036f"))


def letters_of(part: str) -> str:
    """Return a word without marks that are no letters (of ``İ``, of Arabic vowels); "" if it has other signs."""
    if part.isalpha() or part.isascii():
        return part if part.isalpha() else ""
    plain = "".join(char for char in part if not unicodedata.combining(char))
    return plain if plain.isalpha() else ""
