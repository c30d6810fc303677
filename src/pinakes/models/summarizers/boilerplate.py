"""Detects boilerplate: text around the prose of a document that says nothing about its subject.

Lines are judged by their form: short items between separators (languages, navigation), a title with a page number
(contents), a label with a value (letterheads, document control), an address alone, one form repeated with other links.
A short line that was not wrapped, before a line that begins anew, is a heading or a line of a cover page: it does not
continue in the next line. Only notices in whole sentences (rights, licences, cookies, generated pages, revision dates)
are detected by phrases.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from pinakes.core.regexes import lazy
from pinakes.text.analysis import STOP_WORDS

ENDED = (*".!?。！？।॥؟۔።։។။", ".)", '."', ".”", ".'", "。」", "。』")
"""The ends of sentences, in any script."""

_MIN_WIDTH, _SHORT, _VERY_SHORT, _MAX_HEADING_CHARS = 45, 0.6, 0.2, 100
"""A line is short below this share of the longest line of its block, which counts as at least ``_MIN_WIDTH``; a line
that continues an unfinished sentence must be very short."""

_MAX_ITEM_WORDS, _MAX_ITEM_CHARS, _MIN_ITEMS = 4, 30, 3
_MIN_RUN = 3
_MAX_NOTE_CHARS, _MAX_DATED_WORDS = 200, 6
_CAPITALS = 0.6

_LINK = lazy(r"\[([^\]\n]{1,300})\](?:\([^)\n]{0,1000}\)|\[[^\]\n]{0,300}\])")
_SPLIT_LINK = lazy(r"\[([^\]\[\n]{1,200})\n[ \t]*([^\]\[\n]{1,200})\]\(")
_ITEM = lazy(r"\s*(?:[-*+•]|\(?\d{1,3}[.)])\s+")
_SET_APART = lazy(r"\s*(?:#{1,6}\s|\||```|~~~|<|([-=*_~^\"'`#.:+])\1{2,}\s*$)")
_SEPARATOR = lazy(r"\s{0,9}[·•‧∙|｜]\s{0,9}|\s{1,9}(?:[›»>→/⟩]|[-=]>)\s{1,9}")
_SEPARATORS = "·•‧∙|｜›»>→/⟩"
_LEADER = lazy(r"(?:(?:\.[ \t]?){4,}|…{2,}|\t| {3,})[ \t]*(?:\d{1,4}|[ivxlc]{1,6})\s*\Z")
_LEADER_CHARS = 60
_PAGE = lazy(r"\D(\d{1,4})\s*\Z")
_FIELD = lazy(r"\W{0,4}([^\W\d_][\w /&().'’#-]{0,30}?)[ \t*_]{0,4}(?::[ \t*_]+|：)(\S.{0,120})")
_ADDRESS = lazy(r"\b(?:https?://|www\.)\S+|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]+")
_DATE = lazy(
    r"(?<!\d)(?:\d{4}[-/.年]\s?\d{1,2}(?:[-/.月]\s?\d{1,2})?日?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|(?:19|20)\d\d)(?!\d)"
)
_WORD = lazy(r"[^\W\d_]+")

_REVISED = lazy(
    r"\b(?:(?:last|first) )?(?:updated?|modified|published|posted|reviewed|revised|printed|edition)\b"
    r"|\b(?:aktualisiert|geändert|veröffentlicht|stand)\b|\bmise? à jour\b|\bpublié|\bactualizad|\bpublicad"
    r"|\baggiornat|обновлен|опубликован|更新|発行|公開|发布|업데이트",
    re.I,
)
_WRITTEN_BY = lazy(r"\W*(?:(?:written|posted|published|authored|edited|translated|reviewed) by|by|von|par|por)\b", re.I)

_NOTICE_WORDS = (
    *("©", "(c) ", "copyright", "rights", "rechte", "droits", "derechos", "diritti", "права", "版权", "無断", "isbn"),
    *("spdx", "licen", "warrant", "permission is", "redistribut", "may not use", "as is", "do not edit", "coding"),
    *("vim:", "table of contents", "cookie"),
)
"""Each notice that ``_NOTICE`` matches contains one of these; checking them first is faster."""

_NOTICE = lazy(
    r"""
      © | \(c\)\s(?:19|20)\d\d | \bcopyright\s(?:\(c\)|©|(?:19|20)\d\d|by\b|holders?\b|notice\b)
    | \ball\srights\sreserved | alle\srechte\svorbehalten | tous\sdroits\sréservés | todos\slos\sderechos\sreservados
    | tutti\si\sdiritti\sriservati | все\sправа\sзащищены | 版权所有 | 無断転載 | \bisbn\b
    | spdx- | \blicen[sc]ed?\s(?:under|to)\s(?:the|a|you|one)\b | without\s(?:any\s)?warrant
    | warranties\sor\sconditions
    | permission\sis\shereby | redistribution\sand\suse | redistribute\sit\sand | you\smay\snot\suse\sthis\sfile
    | obtain\sa\scopy\sof\sthe\slicen | general\spublic\slicen[sc]e | provided\s["“]as\sis
    | \bdo\snot\sedit\b.{0,40}\Z | coding[:=] | \bvim: | \Atable\sof\scontents
    | \A\W*(?:we|this\s(?:web)?site|our\s(?:web)?site|the\s(?:web)?site)\s(?:also\s)?uses?\s(?:\w+\s){0,3}cookies
    | \A\W*by\s(?:continuing|using|clicking|browsing)\b.{0,200}\bcookies | \b(?:accept|reject|manage)\s(?:all\s)?cookies
    | (?:verwende[nt]|nutz(?:en|t))\s(?:\w+\s){0,3}cookies | utilis(?:e|ons)\sdes\scookies
    | utiliza(?:mos)?\s(?:\w+\s)?cookies | utilizz(?:a|iamo)\s(?:i\s)?cookie | cookie\s?を使用 | 使用\s?cookie
    """,
    re.VERBOSE,
)
_OPENING = lazy(
    r"""\W*(?:
      code\sgenerated\sby
    | (?:this|the)\s(?:page|file|document|report|site|content|text)s?\s(?:is|are|was|were|has\sbeen)
      \s(?:auto|generated|machine)
    | all\sfiles\sin\sthis\s\w+\sare\sauto
    | (?:diese|die|dieses)\s(?:seite|datei|dokument)\s(?:wurde|ist)\s(?:auto|maschinell|generiert)
    | (?:cette|ce)\s(?:page|document|fichier)\s(?:a\sété|est)\s(?:auto|géné)
    | (?:esta|este)\s(?:página|documento|archivo)\s(?:fue|ha\ssido|es)\s(?:auto|gener)
    | (?:click\shere|subscribe\sto|sign\sup\s(?:for|to)|follow\sus|share\sthis|skip\sto|back\sto\stop)\b
    )""",
    re.VERBOSE,
)
"""Notices that are recognised by their beginning."""


def is_notice(sentence: str) -> bool:
    """Return whether a sentence is a notice, an address, a revision date, or all in capitals."""
    lowered = sentence.lower()
    if any(word in lowered for word in _NOTICE_WORDS) and _NOTICE.search(lowered):
        return True
    if _OPENING.match(lowered) or _is_in_capitals(sentence):
        return True
    return _is_dated(sentence) or _is_address(sentence)


def without_furniture(text: str, title: str = "") -> str:
    """Return ``text`` with lines that are not prose emptied, and a blank line after lines that do not continue.

    Markdown headings and lists, tables and code are unchanged.
    """
    lines = _SPLIT_LINK.sub(r"[\1 \2](", text).split("\n")
    forms = Counter(map(_form, lines))
    repeated = frozenset(form for form, count in forms.items() if form and count >= _MIN_RUN)
    kept: list[str] = []
    for empty, rows in groupby(lines, key=lambda line: not line.strip()):
        block = list(rows)
        kept.extend(block if empty else _prose_lines(block, repeated, title))
    return "\n".join(kept)


def _form(line: str) -> str:
    """Return a line with its links replaced by placeholders; "" if it has no links, or hardly any other words."""
    if not ("](" in line or "][" in line):
        return ""
    form = _LINK.sub("[]", line)
    return form if len(_WORD.findall(form)) > 1 else ""


def _prose_lines(block: Sequence[str], repeated: frozenset[str], title: str) -> list[str]:
    """Return the lines of a block without boilerplate, with blank lines where a new sentence begins."""
    plain = [(_LINK.sub(r"\1", line) if "](" in line else line).strip("> \t\r*_") for line in block]
    furniture = _grouped_furniture(plain)
    width = max(_MIN_WIDTH, max(map(len, plain)))
    kept: list[str] = []
    all_short, begun = True, False
    for row, line in enumerate(block):
        if row in furniture or (repeated and _form(line) in repeated) or _is_furniture(line, plain[row]):
            kept.append("")
            all_short, begun = True, False
            continue
        kept.append(line)
        short = _VERY_SHORT if begun else _SHORT
        all_short = all_short and len(plain[row]) < min(short * width, _MAX_HEADING_CHARS)
        behind = block[row + 1 : row + 2]
        apart = all_short and behind and _is_apart(line, plain[row], behind[0], plain[row + 1], title)
        if apart:
            kept.append("")
        begun = not apart and not plain[row].endswith(ENDED)
        all_short = all_short or not begun
    return kept


def _is_apart(line: str, plain: str, following: str, plain_following: str, title: str) -> bool:
    """Return whether a short line does not continue in the following line."""
    if any(map(_SET_APART.match, (line, following))) or _ITEM.match(following) or "](" in line:
        return False  # marked lines are recognised elsewhere, and a link may be longer than it looks
    if (_ITEM.match(line) and following[:1].isspace()) or following.lstrip()[:1] in "[`":
        return False
    first = plain_following.lstrip("\"'“‘¿¡«„")[:1]
    return first.isalnum() and not first.islower() and (plain in title or _is_heading(plain))


def _is_heading(plain: str) -> bool:
    """Return whether a line looks like a heading or a line of a cover page rather than part of a sentence."""
    words = plain.split()
    if not words or not (plain[-1].isalnum() or plain[-1] in ":)?!*∗”’") or plain.count("(") > plain.count(")"):
        return False
    if words[-1].lower() in STOP_WORDS or not plain.lstrip("\"'“‘¿¡«„(")[:1].isalnum() or plain[0].islower():
        return False
    if plain.endswith(":") or len(words) <= 2 or (len(words) <= 4 and words[0].lower() not in STOP_WORDS):
        return True
    telling = [word for word in words if word.lower() not in STOP_WORDS and word[0].isalnum()]
    return sum(not word[0].islower() for word in telling) >= _CAPITALS * len(telling)


def _is_furniture(line: str, plain: str) -> bool:
    if _SET_APART.match(line) or not plain:
        return False
    if plain.endswith(ENDED):
        return len(plain) <= _MAX_NOTE_CHARS and (_is_credits(plain) or _is_dated(plain))
    if (
        _LEADER.search(plain[-_LEADER_CHARS:])
        or _is_row_of_items(line, plain)
        or _is_address(plain)
        or _is_dated(plain)
    ):
        return True
    field = _field(plain)
    if field is not None:
        return _is_address(field) or _is_date(field)
    return bool(_WRITTEN_BY.match(plain)) and len(plain) <= _MAX_HEADING_CHARS and bool(_DATE.search(plain))


def _grouped_furniture(plain: Sequence[str]) -> set[int]:
    """Return the indices of lines that are boilerplate because of their neighbours: fields, and titles with pages."""
    if len(plain) < 2:
        return set()
    found: set[int] = set()
    fields = [_field(line) is not None and not line.endswith(ENDED) for line in plain]
    pages = [_PAGE.search(line[-6:]) if line[-1:].isdigit() else None for line in plain]
    start = 0
    for row in range(1, len(plain) + 1):
        if row == len(plain) or fields[row] != fields[row - 1]:
            if fields[row - 1] and row - start >= 2:
                found.update(range(start, row))
            start = row
    start = 0
    for row in range(1, len(plain) + 1):
        before, here = pages[row - 1], pages[row] if row < len(plain) else None
        if before is None or here is None or int(here[1]) < int(before[1]):
            if before is not None and row - start >= _MIN_RUN:
                found.update(range(start, row))
            start = row
    return found


def _is_row_of_items(line: str, plain: str) -> bool:
    """Return whether a line consists of short items between separators, or of adjacent links."""
    links = _LINK.findall(line) if "](" in line or "][" in line else []
    if len(links) >= _MIN_ITEMS and len(_WORD.findall(_LINK.sub(" ", line))) <= 2:
        return True
    if not any(sign in plain for sign in _SEPARATORS):
        return False
    items = [item for item in _SEPARATOR.split(plain) if item]
    if len(items) < (2 if links else _MIN_ITEMS):
        return False
    return all(len(item) <= _MAX_ITEM_CHARS and 0 < len(item.split()) <= _MAX_ITEM_WORDS for item in items)


def _is_credits(plain: str) -> bool:
    """Return whether a line has only labels with names: ``Editor: Ada Lovelace. Printer: Babbage & Co.``"""
    parts = [part for part in re.split(r"(?<=[^\W\d_]{2})\.(?:\s+|\Z)", plain) if part.strip()]
    return len(parts) >= 2 and all(
        (value := _field(part)) is not None and len(value.split()) <= _MAX_ITEM_WORDS + 1 for part in parts
    )


def _field(plain: str) -> str | None:
    """Return the value of a line with a label and a value; None for any other line."""
    found = _FIELD.fullmatch(plain) if ":" in plain or "：" in plain else None
    return found and found[2]


def _is_address(text: str) -> bool:
    """Return whether a text is little more than an address."""
    if not ("@" in text or "://" in text or "www." in text):
        return False
    return bool(_ADDRESS.search(text)) and len(_WORD.findall(_ADDRESS.sub(" ", text))) <= 2


def _is_date(text: str) -> bool:
    return bool(_DATE.search(text)) and len(_WORD.findall(_DATE.sub(" ", text))) <= 2


def _is_dated(text: str) -> bool:
    """Return whether a short text says when something was revised."""
    if len(text) > _MAX_NOTE_CHARS or not _DATE.search(text) or not _REVISED.search(text):
        return False
    return len(_WORD.findall(text)) <= _MAX_DATED_WORDS


def _is_in_capitals(text: str) -> bool:
    return sum(map(str.__ne__, text, text.lower())) > _CAPITALS * len(text)
