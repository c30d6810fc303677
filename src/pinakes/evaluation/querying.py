"""Queries to a side of a comparison: answers are stored in a file of JSON lines, and replace missing ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self, TypeAlias

from pinakes.core.errors import InvalidInput, NotFound, PinakesError, storing
from pinakes.evaluation.questions import Question, wrong
from pinakes.evaluation.servers import spelled
from pinakes.evaluation.systems import Named, System, SystemReply
from pinakes.platform.permissions import make_private

Origin: TypeAlias = Literal["asked", "kept", "none"]
"""The origin of an answer: live, the file of stored answers, or none."""

GIVEN_UP_AFTER = 3
"""Consecutive failures after which a side is not asked any more."""

_HINT = "Is it a file of `pinakes compare --cache`? Mend or remove that line, or name another file."
_BEGIN = b'{"asked": ['


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply with its time."""

    reply: SystemReply
    at: datetime


class Replies:
    """The answers in a file: each new one is appended at once, and the last one of a question counts.

    A line that was cut short at the end, by a crash, is passed over. When more lines are outdated than not, the file is
    written anew.
    """

    def __init__(self, path: Path) -> None:
        """Read the file, which need not be there.

        Raises:
            InvalidInput: it holds something else; the message names the line.
            StorageFull: it cannot be read or written.
        """
        self._path = path
        self._kept: dict[str, StoredReply] = {}
        self._file: IO[str] | None = None
        with storing(f"The file {str(path)!r}"):
            data = path.read_bytes() if path.exists() else b""
            lines, cut_short = self._read(data)
            if cut_short or lines > 2 * len(self._kept):
                self._write_anew()

    def knows(self, side: str) -> bool:
        """Return whether there is any stored answer of ``side``."""
        return any(json.loads(key)[0] == side for key in self._kept)

    def find(self, side: str, options: Mapping[str, Any], question: Question) -> StoredReply | None:
        """Return the last answer of ``side``, asked with the same ``options``, to a question; None if there is none."""
        return self._kept.get(_key(side, options, question))

    def keep(self, side: str, options: Mapping[str, Any], question: Question, reply: SystemReply) -> None:
        """Store a reply with the current time.

        Raises:
            StorageFull: it cannot be written.
        """
        key, kept = _key(side, options, question), StoredReply(reply, datetime.now(UTC))
        self._kept[key] = kept
        with storing(f"The file {str(self._path)!r}"):
            if self._file is None:
                make_private(self._path.parent)
                self._file = self._path.open("a", encoding="utf-8")
            self._file.write(_line(key, kept))
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, data: bytes) -> tuple[int, bool]:
        """Load the stored answers; return the number of lines, and whether the last one was truncated."""
        *whole, rest = data.split(b"\n")
        for number, line in enumerate(whole, start=1):
            if line.strip():
                try:
                    key, kept = _parsed(line)
                except (ValueError, KeyError, TypeError) as error:
                    raise wrong(self._path, number, "it is no kept answer", _HINT) from error
                self._kept[key] = kept
        if rest.strip() and not rest.startswith(_BEGIN[: len(rest)]):
            raise InvalidInput(f"{self._path} holds something else than kept answers.", hint="Name another file.")
        return len(whole), bool(rest)

    def _write_anew(self) -> None:
        temporary = self._path.with_name(f"{self._path.name}.new")
        temporary.write_text("".join(_line(key, kept) for key, kept in self._kept.items()), "utf-8")
        temporary.replace(self._path)


@dataclass(frozen=True, slots=True)
class SystemAnswer:
    """The result of a question on one side.

    ``why``: why there is no answer of this moment. ``at``: when a kept one was given.
    """

    reply: SystemReply
    origin: Origin
    why: str = ""
    at: datetime | None = None


class SystemQuerier:
    """Asks a side, stores its answers, and falls back to stored ones; a side that is down is not asked again.

    ``options``: how it is asked; a stored answer counts only where these were the same.
    """

    def __init__(self, side: System, options: Mapping[str, Any], replies: Replies | None = None) -> None:
        self.about = side.about
        self.error: PinakesError | None = None
        self._side, self._options, self._replies = side, options, replies
        self._failures = 0

    def ask(self, question: Question) -> SystemAnswer:
        """Return the live answer, else the stored one, else none with the reason."""
        if self._failures >= GIVEN_UP_AFTER:
            return self._stored_or_failed(question, f"not asked: {GIVEN_UP_AFTER} questions before had no answer")
        try:
            reply = self._side.ask(question)
        except PinakesError as error:
            self.error = self.error or error
            self._failures += not isinstance(error, NotFound)
            return self._stored_or_failed(question, error.message)
        self._failures = 0
        if self._replies is not None:
            self._replies.keep(self.about.label, self._options, question, reply)
        return SystemAnswer(reply, "asked")

    def _stored_or_failed(self, question: Question, why: str) -> SystemAnswer:
        kept = self._replies.find(self.about.label, self._options, question) if self._replies is not None else None
        return SystemAnswer(kept.reply, "kept", why, kept.at) if kept else SystemAnswer(SystemReply(()), "none", why)


def _key(side: str, options: Mapping[str, Any], question: Question) -> str:
    asked = [side, dict(options), question.text, spelled(question.where)]
    return json.dumps(asked, ensure_ascii=False, sort_keys=True)


def _line(key: str, kept: StoredReply) -> str:
    document = {"asked": json.loads(key), "at": kept.at.isoformat(timespec="seconds"), **asdict(kept.reply)}
    return json.dumps(document, ensure_ascii=False) + "\n"


def _parsed(line: bytes) -> tuple[str, StoredReply]:
    row = json.loads(line)
    documents = tuple(Named(**one) for one in row["documents"])
    scores = tuple(float(score) for score in row["scores"])
    if scores and len(scores) != len(documents):
        raise ValueError("scores and documents")
    reply = SystemReply(documents, scores, row["milliseconds"], row["degraded"])
    at = datetime.fromisoformat(row["at"])
    return json.dumps(row["asked"], ensure_ascii=False, sort_keys=True), StoredReply(reply, at.astimezone(UTC))
