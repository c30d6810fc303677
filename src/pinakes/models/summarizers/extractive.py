"""Extractive summaries: sentences of the text, chosen deterministically and without a model.

The opening of a text usually says what it is about, so a sentence is weighted by its position, then by the words that
it shares with the title and with the whole text. For code, the summary is the leading comment and the defined names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from pinakes.core.records import Document, Summary
from pinakes.core.regexes import lazy
from pinakes.models.summarizers.boilerplate import ENDED, is_notice, without_furniture
from pinakes.settings import ChatSettings, SummarySettings
from pinakes.text.analysis import STOP_WORDS

MAX_CHARS = 600
"""Maximum length of a summary, except that its first sentence is never cut."""

LOOKED_AT_CHARS = 10_000
"""Only this many characters are examined: later text seldom says what the document is about."""

MAX_LOOKED_AT_CHARS = 5 * LOOKED_AT_CHARS
"""The limit if everything before is lists, tables and the like."""

_MAX_SENTENCES_SEEN = 50
_MAX_SENTENCE_CHARS = 320
_MIN_WORDS, _MIN_CHARS = 5, 24
_MAX_NAMES = 12
_MOST_DIGITS = 0.25
_MOST_SIGNS = 0.25

_PLACE, _TITLE, _WORDS, _SECTION = 1.0, 0.5, 0.5, 0.6
"""Weights: early position, words shared with the title, words shared with the text, a fitting heading above."""

_SAME_SHARE = 0.6
"""A sentence is redundant if a chosen one has this share of its words."""

# Repeats are bounded or possessive, so that matching takes linear time.
_CLUTTER = lazy(
    r"""
    <!--.*?(?:-->|\Z)
    | ^\ {0,3}(?P<fence>`{3,}+|~{3,}+)[^\n]*\n.*?(?:^\ {0,3}(?P=fence)[^\n]*$|\Z)
    | \{\{(?:[^{}]|\{(?!\{)|\}(?!\}))*+\}\}
    | <(?:script|style)\b.*?(?:</(?:script|style)>|\Z)
    | </?[A-Za-z][^<>\n]{0,300}>
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_IMAGE = lazy(r"!\[[^\]\n]{0,300}\](?:\((?:data:[^)\n]*|[^)\n]{0,1000})\)|\[[^\]\n]{0,300}\])?")
_LINK = lazy(r"\[([^\]\n]{1,300})\](?:\([^)\n]{0,1000}\)|\[[^\]\n]{0,300}\])")
_ROLE = lazy(r":[\w.+:-]{1,60}:`([^`<\n]{1,300}?)(?:\s{0,9}<[^`>\n]{0,300}>)?`")
_MARKS = lazy(r"\*\*|__|``?|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|\\(?=[!-/:-@\[-`{-~])")
_ADMONITION = lazy(r"^[>\s]*\[![A-Za-z]+\]")
_LINK_ALONE = lazy(r"\[[^\]\n]+\](?:\([^)\n]*\)|\[[^\]\n]*\])?\W*")
_RULE = lazy(r"\s*([-=*_~^\"'`#.:+])\1{2,}\s*")
_HEADING = lazy(r"\ {0,3}#{1,6}\s+(.*)")
_TABLE = lazy(r"\s*(?:\||\+[-=+]{3,})|.*\|.*\|")
_ITEM = lazy(r"\s*(?:[-*+•]|\(?\d{1,3}[.)])\s+(?:\[[ xX]\]\s*(?P<box>))?")
_DIRECTIVE = lazy(r"\s*(?:\.\.\s|:\w[\w -]*:|\[[^\]]+\]:\s|@\w+|%)")
_MARKUP = lazy(r"\s*(?:\.\. |:[\w-]+:|```|~~~|[=~^\"'`]{3,}\s*$)")
_LEAD = lazy(r"(?:abstract|about|description|executive summary|introduction|overview|purpose|summary|synopsis)\b", re.I)
_END = lazy(r"(?<=[.!?。！？।॥؟۔።։។။])[\"'”’)\]]*(?:\s+(?=[\"'“‘(\[]?[^\Wa-z_])|(?<=[。！？])|\Z)")
_SHORT_FORM_CHARS = 10
_SHORT_FORM = lazy(r"\b(?:e\.g|i\.e|etc|vs|cf|resp|approx|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|Sec|[A-Z])\.$")
_WORD = lazy(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_COMMENT = lazy(
    r"""\A(?:\s|\#![^\n]*\n|<\?php)*+(?:
      (?P<quoted>[rRuU]?(?:\"{3}(?P<double>.*?)\"{3}|'{3}(?P<single>.*?)'{3}))
    | (?P<block>(?:/\*.*?\*/\s*)+)
    | (?P<lines>(?:[ \t]*(?://|\#(?!include|define|if|ifdef|ifndef|pragma|!)|--|;)[^\n]*(?:\n[ \t]*)*)+)
    | (?P<angled><!--.*?-->)
    )""",
    re.DOTALL | re.VERBOSE,
)
_COMMENT_SIGNS = lazy(r"^[ \t]*(?:/\*+!?|\*+/|\*(?!\*)|///?!?|\#+|--+|;+)?[ \t]?|(?<!\*)\*+/[ \t]*$", re.MULTILINE)
_WIDE = lazy("[\u0e00-\u0eff\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff]")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence and its content words, lower-cased; ``leading``: it stands under a fitting heading."""

    text: str
    words: frozenset[str]
    leading: bool


class Extractive:
    """Summarizes by up to ``most`` sentences of the text."""

    def __init__(self, most: int) -> None:
        self._most = most

    @classmethod
    def open(cls, summary: SummarySettings, chat: ChatSettings) -> Self:  # noqa: ARG003 - asks nobody
        """Return the configured summarizer."""
        return cls(summary.max_sentences)

    def summarize(self, document: Document, symbols: Sequence[str] = ()) -> Summary:
        """Return sentences of the text; without any, its first words, or else the title."""
        text = self.sentences(document, symbols) or _beginning(document) or document.title.strip() or "(no text)"
        return Summary(text, "extractive")

    def sentences(self, document: Document, symbols: Sequence[str] = ()) -> str:
        """Return sentences of the text; "" if it has none."""
        return self._of_code(document, symbols) if document.kind == "code" else self._of_text(document)

    def _of_text(self, document: Document) -> str:
        if is_data(document):
            return ""
        text, notices = document.text, ""
        for start in range(0, min(len(text), MAX_LOOKED_AT_CHARS), LOOKED_AT_CHARS):
            found, passed_over = _sentences(text[start : start + LOOKED_AT_CHARS], document.title)
            if summary := _chosen(found, document.title, self._most):
                return summary
            notices = notices or _chosen(passed_over, document.title, self._most)
        return notices

    def _of_code(self, document: Document, symbols: Sequence[str]) -> str:
        comment = _chosen(_sentences(_leading_comment(document.text), document.title)[0], document.title, self._most)
        names = list(dict.fromkeys(symbols))
        if not names:
            return comment
        more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        defined = f"Defines {', '.join(names[:_MAX_NAMES])}{more}."
        return f"{comment} {defined}" if comment else defined


def is_data(document: Document) -> bool:
    """Return whether a document is of a kind without sentences."""
    return document.kind == "text" and document.language not in (None, "asciidoc", "latex", "rst")


class Nothing:
    """Writes no summaries: documents only have those given with them."""

    @classmethod
    def open(cls, summary: SummarySettings, chat: ChatSettings) -> Self:  # noqa: ARG003 - nothing to set
        """Return the summarizer."""
        return cls()

    def summarize(self, document: Document, symbols: Sequence[str] = ()) -> Summary:  # noqa: ARG002
        """Return the empty summary."""
        return Summary("", "none")


def _leading_comment(text: str) -> str:
    """Return the words of the comments before any code, without comment signs; licence notices are skipped."""
    rest, comment = text[:LOOKED_AT_CHARS], []
    for _ in range(4):
        match = _COMMENT.match(rest)
        if match is None:
            break
        inner = match["double"] or match["single"] or match["quoted"] or match["block"] or match["lines"]
        comment.append(_COMMENT_SIGNS.sub("", inner or match["angled"].strip("<!->")))
        rest = rest[match.end() :]
    return "\n\n".join(comment)


def _sentences(text: str, title: str) -> tuple[list[_Sentence], list[_Sentence]]:
    """Return the sentences that may be in a summary, in order, and notices, which are used if there are no others.

    Headings, tables, code, bare links, short sentences and repetitions are excluded. Sentences between two notices of a
    paragraph count as notices.
    """
    seen: set[str] = set()
    found: list[_Sentence] = []
    notices: list[_Sentence] = []
    for paragraph, leading in _paragraphs(without_furniture(_CLUTTER.sub(" ", text), title)):
        parts = list(_split(paragraph))
        noticed = [place for place, sentence in enumerate(parts) if is_notice(sentence)]
        for place, sentence in enumerate(parts):
            written = _WORD.findall(sentence)
            if sentence in seen or not _is_long(sentence, len(written)):
                continue
            seen.add(sentence)
            one = _Sentence(sentence, frozenset(map(str.lower, written)) - STOP_WORDS, leading)
            (notices if noticed and noticed[0] <= place <= noticed[-1] else found).append(one)
            if len(found) == _MAX_SENTENCES_SEEN:
                return found, notices
    return found, notices


def _paragraphs(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text of each paragraph or list item, and whether it opens a section on what the document is about."""
    lines = [*text.split("\n"), ""]
    part: list[str] = []
    leading = False
    for row, line in enumerate(lines):
        heading = _HEADING.fullmatch(line)
        title = heading[1] if heading else line.strip() if row + 1 < len(lines) and _is_rule(lines[row + 1]) else ""
        item = _ITEM.match(line)
        ends = not line.strip() or bool(title) or item or _is_clutter(line)
        if ends and part:
            yield " ".join(part), leading
            part = []
        if title:
            leading = bool(_LEAD.match(title.strip()))
        elif item and item["box"] is None and not _LINK_ALONE.fullmatch(line, item.end()):
            part = [_plain(line[item.end() :])]
        elif not ends:
            part.append(_plain(line))


def _is_rule(line: str) -> bool:
    return bool(line) and bool(_RULE.fullmatch(line))


def _is_clutter(line: str) -> bool:
    return bool(
        _RULE.fullmatch(line) or _TABLE.match(line) or _DIRECTIVE.match(line) or line.startswith(("    ", "\t"))
    )


def _plain(line: str) -> str:
    """Return a line without Markdown and reStructuredText markup."""
    if not any(sign in line for sign in "*_`[!\\:"):
        return line.strip().lstrip("> ")
    line = _ROLE.sub(r"\1", _LINK.sub(r"\1", _IMAGE.sub("", _ADMONITION.sub("", line))))
    return _MARKS.sub("", line).strip().lstrip("> ")


def _split(paragraph: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, each on one line."""
    start = 0
    for match in _END.finditer(paragraph):
        sentence = paragraph[start : match.end()].strip()
        if _SHORT_FORM.search(sentence[-_SHORT_FORM_CHARS:]):
            continue
        start = match.end()
        if sentence:
            yield " ".join(sentence.split())
    rest = " ".join(paragraph[start:].split())
    if rest:
        yield rest


def _is_long(sentence: str, words: int) -> bool:
    if words >= _MIN_WORDS and len(sentence) >= _MIN_CHARS:
        return True
    return not sentence.isascii() and len(_WIDE.findall(sentence)) + words >= 2 * _MIN_WORDS


def _tells(sentence: str) -> bool:
    """Return whether a sentence is mostly words, and neither a question nor the introduction of a list."""
    length = len(sentence)
    letters = sum(map(str.isalpha, sentence))
    digits = sum(map(str.isdigit, sentence))
    signs = length - letters - digits - sentence.count(" ")
    if digits > _MOST_DIGITS * length or signs > _MOST_SIGNS * length:
        return False
    return not sentence.endswith((":", "?"))


def _chosen(sentences: Sequence[_Sentence], title: str, most: int) -> str:
    """Return the best sentences, in the order of the text."""
    sentences = [one for one in sentences if one.text.endswith(ENDED)] or sentences
    if not sentences:
        return ""
    spread = Counter(word for sentence in sentences for word in sentence.words)
    named = frozenset(map(str.lower, _WORD.findall(title))) - STOP_WORDS
    opening = next((place for place, one in enumerate(sentences) if one.leading), 0)
    scores = [
        _PLACE / (1 + (place - opening) % len(sentences))
        + _TITLE * (len(named & one.words) / len(named) if named else 0.0)
        + _WORDS * _weight(one.words, spread, len(sentences))
        + _SECTION * one.leading
        for place, one in enumerate(sentences)
    ]
    chosen: list[int] = []
    length = 0
    for place in sorted(range(len(sentences)), key=lambda place: (-scores[place], place)):
        one = sentences[place]
        size = min(len(one.text), _MAX_SENTENCE_CHARS) + 1
        if chosen and (length + size > MAX_CHARS or _repeats(one, [sentences[other] for other in chosen])):
            continue
        if not _tells(one.text):
            continue
        chosen.append(place)
        length += size
        if len(chosen) == most:
            break
    return " ".join(_short(sentences[place].text) for place in sorted(chosen))


def _weight(words: frozenset[str], spread: Counter[str], total: int) -> float:
    """Return how typical a sentence is: the mean share of sentences that contain each of its words."""
    return sum(spread[word] for word in words) / (len(words) * total) if words else 0.0


def _repeats(sentence: _Sentence, chosen: Sequence[_Sentence]) -> bool:
    least = _SAME_SHARE * len(sentence.words)
    return any(len(sentence.words & other.words) >= least for other in chosen) if sentence.words else True


def _short(sentence: str) -> str:
    if len(sentence) <= _MAX_SENTENCE_CHARS:
        return sentence
    return sentence[: max(sentence.rfind(" ", 0, _MAX_SENTENCE_CHARS), _MAX_SENTENCE_CHARS // 2)].rstrip(" ,;:") + " …"


def _beginning(document: Document) -> str:
    """Return the first lines of a text without sentences, joined, except the title, which is shown anyway."""
    text = document.text[: 8 * _MAX_SENTENCE_CHARS]
    prose = _CLUTTER.sub(lambda match: match[0] if match["fence"] else " ", text)
    prose = "" if document.kind == "text" else without_furniture(prose, document.title)
    return _first_lines(prose, document.title) or _first_lines(text, document.title)


def _first_lines(text: str, title: str) -> str:
    rows = (line for line in text.split("\n") if not _MARKUP.match(line))
    lines = (_plain(line).strip("#|-*> \t") for line in rows)
    comment = dict.fromkeys(line for line in lines if any(map(str.isalnum, line)) and line != title)
    return _short("; ".join(" ".join(line.split()) for line in comment))
