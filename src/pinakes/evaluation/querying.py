"""Queries to a side of a comparison: answers are stored, and stored answers replace missing ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from pinakes.core.errors import NotFound, PinakesError
from pinakes.evaluation.questions import Question
from pinakes.evaluation.replies import Replies
from pinakes.evaluation.systems import System, SystemReply

Origin: TypeAlias = Literal["asked", "kept", "none"]
"""The origin of an answer: live, the file of stored answers, or none."""

GIVEN_UP_AFTER = 3
"""Consecutive failures after which a side is not asked any more."""


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
            return self._kept(question, f"not asked: {GIVEN_UP_AFTER} questions before had no answer")
        try:
            reply = self._side.ask(question)
        except PinakesError as error:
            self.error = self.error or error
            self._failures += not isinstance(error, NotFound)
            return self._kept(question, error.message)
        self._failures = 0
        if self._replies is not None:
            self._replies.keep(self.about.label, self._options, question, reply)
        return SystemAnswer(reply, "asked")

    def _kept(self, question: Question, why: str) -> SystemAnswer:
        kept = self._replies.find(self.about.label, self._options, question) if self._replies is not None else None
        return SystemAnswer(kept.reply, "kept", why, kept.at) if kept else SystemAnswer(SystemReply(()), "none", why)
