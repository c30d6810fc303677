"""Asking a side of a comparison: what it says is kept, and what was kept is used when it says nothing."""

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
"""Where an answer comes from: this moment, the file of kept ones, nowhere."""

GIVEN_UP_AFTER = 3
"""Failures in a row after which a side is not asked any more."""


@dataclass(frozen=True, slots=True)
class SystemAnswer:
    """What came of a question on one side.

    ``why``: why there is no answer of this moment. ``at``: when a kept one was given.
    """

    reply: SystemReply
    origin: Origin
    why: str = ""
    at: datetime | None = None


class SystemQuerier:
    """Asks a side, keeps what it says, and falls back on what was kept; a side that is down is not asked again."""

    def __init__(self, side: System, way: Mapping[str, Any], replies: Replies | None = None) -> None:
        self.about = side.about
        self.error: PinakesError | None = None
        self._side, self._way, self._replies = side, way, replies
        self._failures = 0

    def ask(self, question: Question) -> SystemAnswer:
        """Return what the side says, else what was kept of it, else nothing, and why."""
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
            self._replies.keep(self.about.label, self._way, question, reply)
        return SystemAnswer(reply, "asked")

    def _kept(self, question: Question, why: str) -> SystemAnswer:
        kept = self._replies.find(self.about.label, self._way, question) if self._replies is not None else None
        return SystemAnswer(kept.reply, "kept", why, kept.at) if kept else SystemAnswer(SystemReply(()), "none", why)
