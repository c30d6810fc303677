"""E-mail messages (RFC 5322, MIME): sender, recipients, subject and date, the text, the names of attachments."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator, Sequence
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import Message
from itertools import pairwise
from typing import Final

from pinakes.core.errors import Binary, Empty, Unreadable
from pinakes.core.records import Document, ReadingNote
from pinakes.parsing.decode import BOMS, decode, scrub, to_utf8
from pinakes.parsing.html import to_markdown
from pinakes.parsing.html_content import main_part
from pinakes.parsing.limits import Limits
from pinakes.parsing.office import iso, metadata_of
from pinakes.parsing.text import calendar_text
from pinakes.parsing.titles import markdown_title, own_title

_SHOWN: Final = ("Subject", "From", "To", "Cc", "Bcc", "Date")
_NEEDED: Final = frozenset(("subject", "from", "to", "date", "received", "message-id"))
_ADDRESSES: Final = (("To", "to_emails"), ("Cc", "cc_emails"))
_MOST_NESTED: Final = 20
_MOST_PARSED: Final = 20_000
_MOST_FORM: Final = 4_000
_FORM: Final = re.compile(
    rb"^content-(?:type|disposition|transfer-encoding|id|description|language|location):(?:[^\n]|\n[ \t])*",
    re.IGNORECASE | re.MULTILINE,
)
"""A header on the form of a part, which the library parses on access."""
_PIECES: Final = re.compile(r"(?:.{1,2000}(?:\s|\Z)|.{1,2000})", re.DOTALL)
"""Pieces of a long header, split at white space if possible."""
_MOST_NAMES: Final = 100
_REMARK: Final = 40
_FAR_LONGER: Final = 4
"""A plain form of fewer words than ``_REMARK`` may only say that another form has the text: one far longer is read."""
_CALENDAR: Final = "text/calendar"
_REPORTS: Final = ("message/delivery-status", "message/disposition-notification")
"""What became of a message: groups of header lines."""
_UTF_7: Final = codecs.lookup("utf-7")
_NEW_WORDS: Final = 10
"""So many other words, that are half of a form, say something that a mere remark does not."""
_FOLDED: Final = re.compile(r"\r?\n[ \t]")
"""The break of a long line of a calendar entry, which may stand within a word."""
_FLOWED: Final = re.compile(r"(?<!\n--) \r?\n(?![>\n]|-- \r?\n)[ ]?")
"""A line that goes on in the next one, in a text that says so (RFC 3676)."""
_POSTMARK: Final = re.compile(rb"(?:\A|\n\r?\n)(?=From [^\n]{1,300}\r?\n[!-9;-~]{1,100}:)")
"""The place between messages of a mailbox: a line "From ..." with a header below it."""
_WORD: Final = re.compile(r"[^\W_]+")
_TARGET: Final = re.compile(r"\]\([^()\s]*|https?://[^\s<>()\[\]]*")
"""Where a link of a page leads, which its plain form need not say."""
_CONTROLS: Final = bytes({*range(32), 127} - set(b"\t\n\r\x1b"))
_QUOTED_FROM: Final = re.compile(rb"^>(>*From )", re.MULTILINE)


class Mail:
    """Reads EML. If a text has several forms, the plain one is read; attachments are only named."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._notes: dict[ReadingNote, None] = {}

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is the subject.

        Raises:
            Empty: the file is empty.
            Unreadable: it is not a message.
        """
        if not data.strip(b"\0 \t\r\n"):
            raise Empty("The file is empty.")
        try:
            message = message_from_bytes(
                _FORM.sub(_shortened, decode(data).encode() if data.startswith(BOMS) else data), policy=policy.default
            )
            if not _NEEDED & {name.lower() for name in message}:
                raise _damaged("it has none of the headers of a message")
            text = self._text(message)
        except RecursionError as error:
            raise _damaged("its parts are nested too deeply") from error
        metadata = metadata_of(
            {
                "subject": _header(message, "Subject"),
                "from_email": _header(message, "From"),
                "created_at": iso(_header(message, "Date")),
                **{name: _addresses(message, header) for header, name in _ADDRESSES},
            }
        )
        title = own_title(str(metadata.get("subject") or "")) or markdown_title(text)
        text = self._limits.check(text)
        return Document(text=text, title=title, kind="markdown", metadata=metadata, notes=tuple(self._notes))

    def _text(self, message: Message) -> str:
        return "\n\n".join([_head(message), *self._texts(message)]).strip("\n") + "\n"

    def _texts(self, part: Message, depth: int = 0) -> Iterator[str]:
        """Yield the visible texts of a message, including forwarded messages."""
        kind = part.get_content_type()
        if depth > _MOST_NESTED or (_attached(part) and kind != "message/rfc822"):
            return
        children = part.get_payload() if part.is_multipart() else []
        inner = [child for child in children if isinstance(child, Message)] if isinstance(children, list) else []
        if kind == "multipart/alternative":
            yield from self._chosen(inner, depth)
        elif kind == "message/rfc822":
            yield from (text for child in inner for text in (_head(child), *self._texts(child, depth + 1)))
        elif kind == "multipart/related":
            yield from (text for child in inner[:1] for text in self._texts(child, depth + 1))
        elif kind.startswith("multipart/"):
            yield from (text for child in inner for text in self._texts(child, depth + 1))
        elif kind == "text/plain":
            text = self._decoded(part).strip("\n")
            yield _FLOWED.sub("", text) if str(part.get_param("delsp")).lower() == "yes" else text
        elif kind == _CALENDAR:
            yield calendar_text(_FOLDED.sub("", self._decoded(part))).strip("\n")
        elif kind == "text/html":
            yield to_markdown(main_part(self._decoded(part)), self._limits).strip("\n")
        elif kind in _REPORTS:
            yield "\n\n".join(
                "\n".join(f"{name}: {_header(one, name)}" for name in dict.fromkeys(one.keys())) for one in inner
            )

    def _chosen(self, forms: Sequence[Message], depth: int) -> Iterator[str]:
        """Yield the plain form, after a mere remark a far longer one, too, and the entries of a calendar."""
        entries = [form for form in forms if form.get_content_type() == _CALENDAR]
        plain_first = sorted(forms, key=lambda form: form.get_content_type() != "text/plain")
        texts = filter(
            str.strip, ("\n\n".join(self._texts(form, depth + 1)) for form in plain_first if form not in entries)
        )
        chosen = next(texts, "")
        words = set(chosen.split())
        if chosen and len(words) < _REMARK:
            longer = next((text for text in texts if _says_more(text, words)), "")
            if longer and words <= set(longer.split()):
                chosen = ""
            yield from filter(None, (chosen, longer))
        elif chosen:
            yield chosen
        yield from (text for entry in entries for text in self._texts(entry, depth + 1))

    def _decoded(self, part: Message) -> str:
        """Return the text of a part in its declared encoding, or a guessed one if that is impossible."""
        payload = part.get_payload(decode=True)
        source = payload if isinstance(payload, bytes) else b""
        charset = part.get_content_charset()
        try:
            if _is_utf_7(charset):  # whose bytes are all ASCII
                return scrub(source.decode("utf-7", "replace"))
            data, notes = to_utf8(source, charset)
            text = decode(data)
        except (Binary, Empty, Unreadable):
            return ""
        self._notes.update(dict.fromkeys(notes))
        return text


class Mailbox(Mail):
    """Reads MBOX: a section for each message, with its subject as heading."""

    def read(self, data: bytes, path: str) -> Document:
        """Read ``data``; the title is the file name's.

        Raises:
            Empty: the file is empty.
            Unreadable: it has no message.
        """
        begins = [place.end() for place in _POSTMARK.finditer(data)]
        if not begins:
            return super().read(data, path)
        parts: list[str] = []
        damaged = 0
        for begin, end in pairwise([*begins, len(data)]):
            source = _QUOTED_FROM.sub(rb"\1", data[begin:end].partition(b"\n")[2])
            message = message_from_bytes(_FORM.sub(_shortened, source), policy=policy.default)
            try:
                text = self._text(message)
            except RecursionError:
                damaged += 1
                continue
            parts.append(f"## {_header(message, 'Subject') or 'Message'}\n\n{text}")
        if damaged:
            message_text = f"Left out, since their parts are nested too deeply: {damaged} of {len(begins)} messages."
            self._notes[ReadingNote("damaged-part", message_text, count=damaged)] = None
        text = self._limits.check("\n".join(parts))
        return Document(text=text, kind="markdown", notes=tuple(self._notes))


def _says_more(text: str, words: Collection[str]) -> bool:
    """Return whether a form of a text is far longer than another one of these words, or says something else."""
    others = set(_WORD.findall(_TARGET.sub(" ", text).lower()))
    new = others - set(_WORD.findall(" ".join(words).lower()))
    return len(text.split()) > _FAR_LONGER * len(words) + _REMARK or len(new) > max(_NEW_WORDS, len(others) // 2)


def _head(message: Message) -> str:
    """Return the header lines above the text: subject, people, date, attachments."""
    lines = [(name, _header(message, name)) for name in _SHOWN]
    names = [name for part in message.walk() if (name := _attached(part)) and not _is_shown(part)]
    lines.append(("Attachments", ", ".join(names[:_MOST_NAMES])))
    return "\n".join(f"{name}: {value}" for name, value in lines if value)


def _is_shown(part: Message) -> bool:
    """Return whether a part is an inline picture."""
    return part.get_content_maintype() == "image" and part["Content-ID"] is not None


def _attached(part: Message) -> str:
    """Return the name of an attachment, "" if the part is none."""
    try:
        name, disposition = part.get_filename(), part.get_content_disposition()
    except Exception:  # noqa: BLE001 - the library raises various errors for malformed headers
        return ""
    return scrub(" ".join((name or "unnamed").split())) if name or disposition == "attachment" else ""


def _header(message: Message, name: str) -> str:
    try:
        as_written = _is_long(message, name) or _is_foreign(message, name)
        value = _as_written(message, name) if as_written else str(message[name] or "")
    except Exception:  # noqa: BLE001 - as above; use the value as it is
        value = _as_written(message, name)
    return scrub(" ".join(value.split()))


def _is_long(message: Message, name: str) -> bool:
    """Return whether a header is too long for the library, whose time is quadratic in its length."""
    return any(len(str(value)) > _MOST_PARSED for key, value in message.raw_items() if key.lower() == name.lower())


def _is_foreign(message: Message, name: str) -> bool:
    """Return whether a header has bytes of an encoding that it does not name, and that is not UTF-8."""
    try:
        _raw(message, name).encode("utf-8", "surrogateescape").decode()
    except UnicodeDecodeError:
        return True
    return False


def _is_utf_7(charset: str | None) -> bool:
    try:
        return codecs.lookup(charset or "ascii") == _UTF_7
    except (LookupError, ValueError):
        return False


def _raw(message: Message, name: str) -> str:
    return next((str(value) for key, value in message.raw_items() if key.lower() == name.lower()), "")


def _as_written(message: Message, name: str) -> str:
    raw = _readable(message, name)
    try:
        return "".join(str(make_header(decode_header(piece))) for piece in _PIECES.findall(raw))
    except Exception:  # noqa: BLE001 - as above
        return raw


def _readable(message: Message, name: str) -> str:
    """Return a header in whose text bytes of an encoding that it does not name are characters."""
    raw = _raw(message, name)
    if raw.isascii():
        return raw
    data = raw.encode("utf-8", "surrogateescape").translate(None, _CONTROLS)
    try:
        return decode(to_utf8(data, message.get_content_charset())[0])
    except Exception:  # noqa: BLE001 - as above; or it is no text
        return data.decode("utf-8", "replace")


def _addresses(message: Message, name: str) -> list[str]:
    try:
        if _is_long(message, name):
            return [scrub(one.strip()) for one in _as_written(message, name).split(",")]
        header = message[name]
        if not _raw(message, name).isascii():
            header = policy.default.header_factory(name, " ".join(_readable(message, name).split()))
        return [scrub(str(address)) for address in getattr(header, "addresses", ())]
    except Exception:  # noqa: BLE001 - as above
        return [scrub(_as_written(message, name))]


def _shortened(header: re.Match[bytes]) -> bytes:
    """Return a header cut to a length that can be parsed fast."""
    return header[0] if len(header[0]) <= _MOST_FORM else header[0][:_MOST_FORM]


def _damaged(why: str) -> Unreadable:
    return Unreadable(f"The file is no e-mail: {why}.", hint="Save the message again, or rename the file.")
