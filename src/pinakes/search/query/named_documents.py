"""Documents that a query names: by path or address, or by an identifier such as ``RFC-0011`` or ``KEP 753``.

Most texts with an identifier only refer to the document that has it. Whoever searches for the identifier wants that
document as well, so its best chunk comes first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

import numpy as np

from pinakes.catalog import Connection
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.filters import normal_name
from pinakes.core.records import Int64, Ranking
from pinakes.core.wording import cut
from pinakes.search.query.spelling import lacked_word
from pinakes.text import identifiers
from pinakes.text.analysis import STOP_WORDS

_MOST_NAMES = 5
_MOST_DOCUMENTS = 20
"""What fits more documents names none of them."""

_MOST_CHARS, _SHOWN = 500, 60
_FIRST = "of that name comes first"
_AROUND = ".,;:!?()[]{}<>\"'`“”„«»‘’|*"
_ENDS_AS_FILE = re.compile(r"[^\s/\\][^/\\]*\.[^\W_]\w{0,7}")
_NUMBERED = re.compile(r"([^\W\d_]{2,16})[-_ ]?(\d{1,8})")
_JOINED = re.compile(r"[^\W\d_]{2,16}\d{3,8}")
_PAIR = re.compile(r"\b([^\W\d_]{2,16})(?: |: ?| ?#| (?:no|nr|number)\.? )(\d{1,8})\b(?![.\w-])", re.IGNORECASE)
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_OWN = re.compile(r"(?<=\w)['’]s\b")
_WITHIN = re.compile(r"(\.\w{1,8})(?::\d+(?:-\d+|:\d+)?|#[^\s/]*)$|(?<=\w)#[^\s/]*$")
"""Lines or a heading behind a file or an address: ``keys.md:10-20``, ``https://example.org/keys#risks``."""

_LINES = re.compile(r"(?::|#L)(\d{1,9})(?:-L?(\d{1,9})|:\d+)?$")
"""Lines behind a file: ``keys.md:10-20``, ``keys.md:10``, ``keys.md:10:4`` (a column), ``keys.md#L10-L20``."""

_TIME_OR_PORT = re.compile(r"(?:^|\s)(?:[\d.]+|[\w.-]+\.(?:com|edu|gov|io|net)):\d+$", re.IGNORECASE)
"""No lines behind a file: ``10.30:45``, ``127.0.0.1:8080``, ``example.com:8080``; ``notes.org:80`` may be one."""

_Lines: TypeAlias = tuple[int, int] | None

_OF_NUMBER = ("number", "id", "no")
_IDENTIFYING = ("id", "identifier", "key", "number")


@dataclass(frozen=True, slots=True)
class NamedDocuments:
    """``documents``: ids of those that ``name``, a part of the query, stands for.

    ``written``: the name with what stands behind it; ``lines``: the first and the last line of that, None without.
    """

    name: str
    documents: tuple[int, ...]
    written: str
    lines: _Lines = None

    def longest(self, owners: Int64) -> NamedDocuments | None:
        """Return this with the document that has the most chunks, given the documents of all chunks; None without."""
        counts = [int(np.count_nonzero(owners == one)) for one in self.documents]
        return replace(self, documents=(self.documents[counts.index(max(counts))],)) if any(counts) else None


@dataclass(frozen=True, slots=True)
class _Identifier:
    """An identifier ``name``; the title of the document that has it begins with one of ``spellings``.

    Or its metadata has it: each of ``metadata`` is fields and the values, one of which one of them has.
    """

    name: str
    spellings: Sequence[str]
    metadata: Sequence[tuple[Sequence[str], Sequence[str]]]


def named_documents(connection: Connection, collection: CollectionRecord, text: str) -> list[NamedDocuments]:
    """Return what a query names, at most five names; ambiguous ones are left out."""
    from pinakes.catalog.document_identifiers import identified, placed

    found: list[NamedDocuments] = []
    for name, lines, written in _places(text):
        ids = tuple(placed(connection, collection.id, name, _MOST_DOCUMENTS))
        if len(ids) == 1 and (ids, lines) not in ((one.documents, one.lines) for one in found):
            found.append(NamedDocuments(name, ids, written, lines))
    for identifier in _identifiers(text):
        ids = tuple(identified(connection, collection.id, identifier.spellings, identifier.metadata, _MOST_DOCUMENTS))
        if ids and ids not in (one.documents for one in found):
            found.append(NamedDocuments(identifier.name, ids, identifier.name))
    return found[:_MOST_NAMES]


def openings(connection: Connection, text: str, named: Sequence[NamedDocuments]) -> Ranking:
    """Return the chunks to show of documents that ``text`` names whatever its words are; scores are 0.

    Of a document with lines, the chunk that has most of them; else, if ``text`` says nothing else, the first chunk.
    """
    from pinakes.catalog.document_identifiers import chunk_at, chunks_of

    only = is_only_named(text, named)
    found = [chunk_at(connection, one.documents, *one.lines) for one in named if one.lines]
    found += [chunks_of(connection, one.documents, 1) for one in named if only and not one.lines]
    ids, first = np.unique(np.concatenate([one.ids for one in found]) if found else np.empty(0, np.int64), True)
    owners = np.concatenate([one.documents for one in found])[first] if found else np.empty(0, np.int64)
    return Ranking(ids, owners, np.zeros(len(ids), np.float32))


@lru_cache(maxsize=256)
def may_name(text: str) -> bool:
    """Return whether any word of ``text`` looks like the name of a document."""
    return any(True for _ in _places(text)) or any(True for _ in _identifiers(text))


def is_only_named(text: str, named: Sequence[NamedDocuments]) -> bool:
    """Return whether ``text`` is nothing but the names of ``named``, and stop words: ``what is KEP-753``."""
    rest = _plain(" ".join(_file_of(word.rstrip(_AROUND)) for word in text.split()))
    for one in named:
        rest = rest.replace(_plain(one.name), " ")
    return all(word.lower() in STOP_WORDS for word in re.findall(r"\w+", rest))


def _places(text: str) -> Iterator[tuple[str, _Lines, str]]:
    """Yield paths and addresses, the whole text, or words with folders or lines: each, the lines, how it is written."""
    whole = text.strip().strip("\"'`")
    words = list(dict.fromkeys(word.strip(_AROUND) for word in text.split()))
    written = [word for word in words if _lines_of(word) or not {"/", "\\"}.isdisjoint(_file_of(word))]
    if "\n" not in whole and not any(map(_lines_of, words[:-1])):
        written.insert(0, whole)
    found: dict[tuple[str, _Lines], str] = {}
    for one in written:
        if _is_place(_file_of(one)):
            found.setdefault((_file_of(one), _lines_of(one)), one)
    yield from ((name, lines, one) for (name, lines), one in islice(found.items(), _MOST_NAMES))


def _lines_of(word: str) -> _Lines:
    """Return the first and the last line that are named behind a file; None without."""
    found = _LINES.search(word) if _file_of(word) != word else None
    if found is None:
        return None
    first = max(1, int(found[1]))
    return first, max(first, int(found[2] or 0))


def _file_of(word: str) -> str:
    """Return a path or an address without the lines or the heading behind it, any other word as it is."""
    if ":" not in word and "#" not in word:  # as of nearly all words
        return word
    if _TIME_OR_PORT.search(word) or not re.search(r"://|\.\w{1,8}[:#]", word):
        return word
    return _WITHIN.sub(r"\1", word)


def _is_place(word: str) -> bool:
    if len(word) > _MOST_CHARS:
        return False
    parts = re.split(r"[/\\]", word)
    return "://" in word or bool(_ENDS_AS_FILE.fullmatch(parts[-1])) or len([part for part in parts if part]) > 2


def _identifiers(text: str) -> Iterator[_Identifier]:
    """Yield the identifiers with numbers in ``text``: ``RFC-0011``, ``INV-2024-0113``, ``KEP 753``, ``KEP #753``."""
    text = _plain(text)
    text = " ".join(part for word in text.split() for part in _listed(word))
    joined = (one for word in text.split() if _JOINED.fullmatch(one := word.strip(_AROUND)))
    wholes = [one for one in dict.fromkeys([*identifiers.numbered(text), *joined]) if one[0].isalpha()]
    for whole in wholes[:_MOST_NAMES]:
        numbered = _NUMBERED.fullmatch(whole)
        if numbered is None:
            yield _Identifier(whole, [whole], [(_IDENTIFYING, [whole])])
        else:
            kind, number = numbered.groups()
            spellings = [f"{kind}{sign}{number}" for sign in ("-", "_", " ", "")]
            yield _Identifier(whole, spellings, [(_IDENTIFYING, spellings), _numbers(kind, number, spellings)])
    for match in list(_PAIR.finditer(text))[:_MOST_NAMES]:
        kind, number = match.groups()
        yield _Identifier(match[0], [f"{kind}-{number}"], [_numbers(kind, number)])


def _plain(text: str) -> str:
    """Return ``text`` without genitives, with one form of dashes and letters."""
    return _OWN.sub("", unicodedata.normalize("NFKC", text).translate(_DASHES))


def _listed(word: str) -> list[str]:
    """Return the parts of a list without blanks, ``KEP-753,KEP-127`` or ``KEP-753/KEP-127``; else the word itself."""
    parts = re.split(r"[,;/]", word.strip(_AROUND))
    return parts if len(parts) > 1 and all(map(_NUMBERED.fullmatch, parts)) else [word]


def _numbers(kind: str, number: str, spellings: Sequence[str] = ()) -> tuple[Sequence[str], Sequence[str]]:
    """Return the metadata fields of the numbers of a kind, and what they may have: the number, or ``spellings``."""
    return [f"{normal_name(kind)}_{end}" for end in _OF_NUMBER], [number, number.lstrip("0") or "0", *spellings]


def names_notes(names: Iterable[str], what: str = "the best chunk of the document") -> list[str]:
    """Return the note that ``what`` of these names comes first, each once; none without names (also empty ones)."""
    quoted = ", ".join(repr(cut(name, _SHOWN)) for name in dict.fromkeys(names) if name)
    return [f"{quoted}: {what} {_FIRST}"] if quoted else []


def is_names_note(note: str) -> bool:
    """Return whether ``note`` is one of ``names_notes``."""
    return note.endswith(_FIRST)


def without_names(notes: Iterable[str], named: Sequence[NamedDocuments]) -> tuple[str, ...]:
    """Return ``notes`` without those that no chunk has a word which is the name of a document, or whole words of it."""
    names = [_plain(one.written).casefold() for one in named]
    lacked = ((note, _plain(lacked_word(note)[1:-1]).casefold()) for note in notes)
    return tuple(note for note, word in lacked if not word or not any(_is_part(word, name) for name in names))


def _is_part(word: str, name: str) -> bool:
    """Return whether ``word`` stands in ``name`` with no letter or digit before or behind it."""
    return re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", name) is not None
