"""Rich Text Format (RTF): text with headings, numbered lists, tables, notes, comments, hidden text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from pinakes.core.records import JSON, ReadingNote
from pinakes.core.wording import counted
from pinakes.parsing import blocks
from pinakes.parsing.notes import comment, sections
from pinakes.parsing.openxml import clean, line, number
from pinakes.parsing.rtf_blocks import Flow
from pinakes.parsing.rtf_fields import FORM, Fields, control_of
from pinakes.parsing.text_runs import Piece
from pinakes.parsing.word_styles import PLAIN, Look
from pinakes.parsing.word_text import is_symbol_font, of_symbol_font

_SKIPPED: Final = frozenset(
    "colortbl listtable listoverridetable pict object themedata datastore rsidtbl generator xmlnstbl bkmkstart bkmkend "
    "pn filetbl revtbl nonshppict sp falt panose fontemb fontfile latentstyles template wgrffmtfilter atnid atnref "
    "tc xe atrfstart atrfend atnicn mmathPr colorschememapping background ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn "
    "datafield private txe rxe fldtype docvar userprops".split()
)
_SEEN: Final = frozenset("shpinst shptxt ud shppict shprslt result listtext pntext fldrslt shpgrp".split())
"""Groups that programs may ignore, but that are visible."""
_MARGINS: Final = frozenset(f"{kind}{which}" for kind in ("header", "footer") for which in ("", "l", "r", "f"))
_INFO: Final = {"title": "title", "subject": "subject", "author": "authors", "keywords": "keywords"}
_HEADING: Final = re.compile(r"heading (\d)", re.IGNORECASE)
_LINK: Final = re.compile(r'HYPERLINK\s+"([^"\s]+)"', re.IGNORECASE)
_PAGE: Final = re.compile(r"\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b", re.IGNORECASE)
_GATHERED: Final = {
    "fldinst": "instruction",
    "listtext": "label",
    "pntext": "label",
    "atnauthor": "who",
    "atndate": "when",
    "ffl": "entry",
    "upr": "ansi",  # an ANSI copy for old programs, before the Unicode text
}
_MOMENT: Final = ("yr", "mo", "dy", "hr", "min")
_PART: Final = re.compile(r"([a-z]+)(\d{1,4});")
_MOST_DEEP: Final = 10_000
_LOOKS: Final[dict[str, dict[str, object]]] = {
    "super": {"script": "super"},
    "sub": {"script": "sub"},
    "nosupersub": {"script": None},
    "plain": {"bold": None, "italic": None, "struck": None, "hidden": None, "script": None},
}
_SHIFTS: Final = {"up": _LOOKS["super"], "dn": _LOOKS["sub"]}
"""Words for text that is raised or lowered by so many half points."""
_SWITCHES: Final = {"b": "bold", "i": "italic", "strike": "struck", "v": "hidden"}
_TOKEN: Final = re.compile(
    r"\\(?P<word>[a-zA-Z]{1,32})(?P<value>-?\d{1,10})?[ ]?|\\'(?P<byte>[0-9a-fA-F]{2})|\\(?P<sign>[^a-zA-Z'])"
    r"|(?P<group>[{}])|(?P<text>[^\\{}\r\n]+)"
)
_BINARY: Final = "bin"

SIGNS: Final = {
    "~": " ",
    "_": "-",
    "-": "",
    "\\": "\\",
    "{": "{",
    "}": "}",
}
SYMBOLS: Final = {
    **dict.fromkeys(("tab", "emspace", "enspace", "qmspace", "nestcell"), " "),
    "line": "\n",
    "softline": "\n",
    "lbr": "\n",
    "page": "\n",
    "column": "\n",
    "emdash": "—",
    "endash": "–",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "bullet": "•",
    "zwj": "\u200d",
    "zwnj": "\u200c",
    "zwbo": "",
    "zwnbo": "",
    "ltrmark": "",
    "rtlmark": "",
}
"""Control word → its text."""

_CODE_PAGES: Final = {
    0: "cp1252",
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gbk",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
"""Character set number of a font → encoding."""


@dataclass(slots=True)
class _State:
    """The state of a group: destination, look and encoding of its text."""

    to: str = "text"
    look: Look = PLAIN
    encoding: str = ""
    font: int = -1
    skip: int = 1
    """Number of fallback characters after a Unicode character, for old programs."""
    deleted: bool = False
    link: str = ""


@dataclass(slots=True)
class RtfText:
    """The content of a file as Markdown, with its metadata."""

    text: str
    metadata: dict[str, JSON]
    notes: list[ReadingNote]


def read_rtf(data: bytes) -> RtfText:
    """Return the text of an RTF file. In a damaged file, the content before the error is kept."""
    return _Reader().read(data.decode("latin-1"))


@dataclass(slots=True)
class _Story:
    """An independent text (document, note, comment, header), and the group it belongs to."""

    flow: Flow
    depth: int
    kind: str
    author: str = ""
    made: str = ""


@dataclass(slots=True)
class _Reader:
    state: _State = field(default_factory=_State)
    stack: list[_State] = field(default_factory=list)
    encoding: str = "cp1252"
    fonts: dict[int, tuple[str, str]] = field(default_factory=dict)
    styles: dict[int, int] = field(default_factory=dict)
    stories: list[_Story] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    margins: dict[str, None] = field(default_factory=dict)
    metadata: dict[str, JSON] = field(default_factory=dict)
    raw: bytearray = field(default_factory=bytearray)
    gathered: list[str] = field(default_factory=list)
    style: int = -1
    author: str = ""
    moment: str = ""
    form: dict[str, int] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)
    fields: Fields = field(default_factory=Fields)
    pending: int = 0
    starred: bool = False
    hidden: int = 0
    too_deep: int = 0

    def read(self, source: str) -> RtfText:
        self.stories.append(_Story(Flow(self.styles), 0, "text"))
        handlers: dict[str, Callable[[Token], None]] = {
            "word": self._word,
            "byte": self._byte,
            "sign": self._sign,
            "text": self._text,
            "group": self._group,
        }
        for token in tokens(source):
            if self.raw and token.kind != "byte":
                self._flush()
            handlers[token.kind](token)
        self._flush()
        while len(self.stories) > 1:
            self._ended()
        body = blocks.joined(self.stories[0].flow.finished())
        text = f"{body}\n{sections(self.notes, self.comments)}{blocks.margins(self.margins)}"
        count = self.hidden + self.stories[0].flow.hidden
        message = f"Read and marked: {counted(count, 'chunk')} of hidden text."
        return RtfText(text, self.metadata, [ReadingNote("hidden", message, count=count)] if count else [])

    def _group(self, token: Token) -> None:
        self.starred = False
        if token.text == "{":
            if len(self.stack) >= _MOST_DEEP:
                self.too_deep += 1
            else:
                self.stack.append(self.state)
                self.state = replace(self.state)
        elif self.too_deep:
            self.too_deep -= 1
        elif self.stack:
            self._use_gathered(self.state.to)
            self.state = self.stack.pop()
            self.fields.end(len(self.stack))
            while len(self.stories) > 1 and self.stories[-1].depth > len(self.stack):
                self._ended()

    def _use_gathered(self, to: str) -> None:
        """Use the text that a group collected outside of the document."""
        above = self.stack[-1]
        if to == above.to:
            return
        if to == "form":
            self._controlled()
        if not self.gathered:
            return
        gathered, self.gathered = "".join(self.gathered), []
        if to.startswith("info:"):
            self._informed(to[5:], line(gathered))
        elif to == "instruction":
            self._instructed(gathered, above)
        elif to == "entry":
            self.entries.append(line(gathered))
        elif to == "label":
            self.stories[-1].flow.labelled(clean(gathered))
        elif to in ("who", "when"):
            self._commented(to, line(gathered))
        elif to == "moment":
            parts = dict.fromkeys(_MOMENT, 0) | {name: int(one) for name, one in _PART.findall(gathered)}
            self.metadata[self.moment] = "{yr:04}-{mo:02}-{dy:02}T{hr:02}:{min:02}:00".format(**parts)

    def _controlled(self) -> None:
        """Add a form control that was described."""
        shown = "" if self.state.deleted else control_of(self.form, self.entries)
        control = Piece(shown, replace(PLAIN, hidden=self.state.look.hidden))
        self.fields.controlled(control)
        self.stories[-1].flow.add(control)

    def _instructed(self, gathered: str, above: _State) -> None:
        """Use the instruction of a field: its link, or that it is a page number."""
        match = _LINK.search(gathered)
        above.link = match[1] if match else ""
        if _PAGE.match(gathered) and self.stories[-1].kind == "margin":
            self.stories[-1].flow.had_pages = True
            above.to = "skip"

    def _commented(self, to: str, words: str) -> None:
        """Record the author of comments, or the time of one."""
        if to == "who":
            self.author = words
        else:
            self.stories[-1].made = _time_of(number(words))

    def _informed(self, name: str, words: str) -> None:
        """Record a value of the file's metadata."""
        self.metadata[name] = [part.strip() for part in words.split(",")] if name == "keywords" else words
        if name == "authors":
            self.metadata[name] = [part.strip() for part in words.split(";")]

    def _word(self, token: Token) -> None:
        word, value = token.text, token.value
        starred, self.starred = self.starred, False
        if self._character(word, value) or self._destination(word, starred) or self.state.to == "skip":
            return
        if word == "deleted":
            self.state.deleted = value != 0
        elif word in ("f", "fcharset", "ansicpg", "mac", "pc", "pca"):
            self._encoded(word, value or 0)
        elif self.state.to == "text":
            if word == "field":
                self.fields.begin(len(self.stack))
            elif not self._looks(word, value):
                self.stories[-1].flow.control(word, value)
        else:
            self._described(word, value)

    def _character(self, word: str, value: int | None) -> bool:
        """Add the character of a control word. Return whether the word stands for a character."""
        if word == "u" and value is not None:
            self._add(chr(value % 65536))
            self.pending = self.state.skip
        elif word == "uc":
            self.state.skip = max(value, 0) if value is not None else 1
        elif word in SYMBOLS:
            self._add(SYMBOLS[word])
        else:
            return False
        return True

    def _looks(self, word: str, value: int | None) -> bool:
        """Update the look of the text. Return whether the control word sets it."""
        state = self.state
        if word in _SWITCHES:
            state.look = replace(state.look, **{_SWITCHES[word]: value != 0})  # type: ignore[arg-type]
        elif word in _SHIFTS:
            state.look = replace(state.look, **(_SHIFTS[word] if value != 0 else _LOOKS["nosupersub"]))  # type: ignore[arg-type]
        elif word in _LOOKS:
            state.look = replace(state.look, **_LOOKS[word])  # type: ignore[arg-type]
        elif word == "chpgn" and self.stories[-1].kind == "margin":
            self.stories[-1].flow.had_pages = True
        else:
            return False
        return True

    def _described(self, word: str, value: int | None) -> None:
        """Record a control word of a style definition or of the file's date."""
        if self.state.to == "stylesheet":
            if word == "s":
                self.style = value or 0
            elif word == "outlinelevel" and value is not None and 0 <= value < 9:
                self.styles[self.style] = min(value + 1, 6)
        elif word in FORM and self.state.to == "form":
            self.form[word] = value or 0
        elif word in _MOMENT and self.state.to == "moment":
            self.gathered.append(f"{word}{value or 0};")

    def _destination(self, word: str, starred: bool) -> bool:
        """Set the destination of the group's text. Return whether the control word names one."""
        state = self.state
        if state.to == "skip":
            return False
        if word in ("footnote", "annotation") or word in _MARGINS:
            kind = "margin" if word in _MARGINS else word
            self.stories.append(_Story(Flow(self.styles), len(self.stack), kind, self.author))
            state.to, state.look, state.link = "text", PLAIN, ""
        elif word in ("fonttbl", "stylesheet", "info"):
            state.to = word
        elif word in _INFO and state.to == "info":
            state.to = f"info:{_INFO[word]}"
        elif word in ("creatim", "revtim") and state.to == "info":
            state.to, self.moment = "moment", {"creatim": "created_at"}.get(word, "modified_at")
        elif word == "formfield":
            state.to, self.form, self.entries, self.gathered = "form", {}, [], []
        elif word in _GATHERED:
            state.to = _GATHERED[word]
        elif word == "ud":
            state.to = self.stack[-2].to if len(self.stack) > 1 else "text"
        elif word in _SKIPPED or (starred and word not in _SEEN):
            state.to = "skip"
        else:
            return False
        return True

    def _encoded(self, word: str, value: int) -> None:
        state = self.state
        if word == "ansicpg":
            self.encoding = encoding_called(value)
        elif word in ("mac", "pc", "pca"):
            self.encoding = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}[word]
        elif word == "fcharset":
            if state.to == "fonttbl":
                self.fonts[state.font] = encoding_of(value, ""), self.fonts.get(state.font, ("", ""))[1]
        else:
            state.font = value
            state.encoding = self.fonts.get(value, ("", ""))[0] if state.to != "fonttbl" else ""

    def _byte(self, token: Token) -> None:
        if self.pending:
            self.pending -= 1
        else:
            self.raw.append(int(token.text, 16))

    def _sign(self, token: Token) -> None:
        if token.text == "*":
            self.starred = True
        elif token.text in "\r\n":
            self.stories[-1].flow.control("par", None)
        else:
            self._add(SIGNS.get(token.text, ""))

    def _text(self, token: Token) -> None:
        text = token.text
        if self.pending:
            skipped = min(self.pending, len(text))
            self.pending -= skipped
            text = text[skipped:]
        if text.isascii():
            self._add(text)
        else:
            self.raw += text.encode("latin-1")
            self._flush()

    def _flush(self) -> None:
        """Decode and add the collected bytes."""
        if self.raw:
            gathered = bytes(self.raw)
            self.raw.clear()
            encoding = "latin-1" if is_symbol_font(self._font) else self.state.encoding or self.encoding
            self._add(gathered.decode(encoding, "replace"))

    def _add(self, text: str) -> None:
        """Add text to the destination of the group."""
        state = self.state
        if not text or state.deleted:
            return
        if state.to == "text":
            if not text.isspace():
                for control in self.fields.have_result():
                    self.stories[-1].flow.withdraw(control)
            self.stories[-1].flow.add(Piece(of_symbol_font(text, self._font), state.look, state.link))
        elif state.to == "fonttbl":
            encoding, name = self.fonts.get(state.font, ("", ""))
            self.fonts[state.font] = encoding, (name + text.strip("; "))[:100]
        elif state.to == "stylesheet":
            if match := _HEADING.match(text):
                self.styles[self.style] = min(max(int(match[1]), 1), 6)
            elif text.strip().lower() == "title;":
                self.styles[self.style] = 1
        elif state.to not in ("skip", "info", "ansi"):
            self.gathered.append(text)

    @property
    def _font(self) -> str:
        return self.fonts.get(self.state.font, ("", ""))[1]

    def _ended(self) -> None:
        """Store a finished note, comment or header."""
        story = self.stories.pop()
        found = story.flow.finished()
        self.hidden += story.flow.hidden
        words = " ".join(" ".join(block.text for block in found).split())
        if story.kind == "margin":
            for block in found:
                self.margins.setdefault(blocks.in_margin(block, numbered=story.flow.had_pages))
        elif words and story.kind == "footnote":
            self.notes.append(words)
            self.stories[-1].flow.add(Piece(f"[^{len(self.notes)}]", PLAIN))
        elif words:
            self.comments.append(comment(story.author, words, story.made))


def _time_of(packed: int) -> str:
    """Return a time packed into the bits of a number, as ISO 8601."""
    minute, hour, day, month = (packed >> shift & mask for shift, mask in ((0, 63), (6, 31), (11, 31), (16, 15)))
    return f"{1900 + (packed >> 20 & 511):04}-{month:02}-{day:02}T{hour:02}:{minute:02}" if packed > 0 else ""


class Token(NamedTuple):
    """A control word with its value (None if it has none), a "{" or "}", a symbol, text, or a hexadecimal byte."""

    kind: str
    text: str
    value: int | None = None


def tokens(source: str) -> Iterator[Token]:
    """Yield the tokens of a file, given as one character per byte; binary data is skipped."""
    at = 0
    while match := _TOKEN.search(source, at):
        at = match.end()
        kind = match.lastgroup or ""
        if kind in ("word", "value"):
            value = int(match["value"]) if match["value"] else None
            if match["word"] == _BINARY:
                at += max(value or 0, 0)
                continue
            yield Token("word", match["word"], value)
        else:
            yield Token(kind, match[kind])


def encoding_of(charset: int, otherwise: str) -> str:
    """Return the encoding of a font's character set; ``otherwise`` if the number implies none."""
    return _CODE_PAGES.get(charset, otherwise) if charset not in (1, 2) else otherwise


def encoding_called(number: int) -> str:
    """Return the encoding of a code page, that of Western Windows if it is unknown."""
    name = {10000: "mac_roman", 65001: "utf-8"}.get(number, f"cp{number}")
    try:
        codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return name
